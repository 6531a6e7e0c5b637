#pragma once
// The nest: writes a schedule down as loop IR, step by step from the outside in.
#include <functional>
#include <map>
#include <optional>

#include "compiler/params.h"
#include "compiler/schedule.h"
#include "compiler/value.h"
#include "levels/cursor.h"

namespace strata::compiler {

/// A row with the coordinates of the one that is walked.
struct Twin {
  std::vector<std::vector<Value>>
      loaded;      ///< per dense access: its own value, where that is not the walked row's; otherwise empty
  ir::Expr apart;  ///< from a slot of the walked row to its own
};

/// What is known at one point of the nest, on the way to the leaf. Copied at every fork.
struct Place {
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
  bool alone = true, last = true;  ///< of the copies of an unrolled loop: the only one; the last one
  bool open = false;               ///< accumulators are declared: the output's address is of no interest below
  std::string met;  ///< of the sum around: a variable that says whether it has met an element; empty: nobody asks
  std::vector<char> folded;      ///< per dense access: its value is in that of another, which is known further down
  int identical = 1, twin = 0;   ///< rows that are computed together; which of them this is
  std::vector<Twin> twins;       ///< the others, once they are loaded
  ir::Expr row_slots, next_row;  ///< ... and how many slots each has, and where the walked one's end
  bool careful = false;  ///< some rows of the block lie outside: test each (once per launch: short text, not speed)
};

class Nest {
 public:
  Nest(const Graph& graph, const Schedule& schedule);
  Lowered build();

 private:
  using Body = std::function<ir::Stmt(Place)>;
  using Stmts = std::vector<ir::Stmt>;
  struct Accumulator {
    std::string re, im;
    int lanes = 1;
  };
  using Key = std::vector<std::int64_t>;  ///< row..., group, chain

  // --- nest.cpp: parameters, coordinates, addresses ---
  /// The iterations of a level that one call walks, where it does not walk them all: its chunk or slice of level 0.
  std::optional<std::pair<ir::Expr, ir::Expr>> call_span(int level);
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
  ir::Expr dim_coordinate(const Place& at, int dim,
                          int except = -1) const;               ///< null: not complete (`except`: without this level)
  ir::Expr index_coordinate(const Place& at, int index) const;  ///< null: not known yet
  bool known(const Place& at, const DenseAccess& access) const;
  int values_buffer(int operand);
  Value load(const Place& at, std::size_t access, const Group& group);
  ir::Expr batch_is_wanted(const Place& at) const;
  ir::Expr named(Stmts& out, const std::string& stem, const ir::Expr& e);
  Value keep(Stmts& out, const std::string& stem, const Value& v);
  Place start(Stmts& out);
  void initialize_window(Stmts& out);

  /// Adds a coordinate to the addresses, loads what is complete, and goes on; `rest` stands behind the tests that the
  /// coordinate needs.
  ir::Stmt enter_level(Place at, int level, const ir::Expr& coordinate, bool clipped, const Body& rest);
  ir::Stmt enter_index(Place at, int index, const ir::Expr& coordinate, const Body& rest);
  void settle(Place& at, Stmts& out);  ///< late terms and loads that have become possible

  // --- walk.cpp: levels as loops ---
  /// The positions of level flat_last that flat_first and the levels between hold below this place.
  std::pair<ir::Expr, ir::Expr> flat_span(const Place& at);
  levels::CursorInputs cursor_inputs(int level);
  /// The part of a contiguous level that lies in the tensor, as far as the dimensions it completes demand; null ends:
  /// everything.
  levels::Window clip(const Place& at, int level, bool& clipped);
  ir::Stmt emit(std::size_t step, const Place& at);
  ir::Stmt emit_level(std::size_t step, const Place& at);
  /// Loop over [first, last): `chains` copies with their own accumulators, then the rest on the first chain.
  ir::Stmt counted_loop(const std::string& stem, const ir::Expr& first, const ir::Expr& last, int chains,
                        int prefetched, const std::function<ir::Stmt(const ir::Expr&, int chain, bool last)>& body);
  ir::Stmt emit_run(std::size_t step, const Place& at);
  ir::Stmt emit_slots(std::size_t step, const Place& at);
  ir::Stmt emit_free(std::size_t step, const Place& at);
  ir::Stmt emit_row_tile(std::size_t step, const Place& at);
  ir::Stmt emit_constant(std::size_t step, const Place& at);
  ir::Stmt emit_prefetch(int level, const ir::Expr& position,
                         int iterations);  ///< for as many iterations from `position` on
  ir::Expr crd(int level, const ir::Expr& position);
  int crd_buffer(int level);
  void open_block(Place& at, Stmts& out);
  std::int64_t block_weight(int level) const;  ///< positions per coordinate of a block level
  ir::Expr limit(const Place& at, int level);  ///< first coordinate of a block level that lies outside; null: none does

