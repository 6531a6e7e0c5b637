#pragma once
// What one kernel computes: a sum, over some indices, of an elementwise tree.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/last_made.h"
#include "compiler/merge.h"
#include "plan/aligned_copy.h"
#include "plan/asked.h"
#include "strata/schedule.h"

namespace strata::direct {

/// An operand under an access; the mask is one too.
struct Access {
  std::string name;
  Lazy tensor;
  std::vector<int> indices;  ///< per dimension: number of the index, each once
  bool dense = false;        ///< a value everywhere
  int twin = -1;             ///< an access before it under the same indices, of the same elements with other values
  bool has(int index) const { return std::ranges::find(indices, index) != indices.end(); }
};

/// sum of coefficient * coordinate of an index < extent: places beyond are no part of the problem.
template <class Index> struct IndexBound {
  std::vector<std::pair<Index, std::int64_t>> terms;
  std::int64_t extent = 0;
};

/// A summed index that moves the place in a dense result as well, outside of the result's own: by so much for each of
/// its coordinates, and by an offset.
template <class Index> struct Skew {
  Index index;
  std::int64_t stride = 0, offset = 0;
};

/// `nodes`, `mask` and the rest of the computation count accesses.
struct Unit : merging::Computation {
  std::vector<Access> accesses;         ///< in the order of ElementwiseNode::operand, the mask last
  std::vector<std::int64_t> extents;    ///< per index
  std::vector<std::string> names;       ///< of the indices, for explain()
  std::vector<char> summed;             ///< per index
  std::vector<char> inside;             ///< per index: it counts within a block, inside all loops over blocks
  std::vector<std::int64_t> constants;  ///< per index: an extent that a kernel may be made for, or 0
  std::vector<IndexBound<int>> bounds;
  std::vector<std::int64_t> strides;  ///< of a dense result, where it is not row-major; per dimension
  std::int64_t size = 0;              ///< ... its elements
  std::optional<Skew<int>> skew = {};
  std::vector<int> output;     ///< indices of the result's dimensions
  DType dtype = DType::f64;    ///< of the result: f16 and bf16 are computed in f32
  bool everywhere = false;     ///< dense operands give the root a value at every place
  bool drops_fill_in = false;  ///< fill-in is missing: it is no value of a semiring

  bool is_output(int index) const { return !summed[static_cast<std::size_t>(index)]; }
  /// Is it part of a sum that stays below a bound?
  bool is_bounded(int index) const {
    return std::ranges::any_of(bounds, [&](const auto& b) {
      return std::ranges::any_of(b.terms, [&](const auto& term) { return term.first == index; });
    });
  }
  /// Does no sparse operand have this index?
  bool is_of_dense_alone(int index) const {
    return std::ranges::all_of(accesses, [&](const Access& a) { return a.dense || !a.has(index); });
  }
};

/// The unit of an assignment of plain accesses without inner reductions, or why it is none.
std::optional<Unit> make_unit(const Assignment& a, const Operands& operands, const Asked& options, std::string& why);

/// What a user asks of the loops.
struct Constraints {
  bool given = false;                ///< is there a schedule?
  std::vector<std::string> order;    ///< these from the outside in
  std::string outermost, innermost;  ///< of all; "": any
  std::vector<std::string> unrolled;
  std::optional<ResultAssembly> assembly;
};

/// Dimensions in storage order where all levels are dense or compressed, unique and ordered; otherwise nothing.
std::optional<std::vector<int>> storage_order(const Format& f);
/// ... where loops over several operands walk all levels in place: their coordinates ascend, unless it is `alone`, and
/// no two elements share all of them.
std::optional<std::vector<int>> loop_order(const Format& f, bool alone = false);

/// A dense access whose rows the positions of a level of another one choose.
struct AlignedRows {
  std::size_t access = 0, driver = 0, level = 0;
  planning::AlignedCopy copy;
};

/// What the order of a pattern's rows may change.
struct RowsInOrder {
  bool may_be_identical = false;  ///< rows with the same coordinates can be computed together
  std::int64_t row_bytes = 0;     ///< of the longest rows of dense operands that are prefetched by it; 0: none are
  std::int64_t bytes = 0;         ///< of the largest of these operands
};

/// A dense access that is summed in panels; packed, or read where it lies.
struct PanelSide {
  std::size_t access;
  bool packed;
};
/// The innermost sum so many terms at a time.
struct SumPanels {
  int index = -1;
  std::int64_t width = 0;
  std::vector<PanelSide> sides = {};
  std::int64_t worth = 0;  ///< stored elements from which on it pays
};

struct FittedNest;
struct Flat;

/// In which order the indices are looped over, and how the operands must be stored for that.
struct Order {
  std::vector<int> indices;                    ///< outermost first
  std::vector<std::optional<Format>> convert;  ///< per access: to this format first
  bool dense_result = false, dense_top = false;
  int pattern = -1;  ///< the result is this access's tensor with other values,
  enum Slots : std::uint8_t {
    nested,
    alone,
    in_rows
  } slots = nested;           ///< ... by loops; one over all, of stored values alone, or of values of their rows too
  int dense_tail = 0;         ///< of the result's last indices: a dense block below each element
  merging::Blocks blocks;     ///< the result is assembled in these
  int along = -1;             ///< dense result: strips of its diagonals, whose places count this dimension
  double diagonals = 0;       ///< ... about so many
  int tile = -1;              ///< dense result: this index is taken in vectors, which stay in registers
  std::vector<int> held;      ///< dense result: all places of these in a block stay in registers while sums run
  bool lanes_of_sum = false;  ///< ... and the innermost index is taken in vectors, which are added up behind it
  std::vector<AlignedRows> aligned;  ///< vectors of these are loaded for every element
  RowsInOrder rows;                  ///< of the pattern
  std::optional<SumPanels> panels;   ///< long sums in slots, where it pays
  double visits = 0;                 ///< about how often the innermost body runs
  double cost = 0;                   ///< ... and how many ns all takes
  std::vector<merging::Hint> hints;  ///< per index
  LastMade<FittedNest> fitted;       ///< for operands as they were stored
  LastMade<Flat> flat;               ///< `alone`: for so many slots

