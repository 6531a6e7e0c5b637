#pragma once
// What is known at a point of the nest, on the way from the outside in: coordinates, addresses, values.
#include <functional>
#include <map>
#include <optional>

#include "compiler/params.h"
#include "compiler/pieces.h"
#include "compiler/schedule.h"
#include "compiler/value.h"
#include "levels/cursor.h"

namespace strata::compiler {

inline ir::Expr both_max(const ir::Expr& a, const ir::Expr& b) { return a ? ir::max(a, b) : b; }
inline ir::Expr both_min(const ir::Expr& a, const ir::Expr& b) { return a ? ir::min(a, b) : b; }

/// What is known at one point of the nest, on the way to the leaf. Copied at every fork.
struct Point {
  std::vector<ir::Expr> level;    ///< coordinate of each level entered, otherwise null
  std::vector<ir::Expr> free;     ///< value of each einsum index opened by a loop of its own, otherwise null
  std::vector<char> checked;      ///< per driver dimension: its coordinate is complete and known to lie in the tensor
  ir::Expr position;              ///< of the last level walked (the parent of the block levels)
  ir::Expr block;                 ///< position of the block's first slot
  std::vector<ir::Expr> address;  ///< per dense access: the summands known so far
  std::vector<std::vector<char>> late;  ///< per dense access: which late levels are added
  std::vector<std::vector<Value>>
      loaded;                      ///< per dense access: its value (one, or one per group of the tile); empty: not yet
  std::vector<Group> groups;       ///< of the tile; empty: not open
  ir::Expr tile_limit;             ///< groups at or beyond this offset are outside (null: all are inside)
  std::vector<std::int64_t> row;   ///< per schedule row: which accumulator
  std::vector<ir::Expr> row_base;  ///< per schedule row: coordinate of accumulator 0
  ir::Expr run_begin, run_end;     ///< positions of the current run
  int chain = 0;
  bool open = false;  ///< accumulators are declared: the output's address is of no interest below
  std::string met;    ///< of the sum around: a variable that says whether it has met an element; empty: nobody asks
  std::vector<char> folded;  ///< per dense access: its value is in that of another, which is known further down
  bool careful = false;      ///< some rows of the block lie outside: test each (once per launch: short text, not speed)
};

/// The function under construction: its parameters, and what follows from the coordinates entered so far.
class Addresses {
 protected:
  Addresses(const Graph& graph, const ProductSchedule& schedule);
  ~Addresses() = default;

  using Body = std::function<ir::Stmt(Point)>;
  using Stmts = std::vector<ir::Stmt>;

  // --- addresses.cpp ---
  ir::Expr scalar(ScalarBinding::Kind kind, int operand, int level, const std::string& name);
  ir::Expr index_extent(int index);
  ir::Expr dim_extent(int dim);
  ir::Expr level_lo(const LevelFacts& f);
  ir::Expr level_size(const LevelFacts& f);
  ir::Expr child_position(const ir::Expr& parent, const LevelFacts& f,
                          const ir::Expr& coordinate);  ///< of a contiguous level
  ir::Expr stride(const DenseAccess& access, int level, StrideKind kind);
  ir::Expr stride_of_level(const DenseAccess& access, int level);  ///< element stride along a driver level; null: none
  ir::Expr stride_of_index(const DenseAccess& access, int index);  ///< the same along a free index
  ir::Expr dim_coordinate(const Point& at, int dim,
                          int except = -1) const;               ///< null: not complete (`except`: without this level)
  ir::Expr index_coordinate(const Point& at, int index) const;  ///< null: not known yet
  bool known(const Point& at, const DenseAccess& access) const;
  int values_buffer(int operand);
  Value load(const Point& at, std::size_t access, const Group& group);
  ir::Expr named(Stmts& out, const std::string& stem, const ir::Expr& e) {
    return compiler::named(names_, out, stem, e);
  }
  Value keep(Stmts& out, const std::string& stem, const Value& v);
  Point start(Stmts& out);

  /// Adds a coordinate to the addresses, loads what is complete, and goes on; `rest` stands behind the tests that the
  /// coordinate needs.
  ir::Stmt enter_level(Point at, int level, const ir::Expr& coordinate, bool clipped, const Body& rest);
  ir::Stmt enter_index(Point at, int index, const ir::Expr& coordinate, const Body& rest);
  void settle(Point& at, Stmts& out);  ///< late terms and loads that have become possible
  /// Multiplies a value that has become known by those known above, where levels below repeat.
  void fold(Point& at, std::size_t access, Stmts& out);
  bool is_waiting(std::size_t access) const { return !s_.at_the_leaf(access); }
  Value kept(Stmts& out, const std::string& stem, const Value& v);

  // --- driver_levels.cpp: levels of the operand that is walked ---
  /// The iterations of a level that one call walks, where it does not walk them all: its chunk or slice of level 0.
  std::optional<std::pair<ir::Expr, ir::Expr>> call_span(int level);
  /// The positions of level flat_last that flat_first and the levels between hold below this place.
  std::pair<ir::Expr, ir::Expr> flat_span(const Point& at);
  levels::CursorInputs cursor_inputs(int level);
  /// The part of a contiguous level that lies in the tensor, as far as the dimensions it completes demand; null ends:
  /// everything.
  levels::Window clip(const Point& at, int level, bool& clipped);
  ir::Expr crd(int level, const ir::Expr& position);
  int crd_buffer(int level);
  void open_block(Point& at, Stmts& out);
  std::int64_t block_weight(int level) const;  ///< positions per coordinate of a block level
  ir::Expr limit(const Point& at, int level);  ///< first coordinate of a block level that lies outside; null: none does

  // --- pieces of lanes ---
  bool depends_on_tile(const DenseAccess& access) const;
  ir::Expr tile_stride(const DenseAccess& access);

  const Graph& g_;
  const ProductSchedule& s_;
  const LowerInput& in_;
  Arithmetic arithmetic_;
  Names names_;
  Params params_;
};

}  // namespace strata::compiler
