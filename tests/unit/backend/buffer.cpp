#include "strata/buffer.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <random>

#include "backend/allocator.h"

using namespace strata;

namespace {

bool aligned(const Buffer& b, std::uintptr_t n) { return reinterpret_cast<std::uintptr_t>(b.data) % n == 0; }

const DType all_dtypes[] = {DType::f64, DType::f32, DType::f16,     DType::bf16, DType::f8e4m3, DType::f8e5m2,
                            DType::i8,  DType::i16, DType::i32,     DType::i64,  DType::u8,     DType::u16,
                            DType::u32, DType::u64, DType::boolean, DType::c64,  DType::c128};

}  // namespace

TEST_CASE("memory is aligned, counted and given back") {
  const auto before = testing::blocks_in_use();
  {
    const Buffer small = Buffer::allocate(DType::f64, 3), none = Buffer::allocate(DType::f64, 0);
    const Buffer large = Buffer::allocate(DType::f64, 1 << 20);
    CHECK(aligned(small, 64));
    CHECK(none.data != nullptr);
    CHECK(none.empty());
    CHECK(aligned(large, 2 << 20));
    CHECK(large.bytes() == 8 << 20);
    CHECK(testing::blocks_in_use() == before + 3);
  }
  CHECK(testing::blocks_in_use() == before);
}

TEST_CASE("buffers of one value") {
  for (const DType t : {DType::i8, DType::f32, DType::c128})
    for (const std::int64_t n : {0, 1, 3, 1000, 65536, 200001}) {
      const Scalar value = Scalar::of(-7.0).as(t);
      const Buffer b = Buffer::filled(value, n);
      bool same = b.size == n && b.dtype == t;
      for (std::int64_t k = 0; k < n; ++k)
        same = same && std::memcmp(static_cast<const char*>(b.data) + k * static_cast<std::int64_t>(size_of(t)),
                                   value.bits, size_of(t)) == 0;
      CHECK(same);
    }
}

TEST_CASE("no size is believed") {
  const auto most = std::numeric_limits<std::int64_t>::max();
  CHECK_THROWS_AS(Buffer::allocate(DType::f64, most), std::bad_alloc);
  CHECK_THROWS_AS(Buffer::allocate(DType::f64, most / 8), std::bad_alloc);
  CHECK_THROWS_AS(Buffer::allocate(DType::u8, most), std::bad_alloc);
  CHECK_THROWS_AS(Buffer::allocate(DType::f64, -1), std::bad_alloc);
}

TEST_CASE("the n-th allocation fails on demand, once") {
  testing::fail_allocation(2);
  CHECK_NOTHROW(Buffer::allocate(DType::u8, 1));
  CHECK_THROWS_AS(Buffer::allocate(DType::u8, 1), std::bad_alloc);
  CHECK_NOTHROW(Buffer::allocate(DType::u8, 1));
  testing::fail_allocation(0);
}

TEST_CASE("large blocks are reused, and zeros are zeros even then") {
  clear_block_cache();
  {
    Buffer b = Buffer::allocate(DType::u8, 3 << 20);
    std::memset(b.data, 0xFF, 3 << 20);
  }
  const auto kept = cached_block_bytes();
  const Buffer z = Buffer::zeros(DType::u8, 3 << 20);
  bool clean = true;
  for (const auto byte : z.as<std::uint8_t>()) clean &= byte == 0;
  CHECK(clean);
  if (kept > 0) CHECK(cached_block_bytes() < kept);  // nothing is kept under the address sanitizer
  clear_block_cache();
  CHECK(cached_block_bytes() == 0);
}

TEST_CASE("what is kept stays bounded") {
  clear_block_cache();
  for (int k = 0; k < 40; ++k) Buffer::allocate(DType::u8, (3 + 2 * k) << 20);
  std::vector<Buffer> many;
  for (int k = 0; k < 20; ++k) many.push_back(Buffer::allocate(DType::u8, 4 << 20));
  many.clear();
  CHECK(cached_block_bytes() <= std::size_t{1} << 30);
  clear_block_cache();
}

