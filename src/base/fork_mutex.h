#pragma once
#include <pthread.h>

#include <mutex>

namespace strata {

/// One process-wide mutex for each Tag. fork() takes it first and gives it back on both sides, so that a child never
/// inherits it locked by a thread that it does not have. It is never destroyed: threads may outlive static destructors.
/// Do not nest two of them.
template <class Tag> std::mutex& fork_mutex() {
  static std::mutex* const mutex = [] {
    static std::mutex* const made = new std::mutex;
    pthread_atfork([] { made->lock(); }, [] { made->unlock(); }, [] { made->unlock(); });
    return made;
  }();
  return *mutex;
}

}  // namespace strata
