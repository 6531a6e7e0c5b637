#include "plan/rewrite/padded.h"

#include <algorithm>

#include "base/checked.h"
#include "convert/window.h"
#include "plan/lazy_convert.h"

namespace strata::evaluation {
namespace {

using Extents = std::map<std::string, std::int64_t>;

/// What an access reads of a dimension: [least, least + extent).
struct Reach {
  std::int64_t least = 0, extent = 0;
};

/// `listed`: what lies outside is absent, of a dense tensor too.
Lazy window_of(const Lazy& t, const std::vector<std::int64_t>& least, const Shape& shape, bool listed) {
  TensorType from = t.type();
  from.shape = shape;
  TensorType type =
      converted_type(from, t.stats().stored, listed ? format_of_sparse_window(t.rank()) : format_of_window(t.format()));
  auto stats = planning::stats_for(type, t.stats().stored);
  return Lazy::made(std::move(type), std::move(stats),
                    {.inputs = {t}, .make = [least, shape, listed](Lazy::Inputs& in) {
                       return listed ? sparse_window(in[0], least, shape) : window(in[0], least, shape);
                     }});
}

class Padding {
 public:
  Padding(const Assignment& a, const Operands& operands, const Semiring& semiring)
      : text_(a.text), operands_(operands), ring_(semiring != Semiring::plus_times) {
    std::map<std::string, Shape> shapes;
    for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
    extents_ = index_extents(a, shapes);
  }

  Expression inside(const Expression& e) {
    Expression::Node n = e.node();
    if (e.op() == Operator::access) return access(std::move(n));
    for (Expression& argument : n.arguments) argument = inside(argument);
    return Expression(std::move(n));
  }

  Operands windows;                             ///< by their names
  std::map<std::string, Format> dense_windows;  ///< of those that are sparse for the sake of a semiring, as they were

 private:
  Expression access(Expression::Node n) {
    const Lazy& t = operands_.at(n.name);
    std::vector<std::int64_t> least;
    Shape shape;
    std::string name = n.name + "[";
    for (std::size_t d = 0; d < n.indices.size(); ++d) {
      AffineIndex& index = n.indices[d];
      const Reach r = index.padded ? reach(index, n) : Reach{0, t.shape()[d]};
      least.push_back(r.least);
      shape.push_back(r.extent);
      name += (d ? "," : "") + (index.padded ? std::to_string(r.least) : "") + ":" +
              (index.padded ? std::to_string(r.least + r.extent) : "");
      index.constant -= r.least;
      index.padded = false;
    }
    const bool whole = shape == t.shape() && std::ranges::all_of(least, [](std::int64_t x) { return x == 0; });
    if (whole) return Expression(std::move(n));
    n.name = name + "]";  // no user's name looks so
    if (!windows.contains(n.name)) {
      const bool values = ring_ && t.format().is_all_dense();
      windows.emplace(n.name, window_of(t, least, shape, values));
      if (values) dense_windows.emplace(n.name, t.format());
    }
    return Expression(std::move(n));
  }

  Reach reach(const AffineIndex& index, const Expression::Node& n) const {
    Int128 least = index.constant, most = index.constant;
    for (const auto& t : index.terms) {
      const Int128 last = static_cast<Int128>(t.coefficient) * (extents_.at(t.index) - 1);
      (t.coefficient > 0 ? most : least) += last;
    }
    constexpr Int128 far = std::int64_t{1} << 61;
    if (least < -far || most > far)
      throw ExpressionError({.what = "'" + index.to_string() + "' reaches too far beyond '" + n.name + "'",
                             .expected = "coordinates of at most 61 bits",
                             .text = text_,
                             .where = text_.empty() ? Span{} : n.where});
    return {static_cast<std::int64_t>(least), static_cast<std::int64_t>(std::max<Int128>(0, most - least + 1))};
  }

  const std::string& text_;
  const Operands& operands_;
  const bool ring_;
  Extents extents_;
};

}  // namespace

bool has_padding(const Expression& e) {
  const auto& n = e.node();
  return std::ranges::any_of(n.indices, &AffineIndex::padded) || std::ranges::any_of(n.arguments, has_padding);
}

std::optional<WithPadding> with_padding(const Assignment& a, const Operands& operands, const Asked& options) {
  if (!has_padding(a.value)) return std::nullopt;
  Padding padding(a, operands, options.semiring);
  WithPadding out{a, operands, options};
  out.assignment.value = padding.inside(a.value);
  out.operands.insert(padding.windows.begin(), padding.windows.end());
  if (!options.format && !padding.dense_windows.empty()) {
    std::map<std::string, TensorType> types;
    for (const auto& [name, t] : out.operands) {
      types.emplace(name, t.type());
      if (const auto dense = padding.dense_windows.find(name); dense != padding.dense_windows.end())
        types.at(name).format = dense->second;
    }
    out.options.format = result_format(out.assignment, types, options).format;
  }
  return out;
}

}  // namespace strata::evaluation
