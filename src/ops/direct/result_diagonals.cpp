// On which diagonals a result can have elements: those of the product of two matrices are the sums of theirs.
#include <algorithm>
#include <deque>

#include "format/recognise.h"
#include "ops/direct/unit.h"
#include "tensor/levels/index_view.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using Offsets = std::vector<i64>;  ///< ascending

constexpr i64 most_diagonals = 4096, longest_table = i64{1} << 28;

/// Between two indices: where the one is x, the other is x + an offset.
struct Edge {
  int from = 0, to = 0;
  Offsets offsets;
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

std::optional<Offsets> summed(const Offsets& a, const Offsets& b) {
  if (static_cast<i64>(a.size() * b.size()) > most_diagonals * 16) return std::nullopt;
  Offsets out;
  for (i64 x : a)
    for (i64 y : b) out.push_back(x + y);
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

/// What the node's having a value says of indices: all of these hold.
std::vector<Edge> edges(const Unit& u, int node) {
  const merging::Node& n = u.nodes[static_cast<std::size_t>(node)];
  const auto is_constant = [&](int a) { return u.nodes[static_cast<std::size_t>(a)].kind == merging::Node::constant; };
  switch (n.kind) {
    case merging::Node::access: {
      const Access& a = u.accesses[static_cast<std::size_t>(n.operand)];
      if (a.dense || a.indices.size() != 2) return {};
      auto offsets = offsets_of(a.tensor);
      if (!offsets) return {};
      return {{a.indices[0], a.indices[1], std::move(*offsets)}};
    }
    case merging::Node::map: return edges(u, n.arguments[0]);
    case merging::Node::all: {
      std::vector<Edge> out;
      for (std::size_t k = 0; k < n.arguments.size(); ++k)
        if (n.needed[k])
          for (Edge& e : edges(u, n.arguments[k])) out.push_back(std::move(e));
      return out;
    }
    case merging::Node::any: {  // what all arguments say
      std::vector<Edge> out;
      bool first = true;
      for (int a : n.arguments) {
        if (is_constant(a)) continue;
        const auto mine = edges(u, a);
        if (first) out = mine;
        std::vector<Edge> both;
        for (const Edge& e : out)
          for (const Edge& m : mine)
            if (e.from == m.from && e.to == m.to) both.push_back({e.from, e.to, united(e.offsets, m.offsets)});
        if (!first) out = std::move(both);
        first = false;
      }
      return out;
    }
    default: return {};
  }
}

}  // namespace

std::optional<std::vector<i64>> diagonals_of_result(const Unit& unit) {
  const int row = unit.output[0], column = unit.output[1];
  std::vector<Edge> all = edges(unit, static_cast<int>(unit.nodes.size()) - 1);
  for (std::size_t k = all.size(); k-- > 0;) {  // both ways
    Edge back{all[k].to, all[k].from, {}};
    for (auto o = all[k].offsets.rbegin(); o != all[k].offsets.rend(); ++o) back.offsets.push_back(-*o);
    all.push_back(std::move(back));
  }
  // The shortest way from row to column.
  std::vector<std::optional<Offsets>> reached(unit.extents.size());
  reached[static_cast<std::size_t>(row)] = Offsets{0};
  for (std::deque<int> next{row}; !next.empty(); next.pop_front())
    for (const Edge& e : all) {
      auto& to = reached[static_cast<std::size_t>(e.to)];
      if (e.from != next.front() || to) continue;
      to = summed(*reached[static_cast<std::size_t>(e.from)], e.offsets);
      if (!to) return std::nullopt;
      next.push_back(e.to);
    }
  const auto& found = reached[static_cast<std::size_t>(column)];
  if (!found || static_cast<i64>(found->size()) > most_diagonals) return std::nullopt;
  Offsets inside;
  for (i64 o : *found)
    if (o > -unit.extents[static_cast<std::size_t>(row)] && o < unit.extents[static_cast<std::size_t>(column)])
      inside.push_back(o);
  return inside;
}

}  // namespace strata::direct
