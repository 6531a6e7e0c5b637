#include "backend/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "backend/compile_gate.h"
#include "strata/error.h"
#include "strata/settings.h"

namespace strata {
namespace {

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

std::atomic<void (*)()> interrupt_check{nullptr};
std::atomic<int> forks{0};         // how many forks lie between this process and the first one
thread_local bool inside = false;  // this thread runs a chunk: whatever it starts runs inline
thread_local int worker = 0;       // which share of the pool's jobs is this thread's
thread_local const std::atomic<bool>* job_failed = nullptr;  // of the job that this helper serves
struct Stop {};                                              // ends a helper's chunk, as another one has failed

/// Takes this thread off a core that another one keeps busy. Left to itself Linux wakes a helper on its caller's own
/// core now and then, and leaves it there for tens of milliseconds while other cores idle (measured: every second time
/// after a pause of 0.1 s).
void leave_core(int core) {
  cpu_set_t all;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<std::size_t>(core), &others);
  if (CPU_COUNT(&others) > 0 && sched_setaffinity(0, sizeof others, &others) == 0)
    sched_setaffinity(0, sizeof all, &all);
}

struct InsideScope {
  bool before = inside;
  InsideScope() { inside = true; }
  ~InsideScope() { inside = before; }
};

/// Helpers sleep until a job opens, join it, claim chunks one by one, and leave. The caller claims too and at the end
/// waits for those that joined, never for one that has not started. Each has a share of its own, the same for every job
/// of as many chunks, and takes from the others' when it is through: what a core wrote or read last time lies in its
/// own caches still.
class Pool {
 public:
  /// False where the pool serves someone else: then the caller runs inline.
  bool run(std::int64_t chunks, const std::function<void(std::int64_t)>& f, int threads) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    if (threads != wanted_) resize(threads);
    f_ = &f;
    failure_ = nullptr;
    failed_.store(false, std::memory_order_relaxed);
    sharers_ = static_cast<int>(std::min<std::int64_t>(wanted_, chunks));
    const std::int64_t each = chunks / sharers_, more = chunks % sharers_;
    for (int k = 0; k < sharers_; ++k) {
      WorkShare& share = shares_[static_cast<std::size_t>(k)];
      share.next.store(each * k + std::min<std::int64_t>(k, more), std::memory_order_relaxed);
      share.end = each * (k + 1) + std::min<std::int64_t>(k + 1, more);
    }
    callers_core_.store(sched_getcpu(), std::memory_order_relaxed);
    state_.store(open_bit, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
    const auto useful = std::min<std::int64_t>(static_cast<std::int64_t>(helpers_.size()), chunks - 1);
    if (useful == static_cast<std::int64_t>(helpers_.size())) generation_.notify_all();
    else
      for (std::int64_t k = 0; k < useful; ++k) generation_.notify_one();
    claim(0);
    close();
    std::exception_ptr failure = std::move(failure_);
    failure_ = nullptr;
    busy_.store(false, std::memory_order_release);
    if (failure) std::rethrow_exception(failure);
    return true;
  }

 private:
  static constexpr std::uint32_t open_bit = 1u << 31;

  /// What one of those who share a job has of it.
  struct alignas(64) WorkShare {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };

  /// 0 is the caller.
  void claim(int who) {
    InsideScope scope;
    if (who > 0) job_failed = &failed_;
    for (int k = 0; k < sharers_; ++k) {
      WorkShare& share = shares_[static_cast<std::size_t>((who + k) % sharers_)];
      // A plain look first, so that a finished share costs its latecomers no write to its line.
      while (share.next.load(std::memory_order_relaxed) < share.end) {
        if (failed_.load(std::memory_order_relaxed)) return;
        const std::int64_t c = share.next.fetch_add(1, std::memory_order_relaxed);
        if (c >= share.end) break;
        try {
          if (who == 0 && c > 0) poll_interrupt();
          (*f_)(c);
        } catch (...) {
          if (!failed_.exchange(true)) failure_ = std::current_exception();
          return;
        }
      }
    }
  }

  void close() {
    state_.fetch_and(~open_bit, std::memory_order_acq_rel);
    for (int k = 0; k < 2000; ++k) {
      if (state_.load(std::memory_order_acquire) == 0) return;
      pause();
    }
    for (std::uint32_t s; (s = state_.load(std::memory_order_acquire)) != 0;) {
      if (forks.load() != forks_)
        throw RuntimeFailure("a kernel forked: in the child its helpers are gone and its result is incomplete");
      state_.wait(s, std::memory_order_acquire);
    }
  }

  bool join() {
    std::uint32_t s = state_.load(std::memory_order_acquire);
    while (s & open_bit)
      if (state_.compare_exchange_weak(s, s + 1, std::memory_order_acq_rel)) return true;
    return false;
  }

