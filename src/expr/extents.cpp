// The extent of every index, from the shapes of the operands.
#include <algorithm>

#include "base/checked.h"
#include "base/tuple_text.h"
#include "expr/chain.h"
#include "strata/expression.h"

namespace strata {
namespace {

using Extents = std::map<std::string, std::int64_t>;

[[noreturn]] void refuse(const Assignment& a, const Expression& at, std::string what, std::string expected,
                         std::string got, std::string fix = {}) {
  throw ExpressionError({.what = std::move(what),
                         .expected = std::move(expected),
                         .got = std::move(got),
                         .fix = std::move(fix),
                         .text = a.text,
                         .where = a.text.empty() ? Span{} : at.node().where});
}

/// Plain accesses decide: equal extents, where a 1 broadcasts.
void from_plain(const Assignment& a, const Expression& e, const Shape& shape, Extents& extents,
                std::map<std::string, std::string>& from) {
  const auto& n = e.node();
  for (std::size_t d = 0; d < n.indices.size(); ++d) {
    if (!n.indices[d].is_plain()) continue;
    const std::string& i = n.indices[d].terms[0].index;
    for (std::size_t b = 0; b < d; ++b)  // a diagonal takes equal extents only
      if (n.indices[b].is_plain() && n.indices[b] == n.indices[d] && shape[b] != shape[d])
        refuse(a, e, "'" + n.name + "' repeats index '" + i + "' over dimensions that differ", "equal extents",
               tuple_text(shape));
    const auto [it, fresh] = extents.try_emplace(i, shape[d]);
    if (fresh || it->second == 1) {
      it->second = shape[d];
      from[i] = "'" + n.name + "' of shape " + tuple_text(shape);
    } else if (shape[d] != 1 && it->second != shape[d]) {
      refuse(a, e, "index '" + i + "' has two extents", std::to_string(it->second) + ", as in " + from[i],
             std::to_string(shape[d]) + " in '" + n.name + "' of shape " + tuple_text(shape));
    }
  }
}

/// [least, most] that an affine index takes, or of its known terms; 128 bits hold any sum of 32 terms.
struct IndexInterval {
  Int128 least = 0, most = 0;
  bool empty = false;  ///< some index has extent 0
  const AffineIndex::Term* unknown = nullptr;
  int num_unknown = 0;
};
IndexInterval interval(const AffineIndex& index, const Extents& extents) {
  IndexInterval v;
  v.least = v.most = index.constant;
  for (const auto& t : index.terms) {
    const auto it = extents.find(t.index);
    if (it == extents.end()) {
      v.unknown = &t;
      ++v.num_unknown;
      continue;
    }
    v.empty = v.empty || it->second == 0;
    const Int128 reach = static_cast<Int128>(t.coefficient) * (it->second - 1);
    (t.coefficient > 0 ? v.most : v.least) += reach;
  }
  return v;
}

/// Room for one more index in an access that must stay inside.
std::int64_t room_inside(const IndexInterval& v, std::int64_t extent) {
  const std::int64_t c = v.unknown->coefficient;
  const Int128 room = c > 0 ? static_cast<Int128>(extent) - 1 - v.most : v.least;
  const Int128 most = room < 0 ? 0 : room / (c > 0 ? c : -static_cast<Int128>(c)) + 1;
  return static_cast<std::int64_t>(std::min<Int128>(most, INT64_MAX));
}

/// Steps of this size through a dimension, whatever stands beside it: 'same' convolution.
std::int64_t steps_through(const AffineIndex::Term& term, std::int64_t extent) {
  return ceil_div(extent, term.coefficient < 0 ? -term.coefficient : term.coefficient);
}

/// R(i,j) = sum(j, A(i,j)): that j ends with the sum, and says nothing of the result's. `+=` has it from what is there,
/// but not where the whole is the sum.
bool ends_with_a_reduction(const Assignment& a, const std::string& index) {
  const auto free = a.value.free_indices();
  if (std::ranges::find(free, index) != free.end()) return false;
  if (!a.accumulate) return true;
  Expression e = a.value;
  while (is_reduction(e.op()) && e.node().name != index) e = e.argument();
  return is_reduction(e.op());
}

}  // namespace

std::map<std::string, std::int64_t> index_extents(const Assignment& a, const std::map<std::string, Shape>& shapes) {
  Extents extents;
  std::map<std::string, std::string> from;
  const auto shape_of = [&](const Expression& e) -> const Shape& {
    const auto it = shapes.find(e.node().name);
    if (it == shapes.end())
      refuse(a, e, "no operand '" + e.node().name + "'", "a tensor of this name", "none",
             "give " + e.node().name + "=");
    return it->second;
  };
  const auto visit_all = [&](const auto& f) {
    for_each_access(a.value, f);
    if (a.accumulate) f(a.target());
  };
  visit_all([&](const Expression& e) {
    const Shape& shape = shape_of(e);
    if (shape.size() != e.node().indices.size())
      refuse(a, e, "'" + e.node().name + "' does not fit its access",
             std::to_string(e.node().indices.size()) + " dimensions",
             std::to_string(shape.size()) + ", shape " + tuple_text(shape));
    from_plain(a, e, shape, extents, from);
  });
  // Indices of affine accesses alone, found one unknown at a time: the largest extent that stays inside; where only
  // padded accesses are left to tell, all that they read.
  const auto find_some = [&](bool padded) {
    Extents found;
    visit_all([&](const Expression& e) {
      const Shape& shape = shape_of(e);
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const AffineIndex& index = e.node().indices[d];
        const IndexInterval v = interval(index, extents);
        if (index.padded != padded || v.num_unknown != 1) continue;
        const std::int64_t extent = padded ? steps_through(*v.unknown, shape[d]) : room_inside(v, shape[d]);
        const auto [it, fresh] = found.try_emplace(v.unknown->index, extent);
        if (!fresh) it->second = padded ? std::max(it->second, extent) : std::min(it->second, extent);
      }
    });
    extents.insert(found.begin(), found.end());
    return !found.empty();
  };
  while (find_some(false) || find_some(true)) {}
  visit_all([&](const Expression& e) {
    const Shape& shape = shape_of(e);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const AffineIndex& index = e.node().indices[d];
      const IndexInterval v = interval(index, extents);
      if (v.num_unknown > 0)
        refuse(a, e, "nothing says how far index '" + v.unknown->index + "' goes",
               "an operand with '" + v.unknown->index + "' as a dimension of its own", index.to_string());
      if (!v.empty && !index.padded && !index.is_plain() && (v.least < 0 || v.most >= shape[d]))
        refuse(a, e,
               "'" + index.to_string() + "' leaves dimension " + std::to_string(d) + " of '" + e.node().name + "'",
               "0 to " + std::to_string(shape[d] - 1),
               std::to_string(static_cast<std::int64_t>(v.least)) + " to " +
                   std::to_string(static_cast<std::int64_t>(v.most)),
               "write '" + index.to_string() + "?' to read the fill there");
    }
  });
  for (const auto& i : a.indices) {
    if (!extents.contains(i))
      throw ExpressionError({.what = "the output has an index that no operand has",
                             .expected = "an index of the operands",
                             .got = "'" + i + "'",
                             .text = a.text,
                             .where = {0, a.name.size()}});
    if (ends_with_a_reduction(a, i))
      refuse(a, a.value, "the output has an index that the whole expression reduces", "an index that is free in it",
             "'" + i + "'", "call the reduced index otherwise, or leave '" + i + "' out of the result");
  }
  return extents;
}

}  // namespace strata
