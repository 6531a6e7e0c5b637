#pragma once
// One kernel over several operands at work: what it is called with, where its outermost loop is cut, and which of five
// kinds its result is of. Whoever makes a job has decided everything; running it decides nothing.
#include <optional>
#include <variant>
#include <vector>

#include "compiler/merge.h"
#include "execute/assembly.h"
#include "execute/executable.h"

namespace strata::execution {

/// Strided memory.
struct DenseResult {
  std::int64_t size = 0;              ///< elements
  std::vector<std::int64_t> strides;  ///< per loop variable
  std::int64_t offset = 0;            ///< of coordinates that are all 0: places before them may not be reached
  std::optional<Scalar> start;        ///< what it holds before; none: the kernel stores everywhere, or joins
  std::optional<Buffer> onto = {};    ///< this memory; none: fresh
  std::int64_t in_turn = 1;           ///< so many chunks go one after the other: they add to the same places
  bool apart = false;                 ///< each such group has a result of its own: all are combined in their order
  merging::Combine combine = merging::Combine::plus;
};

/// The values of a pattern that is there.
struct SlotResult {
  std::int64_t size = 0;
  std::optional<Buffer> onto = {};   ///< these values, which the kernel joins its own to; none: fresh ones
  std::optional<Scalar> start = {};  ///< what fresh slots hold that the kernel steps over; none: it steps over none
  /// Chunks are of slots of this operand, a matrix by rows, and operands `of_rows` have a value for each row, which the
  /// kernel reads slot by slot.
  int pattern = -1;
  std::vector<int> of_rows = {};
};

/// A strip for each diagonal of a matrix that a value may come to; those that none came to are left out.
struct StripResult {
  std::vector<std::int64_t> diagonals;  ///< column - row, ascending
  std::int64_t rows = 0, columns = 0, length = 0;
};

/// Levels that are appended to, piece by piece.
struct AssembledResult : LevelAssembly {
  struct ChunkShare {
    std::int64_t first = 0, last = 0;    ///< these chunks, one after the other
    std::vector<std::int64_t> capacity;  ///< per level, to begin with
    std::int64_t offset = 0;             ///< of its values in `whole`
  };
  std::vector<ChunkShare> shares;
  std::int64_t whole = -1;      ///< memory for so many values, of which the pieces have parts; -1: each has its own
  std::int64_t workspace = -1;  ///< values, or blocks of them, between two rows; -1: none
  bool holds_mask = false;      ///< a bit for each of them beside it
};

/// The numeric phase: the values of an earlier result's pattern, row by row. (That result is the last operand.)
struct NumericResult {
  std::int64_t size = 0;                        ///< values
  std::vector<std::vector<std::int64_t>> ends;  ///< per cut, per level: elements of the pattern before it
  std::vector<std::int64_t> shares;             ///< chunks from one of these to the next go one after the other
  std::int64_t workspace = -1;                  ///< coordinates of a row; -1: none
  DType slots = DType::i32;                     ///< ... a slot for each
  bool holds_mask = false;                      ///< ... a bit for each
};

struct Job {
  const BoundFunction& function;
  const Executable& executable;
  Inputs in;
  Scalar absent;  ///< what combining leaves as it is; in the dtype of the result's values
  std::vector<std::int64_t> cuts;
  /// Where another loop is cut too, in place of `cuts`: a chunk is for these coordinates of both.
  struct Window {
    std::int64_t begin, end, other_begin, other_end;
  };
  std::vector<Window> windows = {};
  std::variant<DenseResult, SlotResult, StripResult, AssembledResult, NumericResult> result;

  std::int64_t chunks() const { return static_cast<std::int64_t>(windows.empty() ? cuts.size() - 1 : windows.size()); }
};

/// The arrays of the result: its values alone where it is dense or in a pattern. Nothing: the pattern of a numeric
/// phase is another.
std::optional<RawArrays> run(const Job& job);

}  // namespace strata::execution
