// Random formats, shapes and elements: there and back holds what was put in. Seeds print with a failure.
#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "strata/ops.h"
#include "support/random_format.h"

using namespace strata;

namespace {

using Coordinates = std::vector<std::int64_t>;
using Elements = std::map<Coordinates, double>;

std::uint64_t bits(double x) {
  std::uint64_t u;
  std::memcpy(&u, &x, 8);
  return u;
}

/// Stored elements by the plain walk; every coordinate at most once unless parts add up.
Elements stored(const Tensor& t) {
  Elements out;
  for_each_stored(t, [&](std::span<const std::int64_t> c, const void* p) {
    const double x = Scalar::load(t.dtype(), p).to_double();
    const auto [at, fresh] = out.try_emplace(Coordinates(c.begin(), c.end()), x);
    if (!fresh) at->second += x;
  });
  return out;
}

/// Returns what is wrong, or "".
std::string mismatch(const Tensor& t, const Elements& expected) {
  t.validate();
  const Elements got = stored(t);
  bool may = false;
  for (int k = 0; k < t.num_parts(); ++k) may = may || t.part(k).format.can_hold_fill();
  std::size_t found = 0;
  for (const auto& [c, x] : got) {
    const auto e = expected.find(c);
    if (e == expected.end() && (bits(x) != 0 || !may)) return "an element that was never there";
    if (e != expected.end() && bits(x) != bits(e->second)) return "another value";
    found += e != expected.end();
    const auto direct = t.get(c);
    if (!direct || bits(direct->to_double()) != bits(x)) return "get disagrees with the walk";
  }
  return found == expected.size() ? "" : "an element is missing";
}

}  // namespace

TEST_CASE("random formats there and back") {
  const char* asked = std::getenv("STRATA_TEST_SEED");
  const std::uint64_t first = asked ? std::strtoull(asked, nullptr, 10) : 1, count = asked ? 1 : 1000;
  std::uint64_t refused = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    std::mt19937_64 random(seed);
    const int rank = static_cast<int>(random() % 5);
    testing::RandomFormatOptions options;
    options.max_parts = seed % 4 == 0 ? 3 : 1;
    const Format a = testing::random_format(random, rank, options), b = testing::random_format(random, rank, options);
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(static_cast<std::int64_t>(random() % 7));
    // Elements in any order, some twice; small integers, so that sums are exact.
    Elements expected;
    std::vector<std::vector<std::int64_t>> columns(static_cast<std::size_t>(rank));
    std::vector<double> values;
    bool empty = false;
    for (auto e : shape) empty = empty || e == 0;
    for (auto n = empty ? 0 : random() % 40; n > 0; --n) {
      Coordinates c;
      for (auto e : shape) c.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(e)));
      const double x = static_cast<double>(1 + random() % 5);
      expected[c] += x;
      for (std::size_t d = 0; d < c.size(); ++d) columns[d].push_back(c[d]);
      values.push_back(x);
    }
    std::vector<Buffer> coords;
    for (const auto& c : columns) coords.push_back(Buffer::copy_of(std::span<const std::int64_t>(c)));
    CAPTURE(seed);
    CAPTURE(a.to_string());
    CAPTURE(b.to_string());
    try {
      const Tensor x = from_coo(coords, Buffer::copy_of(std::span<const double>(values)), shape, a);
      REQUIRE(mismatch(x, expected) == "");
      const Tensor y = convert_general(x, b);
      REQUIRE(mismatch(y, expected) == "");
      const Tensor z = convert(y, a);
      REQUIRE(mismatch(z, expected) == "");
      if (a.num_parts() == 1) REQUIRE(same_storage(x, z));
      const Tensor dense = to_dense(y);
      REQUIRE(mismatch(dense, expected) == "");
      if (rank > 0) REQUIRE(mismatch(convert(from_dense(dense, b), a), expected) == "");
    } catch (const Error& e) {
      FAIL_CHECK(e.what());
      ++refused;
    }
  }
  CHECK(refused == 0);
}

TEST_CASE("wild formats hold everything or say why not") {
  std::uint64_t held = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    std::mt19937_64 random(seed);
    const int rank = static_cast<int>(1 + random() % 3);
    testing::RandomFormatOptions options;
    options.any_tensor = false;
    const Format f = testing::random_format(random, rank, options);
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(static_cast<std::int64_t>(1 + random() % 6));
    Elements expected;
    for (auto n = random() % 12; n > 0; --n) {
      Coordinates c;
      for (auto e : shape) c.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(e)));
      expected[c] = static_cast<double>(1 + random() % 5);
    }
    std::vector<std::vector<std::int64_t>> columns(static_cast<std::size_t>(rank));
    std::vector<double> values;
    for (const auto& [c, x] : expected) {
      for (std::size_t d = 0; d < c.size(); ++d) columns[d].push_back(c[d]);
      values.push_back(x);
    }
    std::vector<Buffer> coords;
    for (const auto& c : columns) coords.push_back(Buffer::copy_of(std::span<const std::int64_t>(c)));
    CAPTURE(seed);
    CAPTURE(f.to_string());
    try {
      const Tensor t = from_coo(coords, Buffer::copy_of(std::span<const double>(values)), shape, f);
      REQUIRE(mismatch(t, expected) == "");
      REQUIRE(mismatch(convert(t, testing::random_format(random, rank)), expected) == "");
      ++held;
    } catch (const TensorError& e) {
      const std::string said = e.what();
      CHECK_MESSAGE(said.find("level ") != std::string::npos, said);
      ++refused;
    }
  }
  CHECK(held > 333);
  CHECK(refused > 0);
}
