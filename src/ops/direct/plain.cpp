#include "ops/direct/plain.h"

#include <algorithm>
#include <numeric>

#include "ops/convert_elements.h"
#include "ops/direct/expand.h"
#include "strata/ops.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using Extents = std::map<std::string, i64>;

constexpr double most_copies = 1e9;  ///< elements that an operand may become

/// Dense memory seen through the access.
Tensor view(const Tensor& given, const Affine& a) {
  const Tensor t = strided(given);
  std::vector<i64> strides(a.names.size(), 0);
  const std::vector<i64> own = dimension_strides(t);
  i64 offset = t.part().values_offset;
  for (std::size_t d = 0; d < a.terms.size(); ++d) {
    const i64 stride = own[d];
    offset += a.constants[d] * stride;
    for (const auto& term : a.terms[d]) strides[term.index] += term.coefficient * stride;
  }
  return dense_view(t.part().values, a.extents, strides, offset, t.fill());
}

class Rewriter {
 public:
  Rewriter(const std::map<std::string, Tensor>& operands, const Extents& extents, bool drops_fill_in, std::string& why)
      : operands_(operands), extents_(extents), drops_fill_in_(drops_fill_in), why_(why) {}

  std::optional<Expression> apply(const Expression& e) {
    if (e.op() == Operator::access) return access(e);
    Expression::Node n = e.node();
    bool changed = false;
    for (auto& a : n.arguments) {
      const auto b = apply(a);
      if (!b) return std::nullopt;
      changed = changed || !(*b == a);
      a = *b;
    }
    return changed ? Expression(std::move(n)) : e;
  }
  std::map<std::string, Tensor> take() { return std::move(operands_); }

 private:
  bool is_plain(const Expression& e, const Shape& shape) const {
    const auto& indices = e.node().indices;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].is_plain() || shape[d] != extents_.at(indices[d].terms[0].index)) return false;
      for (std::size_t q = 0; q < d; ++q)
        if (indices[q] == indices[d]) return false;
    }
    return true;
  }

  std::optional<Expression> access(const Expression& e) {
    const Tensor t = operands_.at(e.node().name);
    if (is_plain(e, t.shape())) return e;
    const Affine a = affine(e, t.shape(), extents_);
    const std::string name = e.to_string();  // no operand is called so
    if (!operands_.contains(name)) {
      if (t.format().is_all_dense()) {
        operands_.emplace(name, view(t, a));
      } else {
        if (a.stretched) {
          why_ = "an extent of 1 of '" + name + "' is stretched";
          return std::nullopt;
        }
        if (a.names.empty() || std::find(a.extents.begin(), a.extents.end(), 0) != a.extents.end()) {
          why_ = "'" + name + "' names one element, or none";
          return std::nullopt;
        }
        if (copies(a) * static_cast<double>(t.nse()) > most_copies) {
          why_ = "'" + name + "' would be too large as a tensor of its own";
          return std::nullopt;
        }
        operands_.emplace(name, expanded(t, a, drops_fill_in_));
      }
    }
    std::vector<AffineIndex> indices(a.names.begin(), a.names.end());
    return Expression::access(name, std::move(indices));
  }

  std::map<std::string, Tensor> operands_;
  const Extents& extents_;
  bool drops_fill_in_;
  std::string& why_;
};

}  // namespace

Tensor strided(const Tensor& t) {
  const bool plain = t.num_parts() == 1 && t.format().is_identity() && t.format().num_batch_levels() == 0;
  return plain ? t : convert(t, conversion::dense_format(t.rank()));
}

std::vector<i64> dimension_strides(const Tensor& strided) {
  const FormatSpec& s = strided.format().spec();
  std::vector<i64> out(strided.shape().size());
  for (int l = 0; l < strided.format().num_levels(); ++l)
    out[static_cast<std::size_t>(s.exprs[static_cast<std::size_t>(strided.format().level(l).expr)].a)] =
        strided.part().strides[static_cast<std::size_t>(l)];
  return out;
}

Tensor dense_view(const Buffer& values, const Shape& shape, const std::vector<i64>& strides, i64 offset,
                  const Scalar& fill) {
  TensorType type;
  type.format = conversion::dense_format(static_cast<int>(shape.size()));
  type.shape = shape;
  type.dtype = values.dtype;
  type.fill = fill;
  Part part;
  part.format = type.format;
  part.ranges = type.format.level_ranges(shape);
  part.levels.resize(shape.size());
  part.values = values;
  part.strides = strides;
  part.values_offset = offset;
  type.strides = stride_record(part.ranges, part.strides);
  return make_from_parts(std::move(type), {std::move(part)});
}

std::optional<Plain> with_plain_accesses(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                         const Extents& extents, bool drops_fill_in, std::string& why) {
  Rewriter rewriter(operands, extents, drops_fill_in, why);
  auto value = rewriter.apply(a.value);
  if (!value) return std::nullopt;
  Plain out{.assignment = a, .operands = {}};
  out.assignment.value = std::move(*value);
  out.operands = rewriter.take();
  return out;
}

}  // namespace strata::direct