  void help(int who, std::uint32_t seen) {
    using Clock = std::chrono::steady_clock;
    worker = who;
    for (;;) {
      // Spinning 50 us catches the next kernel of a chain without a system call; longer would take a core from torch's
      // pool.
      const auto until = Clock::now() + std::chrono::microseconds(spin_ ? 50 : 0);
      while (generation_.load(std::memory_order_acquire) == seen) {
        for (int k = 0; k < 64 && generation_.load(std::memory_order_relaxed) == seen; ++k) pause();
        if (Clock::now() >= until) generation_.wait(seen, std::memory_order_acquire);
      }
      seen = generation_.load(std::memory_order_acquire);
      if (stop_.load(std::memory_order_acquire)) return;
      if (const int core = sched_getcpu(); spin_ && core >= 0 && core == callers_core_.load(std::memory_order_relaxed))
        leave_core(core);
      if (!join()) continue;
      claim(who);
      if (state_.fetch_sub(1, std::memory_order_acq_rel) == 1) state_.notify_all();
    }
  }

  void resize(int threads) {
    // glibc starts threads under a lock that fork does not renew: a child that inherits it taken could start none.
    const CompileGate::Pass no_fork;
    stop_.store(true, std::memory_order_release);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    for (auto& t : helpers_) t.join();
    helpers_.clear();
    stop_.store(false, std::memory_order_release);
    wanted_ = threads;
    spin_ = threads <= static_cast<int>(std::thread::hardware_concurrency());
    // Signals belong to the program's own threads (Python handles Ctrl-C in the main one).
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      helpers_.reserve(static_cast<std::size_t>(threads - 1));
      const std::uint32_t seen = generation_.load(std::memory_order_acquire);
      for (int k = 1; k < threads; ++k) helpers_.emplace_back([this, k, seen] { help(k, seen); });
    } catch (...) {
      // The system gives no more threads: those we have, and the caller, do the work.
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  alignas(64) std::atomic<std::uint32_t> generation_{0};  // counts jobs; helpers sleep on it
  alignas(64) std::atomic<std::uint32_t> state_{0};       // open bit, and how many helpers have joined
  alignas(64) std::atomic<bool> busy_{false};
  std::atomic<bool> stop_{false}, failed_{false};
  std::atomic<int> callers_core_{-1};
  const std::function<void(std::int64_t)>* f_ = nullptr;
  std::exception_ptr failure_;
  int sharers_ = 1;
  std::array<WorkShare, max_threads> shares_;
  std::vector<std::thread> helpers_;
  int wanted_ = 1;
  const int forks_ = forks.load();
  bool spin_ = true;
};

std::atomic<Pool*> current{nullptr};

// After a fork the helpers are gone and the old pool may be in any state: the child forgets it. Never freed at exit
// either: its helpers may be asleep inside it.
[[maybe_unused]] const int fork_handler = pthread_atfork(nullptr, nullptr, [] {
  forks.fetch_add(1);
  current.store(nullptr);
});

Pool& pool() {
  if (Pool* p = current.load(std::memory_order_acquire)) return *p;
  auto fresh = std::make_unique<Pool>();
  Pool* none = nullptr;
  if (current.compare_exchange_strong(none, fresh.get())) return *fresh.release();
  return *none;
}

int default_threads() {
  static std::atomic<int> known{0};  // not a guarded initialiser: a fork in the middle of one blocks the child
  if (const int n = known.load(std::memory_order_relaxed)) return n;
  const int count = [] {
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set)
                                                        : static_cast<int>(std::thread::hardware_concurrency());
    if (const char* text = std::getenv("OMP_NUM_THREADS")) {
      const long limit = std::strtol(text, nullptr, 10);  // "4,2" means 4 at the outer level
      if (limit > 0) n = static_cast<int>(std::min<long>(n, limit));
    }
    return std::clamp(n, 1, max_threads);
  }();
  known.store(count, std::memory_order_relaxed);
  return count;
}

}  // namespace

int worker_index() { return worker; }

int thread_count() {
  const int n = std::atomic_ref(settings().threads).load(std::memory_order_relaxed);
  return n > 0 ? std::min(n, max_threads) : default_threads();
}

void set_thread_count(int n) {
  std::atomic_ref(settings().threads).store(std::clamp(n, 0, max_threads), std::memory_order_relaxed);
}

void parallel_for(std::int64_t chunks, const std::function<void(std::int64_t)>& f) {
  if (chunks <= 0) return;
  if (chunks > 1 && !inside) {
    const int threads = thread_count();
    if (threads > 1 && pool().run(chunks, f, threads)) return;
  }
  for (std::int64_t c = 0; c < chunks; ++c) {
    if (c > 0) poll_interrupt();
    f(c);
  }
}

void set_interrupt_check(void (*check)()) { interrupt_check.store(check); }

void poll_interrupt() {
  if (job_failed && inside && job_failed->load(std::memory_order_relaxed)) throw Stop{};
  auto* check = interrupt_check.load(std::memory_order_relaxed);
  if (!check) return;
  // Asking costs a lock in Python: often enough for a person, too seldom to be felt.
  thread_local auto last = std::chrono::steady_clock::now();
  const auto now = std::chrono::steady_clock::now();
  if (now - last < std::chrono::milliseconds(50)) return;
  last = now;
  check();
}

}  // namespace strata