  // --- tile.cpp: pieces of lanes ---
  ir::Stmt emit_tile(std::size_t step, const Place& at);
  ir::Stmt tile_piece(std::size_t step, const Place& at, const ir::Expr& first, std::vector<Group> groups);
  ir::Stmt tile_range(std::size_t step, const Place& at, const ir::Expr& first, const ir::Expr& last);
  static std::vector<Group> pieces(std::int64_t count, int lanes);
  bool depends_on_tile(const DenseAccess& access) const;
  ir::Expr tile_stride(const DenseAccess& access);

  // --- leaf_pattern.cpp: one value per slot of the driver ---
  bool is_summed(const DenseAccess& access) const;  ///< does it move along an index that is summed?
  ir::Stmt emit_pattern_open(std::size_t step, const Place& at);
  void store_together(const Place& at, std::vector<Value> parts, Stmts& out);
  ir::Stmt emit_pattern_leaf(const Place& at);
  ir::Stmt emit_pattern_row(const Place& at);
  /// slot = alpha * factors * sum + beta * slot, with the factors that the sum does not hold; `sum` may be empty.
  ir::Stmt store_slot(const Place& at, const Value* sum, std::size_t number, const Group& group);
  int slots_at_once(const Place& at) const;
  Value sum_up_several(std::vector<std::map<int, std::vector<Value>>> slots, Stmts& out);
  Value sum_in_pairs(std::vector<Value> parts, Stmts& out);
  Value sum_up(std::map<int, std::vector<Value>> by_lanes, Stmts& out);
  Value kept(Stmts& out, const std::string& stem, const Value& v);

  // --- alike.cpp: rows with the same coordinates ---
  static constexpr int identical_rows = 4;
  ir::Stmt emit_identical_rows(const Place& at, const levels::Cursor& cursor,
                               const std::function<levels::Cursor()>& open,
                               const std::function<ir::Stmt(const Place&, const levels::Cursor&)>& inside);
  std::string count_identical_rows(const std::string& row, const ir::Expr& end,
                                   const std::function<ir::Expr(const ir::Expr&)>& position, Stmts& out);
  void load_twins(Place& at, Stmts& out);
  Place twin_of(const Place& at, int number) const;

  // --- ahead.cpp: rows for elements to come ---
  /// How rows of an operand are asked for that stored coordinates choose.
  struct Asks {
    int ahead = 0;  ///< elements before they are read; 0: not at all
    bool second_level = false;
    int then = 0;   ///< and so many before into the first level too; 0: not
    int near = -1;  ///< not where they lie so near the present one; -1: everywhere
  };
  bool asks_by_order() const;
  Asks asks_of(int operand) const;
  void ask_for_row(const DenseAccess& access, const ir::Expr& row, bool second, Stmts& out);
  ir::Stmt emit_rows_ahead(const Place& at, int level, const ir::Expr& position, int elements = 1);
  /// What follows by itself, for the rows of a level to come: their own rows, and those along a diagonal.
  ir::Stmt emit_rows_in_order(const Place& at, int level, const ir::Expr& coordinate);
  /// Behind the last position of a level that this call walks; none where that is not known in front of the loops.
  std::optional<ir::Expr> last_position(int level);

  // --- sums.cpp: factors that multiply sums ---
  ir::Stmt emit_sum(std::size_t step, const Place& at);
  /// What multiplies the sum below `levels` levels, for one piece of the tile.
  Value factor_of(const Place& at, int levels, const Group& group, Stmts& out);
  ir::Stmt scale_accumulators(const Place& at, int levels, const std::vector<Group>& groups);
  bool is_waiting(std::size_t access) const { return !s_.at_the_leaf(access); }
  /// Multiplies a value that has become known by those known above, where levels below repeat.
  void fold(Place& at, std::size_t access, Stmts& out);

  // --- leaf.cpp: products, accumulators, stores ---
  ir::Stmt emit_split(std::size_t step, const Place& at);
  ir::Stmt emit_open(std::size_t step, const Place& at);
  ir::Stmt emit_leaf(const Place& at);
  ir::Expr slot(const Place& at) const;  ///< position of the driver's leaf
  ir::Stmt store_all(const Place& at, bool read);
  ir::Stmt update_output(const ir::Expr& index, const Value& value, int lanes, bool read, bool scale);
  Value accumulator(const Accumulator& a) const;
  Key key(const Place& at, std::int64_t group) const;
  std::int64_t group_id(std::size_t number, const Group& group) const;
  struct Slot {
    Key key;
    Group group;
  };
  std::vector<Group> accumulator_groups(const Place& at) const;
  void for_each_row(const Place& at, const std::function<void(Place)>& f) const;

  const Graph& g_;
  const Schedule& s_;
  const LowerInput& in_;
  Arithmetic arithmetic_;
  Names names_;
  Params params_;
  Value alpha_, beta_;
  ir::Expr alpha_is_one_, beta_is_one_;  ///< complex only: 1 + 0i times Inf would put a NaN beside it
  int output_ = 0;
  DType output_storage_;
  struct Waiting {
    std::vector<ir::Expr> sums;
    ir::Expr first_slot;
  };
  std::map<int, Waiting> waiting_;  ///< sums of slots that are reduced together, by twin
  std::map<Key, Accumulator> accumulators_;
};

}  // namespace strata::compiler