TEST_CASE("index buffers of every width") {
  for (const DType t : all_dtypes) {
    const Buffer b = Buffer::zeros(t, 4);
    if (!is_index(t)) {
      CHECK_THROWS_AS(b.index(0), InternalError);
      CHECK_THROWS_AS(b.set_index(0, 1), InternalError);
      continue;
    }
    b.set_index(2, 100);
    CHECK(b.index(2) == 100);
    CHECK(b.index(1) == 0);
    b.set_index(3, is_signed_int(t) ? -1 : index_max(t));
    CHECK(b.index(3) == (is_signed_int(t) ? -1 : index_max(t)));
  }
  const std::uint64_t huge[] = {~std::uint64_t{0}};
  CHECK(Buffer::borrow(std::span<const std::uint64_t>(huge)).index(0) < 0);
}

TEST_CASE("unaligned index buffers read right") {
  alignas(8) unsigned char bytes[17] = {};
  const std::int32_t value = 123456789;
  std::memcpy(bytes + 5, &value, 4);
  CHECK(Buffer::borrow(DType::i32, bytes + 1, 4).index(1) == value);
}

TEST_CASE("borrowed memory: the owner goes with the last user") {
  auto owner = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = owner;
  const double values[] = {1, 2};
  Buffer a = Buffer::borrow(std::span<const double>(values), owner);
  owner.reset();
  Buffer b = a;
  a = {};
  CHECK(!watch.expired());
  CHECK(b.data == values);
  b = {};
  CHECK(watch.expired());
}

TEST_CASE("cast agrees with Scalar::as for every pair of dtypes") {
  std::mt19937_64 random(7);
  const double interesting[] = {0,
                                -0.0,
                                1,
                                -1,
                                0.5,
                                -2.5,
                                127,
                                128,
                                255,
                                256,
                                -129,
                                65504,
                                65536,
                                70000,
                                448,
                                500,
                                1e10,
                                -1e10,
                                1e39,
                                -1e300,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::nan("")};
  for (const DType from : all_dtypes) {
    Buffer source = Buffer::allocate(from, 200);
    for (std::int64_t i = 0; i < 200; ++i) {
      const double v = i < 23 ? interesting[i]
                              : static_cast<double>(static_cast<std::int64_t>(random())) /
                                    std::pow(2.0, static_cast<double>(random() % 64));
      Scalar::of(v).as(from).store(static_cast<char*>(source.data) + i * static_cast<std::int64_t>(size_of(from)));
    }
    for (const DType to : all_dtypes) {
      const Buffer result = source.cast(to);
      REQUIRE(result.dtype == to);
      REQUIRE(result.size == 200);
      for (std::int64_t i = 0; i < 200; ++i) {
        const Scalar s =
            Scalar::load(from, static_cast<char*>(source.data) + i * static_cast<std::int64_t>(size_of(from)));
        const Scalar got =
            Scalar::load(to, static_cast<char*>(result.data) + i * static_cast<std::int64_t>(size_of(to)));
        INFO(name_of(from), " -> ", name_of(to), " of ", s.to_string(), ": ", got.to_string(), " not ",
             s.as(to).to_string());
        const bool both_nan = std::isnan(got.to_double()) && std::isnan(s.as(to).to_double());
        REQUIRE((both_nan || got.same_bits(s.as(to))));
      }
    }
  }
}

TEST_CASE("a cast larger than one chunk") {
  const std::int64_t n = 200'000;
  const Buffer source = Buffer::allocate(DType::i32, n);
  for (std::int64_t i = 0; i < n; ++i) source.set_index(i, i);
  const Buffer wide = source.cast(DType::i64), narrow = source.cast(DType::i8);
  bool right = true;
  for (std::int64_t i = 0; i < n; ++i) right &= wide.index(i) == i;
  CHECK(right);
  CHECK(narrow.index(100) == 100);
}
