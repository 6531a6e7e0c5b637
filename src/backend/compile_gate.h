#pragma once
// Who compiles, loads or releases code holds a pass. A fork waits until no other thread does, so that the child never
// inherits a lock of LLVM, of the dynamic loader or of our tables that nobody there would open.
#include <condition_variable>
#include <mutex>

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
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;    // threads with a pass
  int forking_ = 0;   // threads that wait to fork: nobody new gets in before them
};

}  // namespace strata
