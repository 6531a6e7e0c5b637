#include "solve/background.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "backend/compile_gate.h"
#include "backend/pool.h"

namespace strata::solving {
namespace {

struct BackgroundTask {
  std::function<void()> work;
  std::exception_ptr failure = {};
  std::mutex lock = {};
  std::condition_variable changed = {};
  bool done = false;
};

void* run(void* given) {
  const std::unique_ptr<std::shared_ptr<BackgroundTask>> task(static_cast<std::shared_ptr<BackgroundTask>*>(given));
  try {
    (*task)->work();
  } catch (...) { (*task)->failure = std::current_exception(); }
  const std::lock_guard hold((*task)->lock);
  (*task)->done = true;
  (*task)->changed.notify_all();
  return nullptr;
}

}  // namespace

void in_background(std::function<void()> work) {
  const auto task = std::make_shared<BackgroundTask>();
  task->work = std::move(work);
  auto handed = std::make_unique<std::shared_ptr<BackgroundTask>>(task);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // signals belong to the program's own threads
  pthread_t thread;
  const int failed = [&] {
    const CompileGate::Pass no_fork;  // a child that inherits the lock under which threads start could start none
    return pthread_create(&thread, nullptr, run, handed.get());
  }();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failed != 0) return task->work();
  static_cast<void>(handed.release());
  pthread_detach(thread);
  std::unique_lock wait(task->lock);
  while (!task->changed.wait_for(wait, std::chrono::milliseconds(50), [&] { return task->done; })) {
    wait.unlock();
    poll_interrupt();
    wait.lock();
  }
  if (task->failure) std::rethrow_exception(task->failure);
}

}  // namespace strata::solving
