#pragma once
// What the parameters of a generated kernel stand for: who runs it binds them, see execute/arguments.h.
#include <string>
#include <vector>

#include "ir/ir.h"

namespace strata {

/// What a kernel's buffer parameter stands for. Complex values are declared as twice as many floats: the pointer is the
/// same.
struct BufferBinding {
  enum Kind : std::uint8_t {
    pos,
    crd,         ///< of `level` of `operand`'s part
    values,      ///< of `operand`: the start of its values buffer (all-dense: the offset scalar is added by the kernel)
    output,      ///< the result: dense memory, the values of one in a pattern, the strips of one by diagonals;
                 ///< assembled: the chunk's values
    out_crd,     ///< assembled: the chunk's coordinates of a level
    out_pos,     ///< assembled: i64, the chunk's ends of the children of each element one level up
    out_counts,  ///< assembled with a dense top: i64 children per coordinate, shared by all chunks
    out_sizes,   ///< assembled: i64 per level, what has been appended, in and out (beyond the capacity: what would have
                 ///< been); numeric phase: what stands before the chunk
    out_strips,  ///< by diagonals: i32, the strip of each diagonal from the lowest one on, that of column - row = 1 -
                 ///< rows
    out_met,     ///< u8, the chunk's: 1 for each strip that a value was put into
    row_values,  ///< the workspace: a value, or a block, per coordinate of its variable, all `absent` between rows
    row_bits,    ///< level 0: a bit per coordinate; 1: a bit per word of 0; 2: a bit per word of 1. i64, all 0
    row_slots,  ///< numeric phase: the slot of each coordinate of the workspace's variable, or one before the row's; -1
    row_met,    ///< ... u8 per slot of a row: a value came to it. All 0 between rows
    row_mask    ///< a bit per coordinate of the workspace's variable: what the mask stores there. i64, all 0
  } kind = pos;
  int operand = 0, level = 0;  ///< operand -1: the result, or the workspace
  bool operator==(const BufferBinding&) const = default;
};

/// What an i64 parameter stands for.
struct ScalarBinding {
  enum Kind : std::uint8_t {
    extent,        ///< of loop variable `level`
    bound,         ///< the extent of bound `level`
    level_size,    ///< part.ranges[level].size
    level_slots,   ///< padded: k
    stride,        ///< operand >= 0: part.strides[level] of an all-dense operand (in elements); operand -1: of loop
                   ///< variable `level`
    offset,        ///< operand >= 0: values_offset; operand -1: of the output
    walk_begin,    ///< of loop variable `level`, where it is cut as well as the first: 0, and
    walk_end,      ///< ... its coordinates; or any part of them
    pos_stride,    ///< of batches: part.pos_strides[level],
    crd_stride,    ///< part.crd_strides[level],
    batch_stride,  ///< part.values_batch_stride
    lead,     ///< how far behind a row's own number lies the row of a dense operand that it asks for (RowOrder::along)
    capacity  ///< assembled: of the chunk's arrays of `level` of the result; numeric phase: where the chunk
              ///< ends in those of the earlier result
  } kind = extent;
  int operand = 0, level = 0;  ///< operand -1: the result
  bool operator==(const ScalarBinding&) const = default;
};

/// Loop IR, and what it is called with, in the order of its parameters.
struct BoundFunction {
  ir::Function function;
  std::vector<BufferBinding> buffers;
  std::vector<ScalarBinding> scalars;
};

}  // namespace strata
