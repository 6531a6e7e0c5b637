#include "backend/pool.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace strata;

namespace {

struct Threads {
  explicit Threads(int n) { set_thread_count(n); }
  ~Threads() { set_thread_count(0); }
};

/// Each chunk counts itself; true where all ran exactly once.
bool each_once(std::int64_t chunks) {
  std::vector<std::atomic<int>> seen(static_cast<std::size_t>(chunks));
  parallel_for(chunks, [&](std::int64_t c) { seen[static_cast<std::size_t>(c)]++; });
  for (const auto& s : seen)
    if (s != 1) return false;
  return true;
}

/// Exit status of f in a forked child; -1 where it hung or crashed.
int in_child(const std::function<int()>& f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(f());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("every chunk runs exactly once, with any number of threads") {
  for (const int threads : {1, 2, 7, 1, 3}) {
    const Threads scope(threads);
    CHECK(thread_count() == threads);
    for (const std::int64_t chunks : {0, 1, 2, 3, 64, 1000}) CHECK(each_once(chunks));
    for (int repeat = 0; repeat < 300; ++repeat) REQUIRE(each_once(5));
  }
}

TEST_CASE("more threads than cores really run") {
  const Threads scope(7);
  std::mutex mutex;
  std::set<std::thread::id> who;
  std::atomic<int> arrived{0};
  // Seven chunks that wait for each other: only seven threads can finish them.
  parallel_for(7, [&](std::int64_t) {
    {
      const std::lock_guard lock(mutex);
      who.insert(std::this_thread::get_id());
    }
    arrived++;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < 7 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  });
  CHECK(arrived == 7);
  CHECK(who.size() == 7);
}

TEST_CASE("workers are told apart, and begin with a share of their own") {
  const Threads scope(4);
  std::mutex mutex;
  std::vector<std::set<std::thread::id>> threads(4);
  std::atomic<int> arrived{0}, own{0};
  // As many chunks as threads, which wait for each other: each worker takes one, and that is its share.
  parallel_for(4, [&](std::int64_t c) {
    const int who = worker_index();
    {
      const std::lock_guard lock(mutex);
      REQUIRE((who >= 0 && who < 4));
      threads[static_cast<std::size_t>(who)].insert(std::this_thread::get_id());
    }
    own += c == who;
    arrived++;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (arrived < 4 && std::chrono::steady_clock::now() < until) std::this_thread::yield();
  });
  for (const auto& t : threads) CHECK(t.size() == 1);
  CHECK(own == 4);
  CHECK(worker_index() == 0);
}

TEST_CASE("a nested loop runs inline") {
  const Threads scope(2);
  std::atomic<int> inner{0}, strangers{0};
  parallel_for(8, [&](std::int64_t) {
    const auto self = std::this_thread::get_id();
    parallel_for(8, [&](std::int64_t) {
      inner++;
      strangers += std::this_thread::get_id() != self;
    });
  });
  CHECK(inner == 64);
  CHECK(strangers == 0);
}

TEST_CASE("callers that find the pool busy run inline") {
  const Threads scope(2);
  std::atomic<long> total{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t)
    callers.emplace_back([&] {
      for (int repeat = 0; repeat < 500; ++repeat) parallel_for(4, [&](std::int64_t c) { total += c; });
    });
  for (auto& t : callers) t.join();
  CHECK(total == 4 * 500 * 6);
}

TEST_CASE("an exception reaches the caller and the pool stays usable") {
  for (const int threads : {1, 2, 7}) {
    const Threads scope(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::atomic<int> ran{0};
      const auto run = [&] {
        parallel_for(100, [&](std::int64_t c) {
          ran++;
          if (c == 3) throw std::out_of_range("chunk three");
        });
      };
      CHECK_THROWS_WITH_AS(run(), "chunk three", std::out_of_range);
      CHECK(ran < 100 + threads);
      REQUIRE(each_once(20));
    }
  }
}

TEST_CASE("a forked child has a pool of its own") {
  const Threads scope(3);
  REQUIRE(each_once(100));
  CHECK(in_child([] { return each_once(100) && each_once(1000) ? 0 : 1; }) == 0);
  CHECK(each_once(100));
}

TEST_CASE("fork while another thread computes") {
  const Threads scope(2);
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) each_once(50);
  });
  for (int repeat = 0; repeat < 20; ++repeat) REQUIRE(in_child([] { return each_once(200) ? 0 : 1; }) == 0);
  stop = true;
  worker.join();
}

TEST_CASE("helpers that change cores may use all of them afterwards") {
  const Threads threads(2);
  cpu_set_t mine;
  REQUIRE(sched_getaffinity(0, sizeof mine, &mine) == 0);
  std::atomic<int> other{0};
  for (int round = 0; round < 50; ++round) {
    if (round % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    parallel_for(8, [&](std::int64_t) {
      cpu_set_t here;
      if (sched_getaffinity(0, sizeof here, &here) != 0 || !CPU_EQUAL(&here, &mine)) other++;
    });
  }
  CHECK(other == 0);
}

TEST_CASE("helpers leave signals to the program's own threads") {
  const Threads scope(4);
  std::atomic<int> open{0};
  const auto main_thread = std::this_thread::get_id();
  parallel_for(64, [&](std::int64_t) {
    if (std::this_thread::get_id() == main_thread) return;
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    open += !sigismember(&blocked, SIGINT);
  });
  CHECK(open == 0);
}
