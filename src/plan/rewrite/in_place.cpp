// The last step of `d + sum`, without a result of its own.
#include "plan/rewrite/in_place.h"

#include <algorithm>

#include "compiler/merge.h"
#include "convert/convert_elements.h"
#include "execute/dense_view.h"
#include "reference/column.h"
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

bool may_be_row_major(const TensorType& t) {
  return t.strides.empty() && t.format == conversion::dense_format(static_cast<int>(t.shape.size()));
}

}  // namespace

std::optional<Lazy> added_in_place(const Assignment& a, const Operands& operands, const Asked& options,
                                   std::function<Lazy()> otherwise) {
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
  const Lazy &sum = operands.at(names[own]), &other = operands.at(names[1 - own]);
  const auto combine = addition(options.semiring, sum.dtype());
  const bool alike = sum.dtype() == other.dtype() && sum.shape() == other.shape() && may_be_row_major(sum.type()) &&
                     may_be_row_major(other.type()) && (!options.result_dtype || *options.result_dtype == sum.dtype());
  if (!combine || !alike || !(*options.format == sum.format()) || sum.position() >= 0 || other.is_made_of(sum))
    return std::nullopt;
  Lazy::Step step{.inputs = {other},
                  .make = [combine = *combine, first = own == 1](Lazy::Inputs& in) -> std::optional<Tensor> {
                    Tensor& to = in[1];
                    if (!is_row_major(to) || !is_row_major(in[0]) || to.part().values.owner.use_count() != 1 ||
                        to.part().values.read_only)
                      return std::nullopt;
                    execution::combine(execution::view_of(to), execution::view_of(in[0]), combine, first);
                    return std::move(to);
                  },
                  .otherwise = std::move(otherwise),
                  .consumed = std::make_shared<const Lazy>(sum)};
  return Lazy::made(sum.type(), sum.stats(), std::move(step));
}

}  // namespace strata::direct
