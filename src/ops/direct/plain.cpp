#include "ops/direct/plain.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "ops/convert_elements.h"
#include "strata/ops.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using Extents = std::map<std::string, i64>;

constexpr double most_copies = 1e9;  ///< elements that an operand may become

/// The access in numbers: per dimension the coefficients of the indices, which are numbered by appearance.
struct Affine {
  struct Term {
    std::size_t index;
    i64 coefficient;
  };
  std::vector<std::vector<Term>> terms;
  std::vector<i64> constants;
  std::vector<std::string> names;
  Shape extents;
  bool stretched = false;  ///< an extent of 1 stands for every coordinate: coefficient 0
};

Affine affine(const Expression& e, const Shape& shape, const Extents& extents) {
  Affine out;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const AffineIndex& index = e.node().indices[d];
    out.constants.push_back(index.constant);
    auto& terms = out.terms.emplace_back();
    const bool stretches = index.is_plain() && shape[d] == 1 && extents.at(index.terms[0].index) != 1;
    out.stretched = out.stretched || stretches;
    for (const auto& t : index.terms) {
      const auto at = std::find(out.names.begin(), out.names.end(), t.index);
      terms.push_back({static_cast<std::size_t>(at - out.names.begin()), stretches ? 0 : t.coefficient});
      if (at != out.names.end()) continue;
      out.names.push_back(t.index);
      out.extents.push_back(extents.at(t.index));
    }
  }
  return out;
}

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

/// Finds the values of the indices for which an access names a given element.
class Solver {
 public:
  explicit Solver(const Affine& a) : a_(a), known_(a.names.size()), values_(a.names.size()) {}

  /// How many elements one may become.
  double copies() {
    double out = 1;
    std::vector<char> known(a_.names.size());
    for (const auto& terms : a_.terms) {
      double all = 1, largest = 1;
      for (const auto& t : terms) {
        if (known[t.index]) continue;
        known[t.index] = 1;
        const auto extent = static_cast<double>(a_.extents[t.index]);
        all *= extent;
        largest = std::max(largest, extent);
      }
      out *= all / largest;
    }
    return out;
  }

  template <class F>
  void each(const i64* coordinates, const F& f) {
    coordinates_ = coordinates;
    dimension(0, f);
  }

 private:
  template <class F>
  void dimension(std::size_t d, const F& f) {
    if (d == a_.terms.size()) return f(values_);
    i64 rest = coordinates_[d] - a_.constants[d];
    std::vector<Affine::Term> open;
    for (const auto& t : a_.terms[d]) {
      if (known_[t.index]) rest -= t.coefficient * values_[t.index];
      else open.push_back(t);
    }
    // The one that goes furthest is computed, the others are tried.
    std::sort(open.begin(), open.end(), [&](const auto& x, const auto& y) { return a_.extents[x.index] < a_.extents[y.index]; });
    choose(d, open, 0, rest, f);
  }

  template <class F>
  void choose(std::size_t d, const std::vector<Affine::Term>& open, std::size_t k, i64 rest, const F& f) {
    if (k == open.size()) {
      if (rest == 0) dimension(d + 1, f);
      return;
    }
    const auto [index, coefficient] = open[k];
    known_[index] = 1;
    if (k + 1 == open.size()) {
      if (rest % coefficient == 0 && rest / coefficient >= 0 && rest / coefficient < a_.extents[index]) {
        values_[index] = rest / coefficient;
        dimension(d + 1, f);
      }
    } else {
      for (i64 x = 0; x < a_.extents[index]; ++x) {
        values_[index] = x;
        choose(d, open, k + 1, rest - coefficient * x, f);
      }
    }
    known_[index] = 0;
  }

  const Affine& a_;
  std::vector<char> known_;
  std::vector<i64> values_;
  const i64* coordinates_ = nullptr;
};

Format compressed(int rank) {
  std::vector<int> dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return conversion::levels_in_order(dims, false);
}

Tensor expanded(const Tensor& given, const Affine& a, bool drops_fill_in) {
  // Sorted, and each element once.
  const Tensor t = convert(given, compressed(given.rank()), {.zeros = drops_fill_in ? Zeros::automatic : Zeros::keep});
  Solver solver(a);
  const auto width = size_of(t.dtype());
  std::vector<std::vector<i64>> columns(a.names.size());
  std::vector<char> values;
  for_each_stored(t, [&](std::span<const i64> coordinates, const void* value) {
    solver.each(coordinates.data(), [&](const std::vector<i64>& found) {
      for (std::size_t v = 0; v < found.size(); ++v) columns[v].push_back(found[v]);
      values.insert(values.end(), static_cast<const char*>(value), static_cast<const char*>(value) + width);
    });
  });
  const auto n = static_cast<i64>(values.size() / width);
  const auto rank = static_cast<int>(a.names.size());
  std::vector<Buffer> coords;
  for (const auto& c : columns) {
    Buffer b = Buffer::allocate(DType::i64, n);
    std::copy(c.begin(), c.end(), static_cast<i64*>(b.data));
    coords.push_back(std::move(b));
  }
  Buffer v = Buffer::allocate(t.dtype(), n);
  std::copy(values.begin(), values.end(), static_cast<char*>(v.data));
  return with_fill(from_coo(coords, v, a.extents, compressed(rank)), t.fill());
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
        if (Solver(a).copies() * static_cast<double>(t.nse()) > most_copies) {
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
    out[static_cast<std::size_t>(s.exprs[static_cast<std::size_t>(strided.format().level(l).expr)].a)] = strided.part().strides[static_cast<std::size_t>(l)];
  return out;
}

Tensor dense_view(const Buffer& values, const Shape& shape, const std::vector<i64>& strides, i64 offset, const Scalar& fill) {
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
