#pragma once
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace strata {

/// Where each of several pieces begins in what they make together, while threads still make them: known as soon as all
/// before it have their sizes. Threads take pieces in order, so that they hardly ever hold more than one that has no
/// place yet.
class PieceStarts {
 public:
  explicit PieceStarts(std::int64_t pieces) : ends_(static_cast<std::size_t>(pieces) + 1, unknown) { ends_[0] = 0; }

  /// The first piece that nobody has taken.
  std::int64_t take() { return taken_.fetch_add(1, std::memory_order_relaxed); }

  void set_size(std::int64_t piece, std::int64_t size) {
    const std::lock_guard lock(mutex_);
    ends_[static_cast<std::size_t>(piece) + 1] = size;
    for (; known_ + 1 < ends_.size() && ends_[known_ + 1] != unknown; ++known_) ends_[known_ + 1] += ends_[known_];
  }

  /// The number of pieces asks where all of them end.
  std::optional<std::int64_t> start(std::int64_t piece) const {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::size_t>(piece) > known_) return std::nullopt;
    return ends_[static_cast<std::size_t>(piece)];
  }

 private:
  static constexpr std::int64_t unknown = -1;
  mutable std::mutex mutex_;
  std::vector<std::int64_t> ends_;  ///< of the piece before each; sizes where it is not known yet
  std::size_t known_ = 0;           ///< pieces whose ends are known
  std::atomic<std::int64_t> taken_{0};
};

}  // namespace strata
