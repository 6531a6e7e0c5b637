#include "backend/stack.h"

#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <exception>
#include <new>

#include "backend/compile_gate.h"

namespace strata {
namespace {

constexpr std::size_t large = std::size_t{16} << 20;

struct Stack {
  std::uintptr_t low = 0, high = 0;  ///< both 0: not known
};

Stack own_stack() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  void* low = nullptr;
  std::size_t size = 0, guard = 0;
  const bool known = pthread_attr_getstack(&attributes, &low, &size) == 0;
  pthread_attr_getguardsize(&attributes, &guard);
  pthread_attr_destroy(&attributes);
  if (!known) return {};
  const auto begin = reinterpret_cast<std::uintptr_t>(low);
  return {begin + guard, begin + size};
}

struct Task {
  const std::function<void()>& f;
  std::exception_ptr failure = {};
};

void* run(void* given) {
  Task& task = *static_cast<Task*>(given);
  try {
    task.f();
  } catch (...) { task.failure = std::current_exception(); }
  return nullptr;
}

}  // namespace

std::size_t stack_left() noexcept {
  thread_local const Stack stack = own_stack();
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (here < stack.low || here >= stack.high) return SIZE_MAX;  // coroutines bring stacks of their own
  return here - stack.low;
}

void with_stack(std::size_t needed, const std::function<void()>& f) {
  if (stack_left() >= needed) return f();
  Task task{f};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, large);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals belong to the program's own threads
  pthread_t thread;
  const int failed = [&] {
    const CompileGate::Pass no_fork;  // a child that inherits the lock under which threads start could start none
    return pthread_create(&thread, &attributes, run, &task);
  }();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&attributes);
  if (failed != 0) throw std::bad_alloc();
  pthread_join(thread, nullptr);
  if (task.failure) std::rethrow_exception(task.failure);
}

}  // namespace strata
