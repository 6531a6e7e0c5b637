#include "backend/compile_gate.h"

#include <pthread.h>

namespace strata {
namespace {
thread_local int depth = 0;  // a thread that has a pass gets another one at once

void wait_until(std::atomic<std::uint32_t>& word, std::uint32_t wanted) {
  for (std::uint32_t n; (n = word.load()) != wanted;) word.wait(n);
}
std::uint32_t own() { return depth > 0 ? 1 : 0; }  // a thread that forks with a pass does not wait for itself
}  // namespace

CompileGate& CompileGate::get() {
  static CompileGate* gate = [] {
    static auto* g = new CompileGate;  // never freed: code is released until the very end
    pthread_atfork(
        [] {
          ++g->forking_;
          wait_until(g->inside_, own());
        },
        [] {
          if (--g->forking_ == 0) g->forking_.notify_all();
        },
        [] {
          g->forking_ = 0;
          // A thread on its way in may have counted itself just before the copy: nobody in the child would take it
          // back, and the child's own forks would wait for ever.
          g->inside_ = own();
        });
    return g;
  }();
  return *gate;
}

namespace {
/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const CompileGate& made_early = CompileGate::get();
}  // namespace

void CompileGate::enter() {
  if (depth++ > 0) return;
  for (;;) {
    wait_until(forking_, 0);
    ++inside_;
    if (forking_ == 0) return;
    --inside_;  // a fork came in between: it goes first
    inside_.notify_all();
  }
}

void CompileGate::leave() {
  if (--depth > 0) return;
  --inside_;
  inside_.notify_all();
}

}  // namespace strata
