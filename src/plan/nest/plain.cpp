#include "plan/nest/plain.h"

#include <algorithm>
#include <numeric>

#include "convert/convert_elements.h"
#include "plan/nest/expand.h"
#include "strata/convert.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using Extents = std::map<std::string, i64>;

constexpr double most_copies = 1e9;  ///< elements that an operand may become

/// Strides and offset of dense memory seen through the access.
struct StridedView {
  std::vector<i64> strides;
  i64 offset = 0;
};
StridedView through(const Affine& a, const std::vector<i64>& own) {
  StridedView out{.strides = std::vector<i64>(a.names.size(), 0)};
  for (std::size_t d = 0; d < a.terms.size(); ++d) {
    out.offset += a.constants[d] * own[d];
    for (const auto& term : a.terms[d]) out.strides[term.index] += term.coefficient * own[d];
  }
  return out;
}

Lazy view(const Lazy& given, const Affine& a) {
  const Lazy t = strided(given);
  return Lazy::made(view_type(a.extents, t.dtype(), through(a, dimension_strides(t)).strides, t.fill()),
                    planning::stats_for(view_type(a.extents, t.dtype(), {}, t.fill()), 0),
                    {.inputs = {t}, .make = [a](Lazy::Inputs& in) {
                       const StridedView seen = through(a, dimension_strides(in[0]));
                       return dense_view(in[0].part().values, a.extents, seen.strides,
                                         in[0].part().values_offset + seen.offset, in[0].fill());
                     }});
}

/// The elements once for each way to write their coordinates.
Lazy copied(const Lazy& t, const Affine& a, bool drops_fill_in) {
  TensorType type = t.type();
  type.format = expanded_format(a);
  type.shape = a.extents;
  type.shared_value = false;
  type.strides.clear();
  i64 largest = 0;
  for (const i64 n : a.extents) largest = std::max(largest, n);
  type.crd_dtype = index_dtype_for(largest);
  const double stored = copies(a) * t.stats().stored;
  type.pos_dtype = index_dtype_for(static_cast<i64>(std::min(stored, 9e18)));
  return Lazy::made(type, planning::stats_for(type, stored),
                    {.inputs = {t},
                     .make = [a, drops_fill_in](Lazy::Inputs& in) { return expanded(in[0], a, drops_fill_in); },
                     .keeps_fill_in = t.may_hold_fill_in()});
}

class Rewriter {
 public:
  Rewriter(const Operands& operands, const Extents& extents, bool drops_fill_in, std::string& why)
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
  Operands take() { return std::move(operands_); }

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
    const Lazy t = operands_.at(e.node().name);
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
        operands_.emplace(name, copied(t, a, drops_fill_in_));
      }
    }
    std::vector<AffineIndex> indices(a.names.begin(), a.names.end());
    return Expression::access(name, std::move(indices));
  }

  Operands operands_;
  const Extents& extents_;
  bool drops_fill_in_;
  std::string& why_;
};

}  // namespace

Tensor strided(const Tensor& t) {
  const bool plain = t.num_parts() == 1 && t.format().is_identity() && t.format().num_batch_levels() == 0;
  return plain ? t : convert(t, conversion::dense_format(t.rank()));
}

Lazy strided(const Lazy& t) {
  const bool plain = t.num_parts() == 1 && t.format().is_identity() && t.format().num_batch_levels() == 0;
  if (plain) return t;
  TensorType type = view_type(t.shape(), t.dtype(), {}, t.fill());
  return Lazy::made(type, t.stats(), {.inputs = {t}, .make = [](Lazy::Inputs& in) { return strided(in[0]); }});
}

namespace {
std::vector<i64> by_dimension(const Format& f, const std::vector<i64>& strides) {
  const FormatSpec& s = f.spec();
  std::vector<i64> out(strides.size());
  for (int l = 0; l < f.num_levels(); ++l)
    out[static_cast<std::size_t>(s.exprs[static_cast<std::size_t>(f.level(l).expr)].a)] =
        strides[static_cast<std::size_t>(l)];
  return out;
}
}  // namespace

std::vector<i64> dimension_strides(const Tensor& strided) {
  return by_dimension(strided.format(), strided.part().strides);
}
std::vector<i64> dimension_strides(const Lazy& strided) {
  return by_dimension(strided.format(), planning::assumed_strides(strided.type()));
}

namespace {

/// Of dense levels, one for each dimension.
std::vector<LevelRange> ranges_of(const Shape& shape) {
  std::vector<LevelRange> out;
  out.reserve(shape.size());
  for (const i64 n : shape) out.push_back({0, n});
  return out;
}

}  // namespace

TensorType view_type(const Shape& shape, DType dtype, const std::vector<i64>& strides, const Scalar& fill) {
  TensorType type;
  type.format = conversion::dense_format(static_cast<int>(shape.size()));
  type.shape = shape;
  type.dtype = dtype;
  type.fill = fill;
  if (!strides.empty()) type.strides = stride_record(ranges_of(shape), strides);
  return type;
}

Tensor dense_view(const Buffer& values, const Shape& shape, const std::vector<i64>& strides, i64 offset,
                  const Scalar& fill) {
  TensorType type = view_type(shape, values.dtype, {}, fill);
  std::vector<Part> parts(1);  // (not from a list, which would be copied: small results are made often)
  Part& part = parts[0];
  part.format = type.format;
  part.ranges = ranges_of(shape);
  part.levels.resize(shape.size());
  part.values = values;
  part.strides = strides;
  part.values_offset = offset;
  type.strides = stride_record(part.ranges, part.strides);
  return make_from_parts(std::move(type), std::move(parts));
}

std::optional<Plain> with_plain_accesses(const Assignment& a, const Operands& operands, const Extents& extents,
                                         bool drops_fill_in, std::string& why) {
  Rewriter rewriter(operands, extents, drops_fill_in, why);
  auto value = rewriter.apply(a.value);
  if (!value) return std::nullopt;
  Plain out{.assignment = a, .operands = {}};
  out.assignment.value = std::move(*value);
  out.operands = rewriter.take();
  return out;
}

}  // namespace strata::direct
