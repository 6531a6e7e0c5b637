#include "backend/allocator.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

namespace strata {
namespace {

constexpr std::size_t line = 64, large = std::size_t{2} << 20;

// The address sanitizer must see every block end its life, so nothing is kept back in its builds.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool reuse = false;
#elif defined(__has_feature)
constexpr bool reuse = !__has_feature(address_sanitizer);
#else
constexpr bool reuse = true;
#endif

std::atomic<std::int64_t> in_use{0};
std::atomic<std::int64_t> countdown{[] {
  const char* text = std::getenv("STRATA_FAIL_ALLOCATION");
  return text ? std::int64_t{std::atoll(text)} : 0;
}()};

bool told_to_fail() {
  if (countdown.load(std::memory_order_relaxed) <= 0) return false;
  return countdown.fetch_sub(1, std::memory_order_relaxed) == 1;
}

std::size_t rounded(std::size_t bytes) {
  const std::size_t unit = bytes >= large ? 4096 : line;
  if (bytes > SIZE_MAX - unit) throw OutOfMemory(-1);
  return std::max(line, (bytes + unit - 1) / unit * unit);
}

/// A few large blocks, oldest first. Bounded in number and in bytes, so that a program never holds much it does not
/// use.
class BlockCache {
 public:
  void* take(std::size_t bytes) {
    std::lock_guard lock(mutex_);
    int best = -1;
    for (int k = 0; k < count_; ++k)
      if (blocks_[at(k)].bytes >= bytes && blocks_[at(k)].bytes - bytes <= bytes / 8 &&
          (best < 0 || blocks_[at(k)].bytes < blocks_[at(best)].bytes))
        best = k;
    if (best < 0) return nullptr;
    void* block = blocks_[at(best)].block;
    remove(best);
    return block;
  }
  /// Keeps the block; older ones make room, and one that is larger than everything we may keep is freed.
  void put(void* block) {
    const std::size_t bytes = malloc_usable_size(block);  // it may have served a smaller request than its own size
    CachedBlock out[limit + 1];
    int freed = 0;
    {
      std::lock_guard lock(mutex_);
      if (bytes > budget()) {
        out[freed++] = {block, bytes};
      } else {
        while (count_ == limit || total_ + bytes > budget()) {
          out[freed++] = blocks_[0];
          remove(0);
        }
        blocks_[at(count_++)] = {block, bytes};
        total_ += bytes;
      }
    }
    for (int k = 0; k < freed; ++k) std::free(out[k].block);
  }
  void clear() {
    std::lock_guard lock(mutex_);
    for (int k = 0; k < count_; ++k) std::free(blocks_[at(k)].block);
    count_ = 0;
    total_ = 0;
  }
  std::size_t total() {
    std::lock_guard lock(mutex_);
    return total_;
  }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int limit = 8;
  struct CachedBlock {
    void* block = nullptr;
    std::size_t bytes = 0;
  };
  static std::size_t at(int k) { return static_cast<std::size_t>(k); }
  std::size_t budget() const { return budget_; }
  void remove(int k) {
    total_ -= blocks_[at(k)].bytes;
    std::move(blocks_.begin() + k + 1, blocks_.begin() + count_, blocks_.begin() + k);
    --count_;
  }
  std::mutex mutex_;
  const std::size_t budget_ =
      std::min<std::size_t>(std::size_t{1} << 30, static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) / 16 *
                                                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  std::array<CachedBlock, limit> blocks_;
  int count_ = 0;
  std::size_t total_ = 0;
};

BlockCache& kept() {
  // Leaked: buffers may be released by destructors that run after ours. The lock is held across fork, so that the child
  // never finds it taken by a thread that it does not have.
  static BlockCache* instance = [] {
    static BlockCache* k = new BlockCache;
    pthread_atfork([] { k->lock(); }, [] { k->unlock(); }, [] { k->unlock(); });
    return k;
  }();
  return *instance;
}
/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const BlockCache& made_early = kept();

}  // namespace

OutOfMemory::OutOfMemory(std::int64_t bytes) noexcept {
  const double gb = static_cast<double>(bytes) / 1e9;
  if (bytes >= 0)
    std::snprintf(message_, sizeof message_, "out of memory: cannot allocate %.*f GB", gb < 1 ? 3 : 1, gb);
}

void* allocate_block(std::size_t bytes) {
  const auto fail = [&] { throw OutOfMemory(static_cast<std::int64_t>(bytes)); };
  if (told_to_fail()) fail();
  const std::size_t size = rounded(bytes);
  void* block = reuse && size >= large ? kept().take(size) : nullptr;
  if (!block) {
    const std::size_t alignment = size >= large ? large : line;
    if (posix_memalign(&block, alignment, size) != 0) {
      if (!reuse || cached_block_bytes() == 0) fail();
      clear_block_cache();
      if (posix_memalign(&block, alignment, size) != 0) fail();
    }
    // First touch runs at 2 GB/s with 4-KB pages and at 14-28 GB/s with huge ones.
    if (size >= large) madvise(block, size, MADV_HUGEPAGE);
  }
#ifndef NDEBUG
  std::memset(block, 0xA5, size);
#endif
  in_use.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void release_block(void* block, std::size_t bytes) noexcept {
  if (!block) return;
  in_use.fetch_sub(1, std::memory_order_relaxed);
  const std::size_t size = rounded(bytes);
  if (reuse && size >= large) kept().put(block);
  else std::free(block);
}

void clear_block_cache() noexcept { kept().clear(); }
std::size_t cached_block_bytes() noexcept { return kept().total(); }

namespace testing {
void fail_allocation(std::int64_t n) noexcept { countdown.store(n, std::memory_order_relaxed); }
std::int64_t blocks_in_use() noexcept { return in_use.load(std::memory_order_relaxed); }
}  // namespace testing

}  // namespace strata
