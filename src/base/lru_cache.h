#pragma once
#include <list>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "base/fork_mutex.h"

namespace strata {

/// At most `capacity` values by key; the least recently used ones leave. Safe in several threads and across fork: the
/// lock is held across it, so that a child never finds it taken by a thread that it does not have. One per Tag.
template <class Tag, class Key, class Value, class Hash = std::hash<Key>>
class LruCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(capacity) {}

  std::optional<Value> find(const Key& key) {
    const std::lock_guard lock(mutex_);
    const auto it = map_.find(key);
    if (it == map_.end()) return std::nullopt;
    recent_.splice(recent_.begin(), recent_, it->second);
    return it->second->second;
  }

  /// Keeps what another thread was faster to insert.
  void insert(Key key, Value value) {
    std::optional<Value> leaving;  // released after the lock: it may wait for Python, or for a fork
    const std::lock_guard lock(mutex_);
    const auto [it, fresh] = map_.try_emplace(std::move(key));
    if (!fresh) return;
    recent_.emplace_front(&it->first, std::move(value));
    it->second = recent_.begin();
    if (map_.size() <= capacity_) return;
    const Key* oldest = recent_.back().first;
    leaving = std::move(recent_.back().second);
    recent_.pop_back();
    map_.erase(map_.find(*oldest));
  }

 private:
  using List = std::list<std::pair<const Key*, Value>>;
  std::mutex& mutex_ = fork_mutex<Tag>();
  const std::size_t capacity_;
  List recent_;  ///< newest first
  std::unordered_map<Key, typename List::iterator, Hash> map_;
};

}  // namespace strata
