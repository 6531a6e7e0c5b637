#include "backend/compile_gate.h"

#include <pthread.h>

namespace strata {
namespace {
thread_local int depth = 0;  // a thread that has a pass gets another one at once
}

CompileGate& CompileGate::get() {
  static CompileGate* gate = [] {
    static auto* g = new CompileGate;  // never freed: code is released until the very end
    pthread_atfork(
        [] {
          std::unique_lock lock(g->mutex_);
          ++g->forking_;
          g->changed_.wait(lock, [] { return g->inside_ == 0; });
          lock.release();  // held across the fork
        },
        [] {
          --g->forking_;
          g->mutex_.unlock();
          g->changed_.notify_all();
        },
        [] {
          g->forking_ = 0;
          g->mutex_.unlock();
        });
    return g;
  }();
  return *gate;
}

void CompileGate::enter() {
  if (depth++ > 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return forking_ == 0; });
  ++inside_;
}

void CompileGate::leave() {
  if (--depth > 0) return;
  const std::lock_guard lock(mutex_);
  if (--inside_ == 0) changed_.notify_all();
}

}  // namespace strata
