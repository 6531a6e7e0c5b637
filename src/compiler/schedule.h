#pragma once
// The schedule: how the nest of a graph is arranged. Every decision stands here as data; nest.cpp writes it down as
// loops.
#include <string>
#include <vector>

#include "compiler/graph.h"

namespace strata::compiler {

/// One step on the way from the outside of the nest to its leaf.
struct ScheduleStep {
  enum Kind : std::uint8_t {
    walk,       ///< walk driver level `level`
    run,        ///< find a run of equal coordinates in the nonunique levels level..last, entered as one
    slots,      ///< walk the positions of that run
    free_loop,  ///< plain loop over free index `index`
    tile,       ///< the tiled loop: over free index `index`, or over the contiguous level `level`
    row_tile,   ///< loop over the block level `level` in pieces of `piece`; the pieces are held in accumulators
    split,  ///< blocks that do not divide: one version for whole blocks, and a short one that tests each row for the
            ///< last
    open,   ///< accumulators are declared here and stored when everything below is done
    sum,    ///< what lies below `level` levels is summed by itself, then times the factors known here added to the sum
            ///< around it
    constant,  ///< block level `level`, unrolled where `piece` is 1
  } kind;
  int level = -1, last = -1, index = -1;
  std::int64_t piece = 0;
};

struct ProductSchedule {
  std::vector<ScheduleStep> steps;
  bool accumulate = false;  ///< there is an `open` step; otherwise every stored element adds to memory
  std::vector<int>
      times;  ///< per dense access: it multiplies the sum of what lies below so many levels (at_leaf: each element)
  std::vector<int> sums;  ///< the `sum` steps, as numbers of levels entered, ascending
  int open_times = -1;    ///< the same of the `open` step, where factors multiply its sum; otherwise -1
  static constexpr int at_leaf = 1 << 20;
  bool at_the_leaf(std::size_t access) const { return access >= times.size() || times[access] == at_leaf; }
  int block_begin = 0;    ///< levels from here on are dense with constant sizes: positions are affine in them
  std::vector<int> rows;  ///< block levels whose coordinate selects an accumulator
  std::vector<std::int64_t> row_pieces;  ///< how many coordinates of each are held at once
  int tile_index = -1, tile_level = -1;
  bool tile_sums = false;             ///< the output does not depend on the tile: its lanes are added up at the end
  int lanes = 1, vectors = 1;         ///< the main piece of the tile
  int chains = 1, unroll_level = -1;  ///< copies of the loop over this level, each with accumulators of its own
  int stream_level = -1;              ///< its crd and the values are prefetched
  bool rows_ahead = false;            ///< rows of dense operands are prefetched for elements to come
  int window_level = -1, window_index = -1;  ///< clipped by [begin, end)
  bool sliced = false;                  ///< every window walks the whole driver: level 0 from walk_begin to walk_end
  int flat_first = -1, flat_last = -1;  ///< these levels are one run of positions (schedule_flat.cpp); -1: none
  bool flat_is_read = false;            ///< somebody reads the coordinates of flat_last
  bool is_flat(int l) const { return l == flat_last && l >= 0; }
  int early_level = -1;  ///< the contiguous last level, walked before its parents: its position follows at the leaf
  Launch launch;
  bool applies_beta = false, initializes = false;  ///< initializes: a loop of its own applies beta to the window first
  bool wide_output = false, independent_batches = true;
  std::string text;
};

ProductSchedule make_schedule(const Graph& graph);
/// Readable: the loop order and what was decided.
std::string describe(const Graph& graph, const ProductSchedule& schedule);
/// Which factors multiply sums instead of elements (schedule_sums.cpp). `depth`: levels entered where the accumulators
/// open; `run`: as a run.
void find_sums(const Graph& graph, int depth, bool run, ProductSchedule& schedule);
/// Which levels at the end are one run of positions; and, once the steps stand, their walks become one.
void find_flat(const Graph& graph, ProductSchedule& schedule);
void merge_flat(ProductSchedule& schedule);
/// The first of the dense levels of constant size at the end: blocks.
int first_block_level(const Graph& graph);
/// The first later level with a pos array: what chunks of level 0 weigh. -1: none.
int weight_level(const Graph& graph);
/// Does an operand that is stored in blocks depend on this index?
bool uses_late(const Graph& graph, const DenseAccess& access, int index);
/// How many levels must be entered before one of the tiled dense operands can be kept in registers while levels below
/// repeat; all of them where that gains nothing.
int hoisted_depth(const Graph& graph, const ProductSchedule& schedule);

/// Element stride with which an access moves along a free index or a level: 0, 1, or general.
StrideKind stride_along_index(const DenseAccess& access, int index);
StrideKind stride_along_level(const Graph& graph, const DenseAccess& access, int level);

}  // namespace strata::compiler
