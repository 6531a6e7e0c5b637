#include "base/lru_cache.h"

#include <doctest/doctest.h>

#include <memory>
#include <thread>
#include <vector>

using namespace strata;

TEST_CASE("the least recently used value leaves, and is freed") {
  struct Tag {};
  LruCache<Tag, int, std::shared_ptr<int>> cache(3);
  const auto first = std::make_shared<int>(10);
  cache.insert(1, first);
  cache.insert(2, std::make_shared<int>(20));
  cache.insert(3, std::make_shared<int>(30));
  CHECK(!cache.find(4));
  REQUIRE(cache.find(1));  // now 2 is the oldest
  cache.insert(4, std::make_shared<int>(40));
  CHECK(!cache.find(2));
  CHECK(**cache.find(1) == 10);
  CHECK(first.use_count() == 2);
  cache.insert(1, std::make_shared<int>(11));  // who came first stays
  CHECK(*cache.find(1) == first);
  for (int k = 5; k < 8; ++k) cache.insert(k, std::make_shared<int>(k));
  CHECK(!cache.find(1));
  CHECK(first.use_count() == 1);
}

TEST_CASE("several threads, one cache") {
  struct Tag {};
  LruCache<Tag, int, int> cache(16);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int k = 0; k < 20000; ++k) {
        const int key = (k * 7 + t) % 40;
        if (const auto found = cache.find(key)) wrong[static_cast<std::size_t>(t)] += *found != 3 * key;
        else cache.insert(key, 3 * key);
      }
    });
  for (auto& t : threads) t.join();
  for (const int w : wrong) CHECK(w == 0);
}
