#pragma once
// Lowering: an einsum over operand types becomes one loop nest in IR.
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "strata/expr.h"

namespace strata {

/// What a kernel parameter stands for: run() gathers these from the operands.
struct BufferBinding {
  enum Kind : std::uint8_t { pos, crd, values, output, alpha, beta } kind;
  int operand = 0, part = 0, level = 0;
};
struct ScalarBinding {
  enum Kind : std::uint8_t { extent /*of index*/, dim_extent, level_lo, level_size, level_extent, stride /*all-dense: of level; output: of dimension*/,
                             offset, value_stride, pos_stride, crd_stride, values_batch_stride } kind;
  int operand = 0, part = 0, level = 0;  ///< operand -1: the output
};

/// How the rows of the outermost loop are cut into chunks. Depends on the problem, never on the number of threads.
struct Launch {
  enum Kind : std::uint8_t {
    serial,         ///< one chunk: [0, 1)
    outer_uniform,  ///< chunks of the outermost loop's range, equal counts
    outer_weighted, ///< ... with equal stored elements: weights from pos of `weight_level`
    outer_aligned,  ///< chunks of positions of a sorted nonunique first level, cut where its coordinate changes
    output_window,  ///< each chunk owns a slice of output dimension 0
  } kind = serial;
  int weight_level = -1;
};

/// A lowered kernel: computes out += alpha * einsum into an output that run() prepared (scaled by beta), or out = alpha * einsum + beta * out
/// where `writes_once` (every output element is stored exactly once by the kernel itself).
struct Lowered {
  ir::Function function;
  std::vector<BufferBinding> buffers;
  std::vector<ScalarBinding> scalars;
  Launch launch;
  bool writes_once = false;
  std::string schedule;   ///< readable: the loop order and what was decided
  std::string graph;      ///< readable iteration graph
};

struct LowerInput {
  Einsum einsum;
  std::vector<TensorType> operands;   ///< the sparse ones may have several parts: the driver is operands[driver]
  std::vector<std::vector<std::vector<int>>> unit_strides;  ///< (reserved)
  TensorType output;                  ///< all-dense
  DType compute = DType::f64;         ///< accumulators
  int driver = 0;                     ///< the operand whose stored elements are walked
  int part = 0;                       ///< which part of the driver
};

/// Lowers, or says why it cannot (`why`).
std::optional<Lowered> lower(const LowerInput& input, std::string& why);

}  // namespace strata
