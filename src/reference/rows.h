#pragma once
// Tables of coordinates: what the relational part of the general path joins and unites.
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace strata::evaluation {

/// Index variables are numbers; extents[v] is how far variable v goes.
using Extents = std::vector<std::int64_t>;
using Ints = std::vector<std::int64_t>;

/// Rows of coordinates, each at most once, times every combination of the `free` variables. A leaf's slot in a row is
/// the place of its element there, -1 where it has none.
struct Rows {
  std::vector<int> vars, free;  ///< disjoint
  std::vector<Ints> coords;     ///< per variable of `vars`
  std::int64_t n = 0;
  std::map<int, Ints> slots;  ///< per leaf

  bool is_full() const { return vars.empty() && n == 1; }
  const Ints* column(int var) const;
  bool has(int var) const { return column(var) != nullptr; }
  /// The same rows in another order, some more than once; where[k] < 0 leaves coordinates alone that the caller fills,
  /// and slots absent.
  Rows take(std::span<const std::int64_t> where) const;
};

/// One row that stands for every combination of these variables.
Rows full(std::vector<int> free);
std::vector<int> united(std::span<const int> a, std::span<const int> b);
/// rows times the extents of its free variables; an Unsupported error where 64 bits do not count it.
std::int64_t total(const Rows& rows, const Extents& extents);

/// Keys of the coordinates of `vars` in each table: equal exactly where the coordinates are equal, and ordered as they
/// are. Linear where the extents' product fits 64 bits, otherwise ranks.
std::vector<std::vector<std::uint64_t>> keys_of(std::span<const Rows* const> tables, std::span<const int> vars,
                                                const Extents& extents);
/// The order that sorts keys (stable).
std::vector<std::int64_t> sorting(const std::vector<std::uint64_t>& keys);

/// Rows in which both agree on the variables that both list.
Rows join(const Rows& a, const Rows& b, const Extents& extents);
/// Rows of either.
Rows unite(const Rows& a, const Rows& b, const Extents& extents);
/// Lists these of the free variables.
Rows expand(const Rows& rows, std::span<const int> vars, const Extents& extents);
/// Rows [begin, end) of total(), every variable listed.
Rows slab(const Rows& rows, std::int64_t begin, std::int64_t end, const Extents& extents);
/// For each row of `rows` (which lists all variables of `other`) the row of `other` with the same coordinates, or -1.
Ints find(const Rows& rows, const Rows& other, const Extents& extents);
/// Rows (every variable listed) whose coordinates `excluded` does not have.
Rows without(const Rows& rows, const Rows& excluded, const Extents& extents);
/// A guess of how many rows join() gives.
double join_estimate(const Rows& a, const Rows& b, const Extents& extents);

}  // namespace strata::evaluation
