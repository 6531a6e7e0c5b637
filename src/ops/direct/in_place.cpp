// The last step of `d + sum`, without a result of its own.
#include "ops/direct/in_place.h"

#include <algorithm>

#include "compiler/merge/merge.h"
#include "execute/dense_view.h"
#include "ops/reference/column.h"
#include "tensor/row_major.h"

namespace strata::direct {
namespace {

using merging::Combine;

std::optional<Combine> addition(const Semiring& s, DType t) {
  const auto kind = evaluation::addition(s).kind();
  const bool number = t == DType::f32 || t == DType::f64 || is_integer(t), orders = kind <= evaluation::Monoid::maximum;
  const bool known = kind == evaluation::Monoid::either ? t == DType::boolean : orders && number;
  return known ? std::optional(static_cast<Combine>(kind)) : std::nullopt;
}

}  // namespace

std::optional<Tensor> added_in_place(const Assignment& a, std::map<std::string, Tensor>& operands,
                                     const EvaluateOptions& options) {
  const Expression& e = a.value;
  if (e.op() != Operator::add || options.mask || a.accumulate) return std::nullopt;
  std::vector<std::string> names;
  for (std::size_t k : {0, 1}) {
    const Expression& x = e.argument(k);
    const auto plain = [&](const AffineIndex& i) {
      return i.is_plain() && i.terms[0].index == a.indices[static_cast<std::size_t>(&i - x.node().indices.data())];
    };
    if (x.op() != Operator::access || x.node().indices.size() != a.indices.size() ||
        !std::ranges::all_of(x.node().indices, plain))
      return std::nullopt;
    names.push_back(x.node().name);
  }
  const std::size_t own = names[1][0] == '#' ? 1 : 0;  // no user's name begins so
  if (names[own][0] != '#' || names[0] == names[1]) return std::nullopt;
  const Tensor sum = operands.at(names[own]), other = operands.at(names[1 - own]);
  operands.erase(names[own]);
  const auto combine = addition(options.semiring, sum.dtype());
  const bool alike = sum.dtype() == other.dtype() && sum.shape() == other.shape() && is_row_major(sum) &&
                     is_row_major(other) && (!options.result_dtype || *options.result_dtype == sum.dtype());
  if (!combine || !alike || !(*options.format == sum.format()) || sum.part().values.owner.use_count() != 1 ||
      sum.part().values.read_only) {
    operands.emplace(names[own], sum);
    return std::nullopt;
  }
  execution::combine(execution::view_of(sum), execution::view_of(other), *combine, own == 1);
  return sum;
}

}  // namespace strata::direct
