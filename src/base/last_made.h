#pragma once
// The last of something that calls make and share.
#include <atomic>
#include <memory>

namespace strata {

/// Made by any thread. Who finds it busy makes another one: no thread waits, nor does a child that was forked
/// meanwhile. A copy of it is empty.
template <class T> class LastMade {
 public:
  LastMade() = default;
  LastMade(const LastMade& /*other*/) : LastMade() {}
  LastMade& operator=(const LastMade& /*other*/) { return *this; }

  std::shared_ptr<const T> get() const {
    if (busy_.test_and_set(std::memory_order_acquire)) return nullptr;
    auto out = last_;
    busy_.clear(std::memory_order_release);
    return out;
  }
  void set(std::shared_ptr<const T> made) const {
    if (busy_.test_and_set(std::memory_order_acquire)) return;
    last_.swap(made);  // what it held before leaves behind the end
    busy_.clear(std::memory_order_release);
  }

 private:
  mutable std::atomic_flag busy_;
  mutable std::shared_ptr<const T> last_;
};

}  // namespace strata
