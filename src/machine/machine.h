#pragma once
// What is known of the processor that this runs on: found by asking it, and measured on its kind. Whatever depends on
// it reads it here.
#include <cstdint>
#include <span>

namespace strata {

/// What rows of CSR cost in a product with a vector, in quarters of what four elements take.
struct RowCosts {
  std::int64_t masked;       ///< four under a mask
  std::int64_t end;          ///< the end of a row that takes as many as it has,
  std::int64_t wrong;        ///< and a length of it that a core guessed wrong
  std::int64_t over;         ///< a row that is longer than it was given: entering the loop, and leaving it
  std::int64_t singles = 0;  ///< four elements one by one; 0: not measured
};

enum class ByOrder : std::uint8_t { never, along, always };

struct Machine {
  const char* kind;  ///< the processors that these were measured on

  // --- prefetching rows of a dense matrix that a sparse one chooses, where the second level does not hold it ---
  /// Does it depend on their order (base/row_order.h)? Rows of a mesh or a band, which follow a diagonal: where that
  /// goes on (along). Other rows that follow those of the row before (blocks): early, into the second level; no order:
  /// into that level and then into the first, from twice_bytes on (always).
  ByOrder rows_by_order;
  /// Otherwise, bytes of the dense matrix from which on rows in no order are prefetched earlier, into the second level,
  std::int64_t scattered_bytes;
  /// those too of a sparse matrix that a cache holds, and those of a wide stencil, which come from memory each time.
  bool scattered_anywhere;
  /// In generated code: elements ahead, whether into the second level, and rows so close to the present one that they
  /// are not prefetched, being in a cache or on their way (-1: all are).
  int rows_ahead;
  bool rows_second_level;
  int rows_near;

  // --- elements of a vector ---
  bool fast_gathers;  ///< faster than loads one by one
  /// Bytes of a vector from which on its elements, chosen in no order by a matrix that streams by, are prefetched (or
  /// what the second level holds, if that is more); then the same where rows have 32 bytes of values at most.
  std::int64_t vector_bytes_far, vector_bytes_of_short_rows;
  bool vector_second_level;  ///< ... into that
  /// Bytes of a matrix, values and columns, from which on it streams by a vector. 0: of values alone, as by a matrix.
  std::int64_t streamed_bytes;
  RowCosts row_costs[2][2];  ///< of float32, of float64; where a core does not wait for the vector, and where it does

  // --- found ---
  int vector_bytes = 16;                  ///< of registers that generated code uses
  std::int64_t first_level = 32 << 10;    ///< bytes of data that a core holds
  std::int64_t second_level = 512 << 10;  ///< the same; half of it holds what is used again, beside what streams by
};

/// This one.
const Machine& machine();
/// All that were measured, with nothing found.
std::span<const Machine> known_machines();

/// Bytes of a vector that lies in no cache that a core can count on: a third level is shared.
inline constexpr std::int64_t far_bytes = 7 << 20;

namespace testing {
/// machine() is another one while this lives. Kernels in use keep what they were made for.
class UseMachine {
 public:
  explicit UseMachine(const Machine& one);
  ~UseMachine();
  UseMachine(const UseMachine&) = delete;
  UseMachine& operator=(const UseMachine&) = delete;

 private:
  const Machine* before_;
};
}  // namespace testing

}  // namespace strata
