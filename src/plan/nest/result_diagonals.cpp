// On which diagonals a result can have elements: those of the product of two matrices are the sums of theirs.
#include <algorithm>
#include <deque>

#include "format/recognise.h"
#include "levels/index_view.h"
#include "plan/nest/unit.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using Offsets = std::vector<i64>;  ///< ascending

constexpr i64 most_diagonals = 4096, longest_table = i64{1} << 28;

/// Between two indices: where the one is x, the other is x + an offset. `O`: the offsets, or about how many they are.
template <class O> struct Edge {
  int from = 0, to = 0;
  O offsets;
};

std::optional<Offsets> listed(const std::vector<char>& seen, i64 lowest) {
  Offsets out;
  for (std::size_t k = 0; k < seen.size(); ++k) {
    if (!seen[k]) continue;
    out.push_back(lowest + static_cast<i64>(k));
    if (static_cast<i64>(out.size()) > most_diagonals) return std::nullopt;
  }
  return out;
}

/// column - row of what a matrix stores.
std::optional<Offsets> offsets_of(const Tensor& t) {
  if (t.rank() != 2 || t.num_parts() != 1) return std::nullopt;
  const i64 rows = t.shape()[0], columns = t.shape()[1];
  if (rows == 0 || columns == 0 || rows + columns > longest_table) return std::nullopt;
  const Part& part = t.part();
  std::vector<char> seen(static_cast<std::size_t>(rows + columns - 1), 0);
  if (diagonals_of(t.format()) >= 0) {
    const auto& crd = part.levels[0].crd;
    const i64 n = part.levels[0].pos.index(1);
    for (i64 k = 0; k < n; ++k)
      if (const i64 d = crd.index(k); d > -rows && d < columns) seen[static_cast<std::size_t>(d + rows - 1)] = 1;
    return listed(seen, 1 - rows);
  }
  const auto plain = rows_of(t.format(), LevelKind::compressed), both = listed_rows_of(t.format()),
             coordinates = coordinates_of(t.format());
  if (!plain && !both && !coordinates) return std::nullopt;
  const DimPair dims = plain ? *plain : both ? *both : *coordinates;
  const LevelArrays &upper = part.levels[0], &lower = part.levels[1];
  const i64 parents = plain ? t.shape()[static_cast<std::size_t>(dims.outer)] : upper.pos.index(1),
            sign = dims.outer == 0 ? 1 : -1;
  char* zero = seen.data() + rows - 1;
  with_index_type(lower.crd.dtype, [&]<class C>(C) {
    with_index_type(coordinates ? DType::i32 : lower.pos.dtype, [&]<class P>(P) {
      const auto at = [](auto type, const Buffer& b, i64 k) {  // borrowed arrays may lie anywhere
        return static_cast<i64>(
            load_as<decltype(type)>(static_cast<const char*>(b.data) + k * static_cast<i64>(sizeof(type))));
      };
      for (i64 p = 0; p < parents; ++p) {
        const i64 x = plain ? p : at(C{}, upper.crd, p);  // coordinates have one dtype
        const i64 begin = coordinates ? p : at(P{}, lower.pos, p),
                  end = coordinates ? p + 1 : at(P{}, lower.pos, p + 1);
        for (i64 k = begin; k < end; ++k) zero[sign * (at(C{}, lower.crd, k) - x)] = 1;
      }
    });
  });
  return listed(seen, 1 - rows);
}

Offsets united(const Offsets& a, const Offsets& b) {
  Offsets out;
  std::ranges::set_union(a, b, std::back_inserter(out));
  return out;
}
double united(double a, double b) { return std::max(a, b); }

std::optional<Offsets> summed(const Offsets& a, const Offsets& b) {
  if (static_cast<i64>(a.size() * b.size()) > most_diagonals * 16) return std::nullopt;
  Offsets out;
  for (i64 x : a)
    for (i64 y : b) out.push_back(x + y);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}
/// (Of bands: what lies side by side has as many sums.)
std::optional<double> summed(double a, double b) { return a + b - 1; }

Offsets negated(const Offsets& a) {
  Offsets out;
  for (auto o = a.rbegin(); o != a.rend(); ++o) out.push_back(-*o);
  return out;
}
double negated(double a) { return a; }