  /// Is the tile no sum, but what the loops behind it add to rows of the result?
  bool adds_tile(const Unit& u) const { return tile >= 0 && u.is_output(indices.back()); }
  /// The twin whose loops access k shares, or -1.
  int shared(const Unit& u, std::size_t k) const {
    const int twin = u.accesses[k].twin;
    return twin >= 0 && !convert[static_cast<std::size_t>(twin)] && !convert[k] ? twin : -1;
  }
};

/// Do so many terms come to each place of the result, as a mean, that float32 would keep half the digits of their sum?
bool sums_long(const Unit& unit, const Order& order);
/// Values of this dtype in a vector of this machine.
int lanes_of(DType t);

/// Why the order converts this access first.
std::string reason_to_convert(const Unit& unit, const Order& order, std::size_t access);

/// About how many diagonals the result has; nothing where no operands give it any.
std::optional<double> about_diagonals(const Unit& unit);
/// The diagonals (column - row) that its elements may lie on, ascending, of these operands of its accesses; nothing
/// where that is not known, or there are many.
std::optional<std::vector<std::int64_t>> diagonals_of_result(const Unit& unit, std::span<const Tensor> operands);
/// Are strips of so many diagonals of this length small beside the work?
bool strips_fit(double diagonals, double length, double visits);

/// The order that promises the least work and grants the constraints; `wanted`: the format of the result. `strips`: may
/// it be gathered by diagonals?
std::optional<Order> choose_order(const Unit& unit, const Format& wanted, const Constraints& constraints, bool strips,
                                  std::string& why);

/// Runs the unit on the operands of its accesses; the result in a format that lies at hand, in dtype `compute`. Nothing
/// where it has more diagonals than strips are worth, or where accesses that were taken for twins have other elements.
std::optional<Tensor> run_unit(const Unit& unit, const Order& order, std::span<const Tensor> operands);
/// The same into row-major memory that the operands do not share, of dtype `compute` as beta is, which multiplies what
/// that holds: 0 never reads it.
std::optional<Tensor> run_unit_into(Buffer memory, const Scalar& beta, const Unit& unit, const Order& order,
                                    std::span<const Tensor> operands);
/// The numeric phase of such a run, over the pattern of an earlier result. Nothing there too, where there is no such
/// phase, and where the result has another pattern.
std::optional<Tensor> run_unit_in_pattern_of(const Tensor& earlier, const Unit& unit, const Order& order,
                                             std::span<const Tensor> operands);
/// Why there is none over results of this format; "" where there is one.
std::string no_numeric_phase(const Unit& unit, const Order& order, const Format& wanted);
/// The unit as text; `code`: with loop IR and C text.
std::string describe_unit(const Unit& unit, const Order& order, const Format& wanted, bool code = false);
/// The kernel as a C file for an expression that is written so.
std::string emit_unit(const Unit& unit, const Order& order, const std::string& expression);
/// The kernels that its results may take, whatever its operands store, but for what the order of a pattern's rows
/// chooses: to be compiled ahead of time.
std::vector<ir::Function> functions_of(const Unit& unit, const Order& order);
/// A main() for that file, where the result is dense, which calls its function, `name`, on operands of `tiny`: the same
/// unit with other extents. Unsupported: values that C has no plain type for.
std::string emit_main(const Unit& unit, const Order& order, const Unit& tiny, std::span<const Tensor> operands,
                      const std::string& name, const Tensor& expected);

}  // namespace strata::direct
