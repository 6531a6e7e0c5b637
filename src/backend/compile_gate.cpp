#include "backend/compile_gate.h"

#include <pthread.h>

namespace strata {
namespace {
thread_local int depth = 0;  // a thread that has a pass gets another one at once

void wait_for_zero(std::atomic<std::uint32_t>& word) {
  for (std::uint32_t n; (n = word.load()) != 0;) word.wait(n);
}
}  // namespace

CompileGate& CompileGate::get() {
  static CompileGate* gate = [] {
    static auto* g = new CompileGate;  // never freed: code is released until the very end
    pthread_atfork(
        [] {
          ++g->forking_;
          wait_for_zero(g->inside_);
        },
        [] {
          if (--g->forking_ == 0) g->forking_.notify_all();
        },
        [] { g->forking_ = 0; });
    return g;
  }();
  return *gate;
}

void CompileGate::enter() {
  if (depth++ > 0) return;
  for (;;) {
    wait_for_zero(forking_);
    ++inside_;
    if (forking_ == 0) return;
    if (--inside_ == 0) inside_.notify_all();  // a fork came in between: it goes first
  }
}

void CompileGate::leave() {
  if (--depth > 0) return;
  if (--inside_ == 0) inside_.notify_all();
}

}  // namespace strata