/// What the node's having a value says of indices: all of these hold. `offsets_of(k)`: of access k.
template <class O, class F> std::vector<Edge<O>> edges(const Unit& u, int node, const F& offsets_of) {
  using Edges = std::vector<Edge<O>>;
  const merging::ElementwiseNode& n = u.nodes[static_cast<std::size_t>(node)];
  const auto is_constant = [&](int a) {
    return u.nodes[static_cast<std::size_t>(a)].kind == merging::ElementwiseNode::constant;
  };
  switch (n.kind) {
    case merging::ElementwiseNode::access: {
      const Access& a = u.accesses[static_cast<std::size_t>(n.operand)];
      if (a.dense || a.indices.size() != 2) return {};
      auto offsets = offsets_of(static_cast<std::size_t>(n.operand));
      if (!offsets) return {};
      return {{a.indices[0], a.indices[1], std::move(*offsets)}};
    }
    case merging::ElementwiseNode::map: return edges<O>(u, n.arguments[0], offsets_of);
    case merging::ElementwiseNode::all: {
      Edges out;
      for (std::size_t k = 0; k < n.arguments.size(); ++k)
        if (n.needed[k])
          for (auto& e : edges<O>(u, n.arguments[k], offsets_of)) out.push_back(std::move(e));
      return out;
    }
    case merging::ElementwiseNode::any: {  // what all arguments say
      Edges out;
      bool first = true;
      for (int a : n.arguments) {
        if (is_constant(a)) continue;
        const auto mine = edges<O>(u, a, offsets_of);
        if (first) out = mine;
        Edges both;
        for (const auto& e : out)
          for (const auto& m : mine)
            if (e.from == m.from && e.to == m.to) both.push_back({e.from, e.to, united(e.offsets, m.offsets)});
        if (!first) out = std::move(both);
        first = false;
      }
      return out;
    }
    default: return {};
  }
}

/// The offsets from row to column of the result, by the shortest way; `none`: that of an index to itself.
template <class O, class F> std::optional<O> from_row_to_column(const Unit& unit, const F& offsets_of, const O& none) {
  const int row = unit.output[0], column = unit.output[1];
  auto all = edges<O>(unit, static_cast<int>(unit.nodes.size()) - 1, offsets_of);
  for (std::size_t k = all.size(); k-- > 0;)  // both ways
    all.push_back({all[k].to, all[k].from, negated(all[k].offsets)});
  std::vector<std::optional<O>> reached(unit.extents.size());
  reached[static_cast<std::size_t>(row)] = none;
  for (std::deque<int> next{row}; !next.empty(); next.pop_front())
    for (const auto& e : all) {
      auto& to = reached[static_cast<std::size_t>(e.to)];
      if (e.from != next.front() || to) continue;
      to = summed(*reached[static_cast<std::size_t>(e.from)], e.offsets);
      if (!to) return std::nullopt;
      next.push_back(e.to);
    }
  return reached[static_cast<std::size_t>(column)];
}

}  // namespace

std::optional<double> about_diagonals(const Unit& unit) {
  const auto about = [&](std::size_t k) -> std::optional<double> {
    const Lazy& t = unit.accesses[k].tensor;
    const Format& f = t.format();
    const auto& children = t.stats().children;
    if (diagonals_of(f) >= 0) return children.empty() ? std::nullopt : std::optional(std::max(1.0, children[0]));
    if (!rows_of(f, LevelKind::compressed) && !listed_rows_of(f) && !coordinates_of(f)) return std::nullopt;
    // As if they were full; who has more is found out when the plan runs.
    return std::max(1.0,
                    t.stats().stored / static_cast<double>(std::max<i64>(1, std::max(t.shape()[0], t.shape()[1]))));
  };
  const auto found = from_row_to_column<double>(unit, about, 1.0);
  return found && *found <= most_diagonals ? found : std::nullopt;
}

std::optional<std::vector<i64>> diagonals_of_result(const Unit& unit, std::span<const Tensor> operands) {
  const int row = unit.output[0], column = unit.output[1];
  const auto found =
      from_row_to_column<Offsets>(unit, [&](std::size_t k) { return offsets_of(operands[k]); }, Offsets{0});
  if (!found || static_cast<i64>(found->size()) > most_diagonals) return std::nullopt;
  Offsets inside;
  for (i64 o : *found)
    if (o > -unit.extents[static_cast<std::size_t>(row)] && o < unit.extents[static_cast<std::size_t>(column)])
      inside.push_back(o);
  return inside;
}

}  // namespace strata::direct
