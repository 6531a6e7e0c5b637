#pragma once
// Blocks of memory for buffers: aligned, with huge pages where large, reused where large, and able to fail on demand.
#include <cstddef>
#include <cstdint>
#include <new>

namespace strata {

/// std::bad_alloc that says how much was asked for.
class OutOfMemory : public std::bad_alloc {
 public:
  /// `bytes` below 0: more than can be counted.
  explicit OutOfMemory(std::int64_t bytes) noexcept;
  const char* what() const noexcept override { return message_; }

 private:
  char message_[64] = "out of memory: more bytes asked for than can be counted";  // no string: that would allocate
};

/// A block of at least `bytes` bytes, aligned to 64 bytes (to 2 MB from 2 MB on); never null, also for 0 bytes.
/// Not initialised (debug builds fill it with 0xA5). Throws OutOfMemory.
void* allocate_block(std::size_t bytes);
/// Gives back a block of allocate_block; `bytes` is what was asked for.
void release_block(void* block, std::size_t bytes) noexcept;
/// Large blocks are kept for the next request of about their size (first touch of fresh memory costs more than most
/// kernels). This returns what is kept to the system.
void clear_block_cache() noexcept;
/// Bytes that are kept for reuse right now.
std::size_t cached_block_bytes() noexcept;

namespace testing {
/// The n-th allocation from now fails with std::bad_alloc, once; 0 switches this off. STRATA_FAIL_ALLOCATION=n does the
/// same from the start of the process.
void fail_allocation(std::int64_t n) noexcept;
/// Blocks handed out and not yet given back: the same before and after a call that cleaned up.
std::int64_t blocks_in_use() noexcept;
}  // namespace testing

}  // namespace strata
