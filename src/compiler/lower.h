#pragma once
// Lowering: an einsum over operand types becomes one loop nest in IR.
//
// lower() compiles for ONE part of ONE driver operand, whose stored elements are walked in storage order; all other
// operands and the output are all-dense (any strides). The text depends on shapes only through: divisibility by the
// constants of the driver's format, extents of 1 that broadcast, and free extents up to 128 (constants, where
// `specialize`).
//
// What run() does with a LoweredProduct (the whole contract):
//   for each part of the driver: a LoweredProduct of its own; beta applies to the first, later parts run with beta = 1;
//   gather `buffers` and `scalars` by their bindings, in order;
//   unless `applies_beta`: first out = beta * out (beta 0 stores zeros and never reads);
//   `wide_output`: hand the kernel a temporary row-major output of dtype `compute` (zeros, or beta * out in it) and
//   beta = 1, and
//     store it narrowed into out afterwards. Output strides and offset are then those of the temporary;
//   for each batch of the driver (flattened, row-major; one where there are no batch levels or the driver is
//   all-dense): rebase the driver's pos, crd and values pointers by
//     batch * pos_strides[level], crd_strides[level] (in elements of the buffers: bytes of packed levels, words of
//     bitmaps), values_batch_stride; set the batch_coordinate scalars; run the chunks of `launch`. Chunks are
//     independent but for outer_scatter. Batches are independent of one another where `independent_batches`; otherwise
//     one follows the other.
// Values of a sparse driver stand at slot * 1, or at 0 for all slots where its type says shared_value: other strides
// must be copied first. `pattern_output`: the result has the driver's pattern. Its values stand slot by slot as the
// driver's do; `output` is bound to their
//     start, is rebased by batches as the driver's values are, has no strides, and every part has values of its own (so
//     beta applies to each). Slots outside of the tensor are not written. Where a summed extent is 0, run() stores beta
//     * out itself: such a sum is 0 whatever the driver holds.
// Status 0 is success; generated kernels have no other.
#include <optional>
#include <string>
#include <vector>

#include "compiler/binding.h"
#include "strata/expr.h"

namespace strata {

/// How a kernel is cut into chunks f(begin, end). Cuts depend on the problem, never on the number of threads.
///
/// The domain of the outer_* kinds is [0, N), N the iterations of the driver's `level` (its first that is not a batch):
///   dense:       N = part.ranges[level].size
///   compressed:  N = pos[level][1]
/// Cuts are multiples of `granule`, except for the last. Weight of the first x iterations, where weight_level >= 0:
///   x + pos[weight_level][x * f],  f = product over the levels strictly between of: dense, range: ranges[l].size;
///   structured, padded: its arg (n, k); singleton: 1. Otherwise every iteration weighs the same.
struct Launch {
  enum Kind : std::uint8_t {
    serial,          ///< one call: f(0, 1)
    outer_uniform,   ///< any cuts; chunks write disjoint elements of the output
    outer_weighted,  ///< the same, cut at equal weights
    outer_aligned,   ///< the same (level is compressed, ordered, nonunique): cut only at x where crd[level][x] !=
                     ///< crd[level][x - 1]
    outer_scatter,   ///< chunks add to the same output: one call f(0, N); or, per chunk, a zeroed copy of the output
                     ///< (the kernel never applies beta here), added to out in chunk order: at most 8, while copies *
                     ///< output size <= nse / 4
    output_window,   ///< domain [0, extent of output dimension `output_dim`): a chunk writes only that slice of the
                     ///< output. One call f(0, extent) is right as well. `window_clips`: a window costs what its share
                     ///< of the output costs (cut into pieces of `preferred`); otherwise every window walks the whole
                     ///< driver, so few of them pay
  } kind = serial;
  int level = -1;
  int weight_level = -1;
  int output_dim = -1;
  bool window_clips = false;
  std::int64_t granule = 1;
  std::int64_t preferred = 0;  ///< chunk length that suits the caches (0: no opinion)
};

/// A lowered kernel. `applies_beta`: it computes out = alpha * einsum + beta * out itself, chunk by chunk (beta 0 never
/// reads out); otherwise out += alpha * einsum.
struct LoweredProduct : BoundFunction {
  Launch launch;
  bool applies_beta = false;
  bool wide_output = false;  ///< accumulates in memory in a dtype wider than the output's
  bool independent_batches = true;
  std::vector<int>
      free_indices;  ///< indices that only dense operands have: work per stored element is the product of their extents
  std::string schedule;  ///< readable: the loop order and what was decided
  std::string graph;     ///< readable iteration graph
};

/// The machine to compile for, as far as the schedule cares.
struct Target {
  int vector_bytes = 32;  ///< 64: AVX-512, 32: AVX2, 16: anything else, 0: scalar code only
  int rows_ahead = 64;    ///< elements between asking for a row of a dense operand and reading it
  bool rows_second_level =
      true;  ///< they are asked for into the second level, which waits for more lines at a time than the first
  int rows_near = 32;  ///< rows so close to the present one are not asked for: they are in a cache, or on their way
                       ///< (bands, blocks); -1: all are
  bool operator==(const Target&) const = default;
};
/// What this machine has.
Target host_target();

struct LowerInput {
  Einsum einsum;
  std::vector<TensorType> operands;  ///< all but the driver are all-dense; the driver may have several parts
  TensorType output;           ///< all-dense, plain dimensions as levels; its `strides` say which one has unit stride
  DType compute = DType::f64;  ///< accumulators: f64, f32, an integer, boolean, c64 or c128
  int driver = 0;              ///< the operand whose stored elements are walked
  int part = 0;                ///< which part of the driver
  Target target = {};
  bool specialize = true;  ///< free extents up to 128 become constants
  bool optimize = true;    ///< false: the plain nest (every stored element adds to memory), the check of all others
};

/// Lowers, or says why it cannot (`why`).
std::optional<LoweredProduct> lower(const LowerInput& input, std::string& why);

}  // namespace strata
