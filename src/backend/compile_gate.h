#pragma once
// Who compiles, loads or releases code holds a pass. A fork waits until no other thread does, so that the child never
// inherits a lock of LLVM, of the dynamic loader or of our tables that nobody there would open.
#include <atomic>
#include <cstdint>

namespace strata {

class CompileGate {
 public:
  class Pass {
   public:
    Pass() { CompileGate::get().enter(); }
    ~Pass() { CompileGate::get().leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
  };
  static CompileGate& get();

 private:
  CompileGate() = default;
  void enter();
  void leave();
  // Plain words, no condition variable: one that had waiters at the fork hangs in the child.
  std::atomic<std::uint32_t> inside_{0};   // threads with a pass
  std::atomic<std::uint32_t> forking_{0};  // threads that wait to fork: nobody new gets in before them
};

}  // namespace strata
