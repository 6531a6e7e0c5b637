// Every allocation of a call fails in turn: it throws std::bad_alloc, keeps nothing, and works the next time.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <new>
#include <span>
#include <string>

#include "backend/allocator.h"
#include "strata/evaluate.h"
#include "strata/io.h"
#include "strata/ops.h"
#include "strata/settings.h"

namespace {
thread_local long until_failure = 0;  ///< of this thread's small allocations; 0: none fails

void* allocate(std::size_t bytes) {
  if (until_failure > 0 && --until_failure == 0) throw std::bad_alloc();
  if (void* p = std::malloc(bytes ? bytes : 1)) return p;
  throw std::bad_alloc();
}
}  // namespace

// The program's own, so that vectors, strings and maps fail too.
void* operator new(std::size_t bytes) { return allocate(bytes); }
void* operator new[](std::size_t bytes) { return allocate(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes ? bytes : 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes ? bytes : 1); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

namespace strata {
namespace {

/// Calls f with its first, second, ... allocation failing, until none does; how many failed.
template <class Arm, class F> long sweep(const std::string& what, const Arm& arm, const F& f) {
  INFO(what);
  f();  // what is remembered from now on is remembered
  for (long n = 1; n < 100'000; ++n) {
    const auto before = testing::blocks_in_use();
    bool failed = false;
    arm(n);
    try {
      f();
      arm(0);
    } catch (const std::bad_alloc&) {
      arm(0);
      failed = true;
    }
    if (testing::blocks_in_use() != before) {
      FAIL("allocation " << n << " of " << what << " failed, and " << testing::blocks_in_use() - before
                         << " blocks were kept");
    }
    if (!failed) return n - 1;
  }
  FAIL(what << " never succeeds");
  return 0;
}

template <class F> void fails_cleanly(const std::string& what, const F& f) {
  const long blocks = sweep(what + " (blocks)", [](long n) { testing::fail_allocation(n); }, f);
  const long objects = sweep(what + " (objects)", [](long n) { until_failure = n; }, f);
  CHECK_MESSAGE(blocks + objects > 0, what << " allocates nothing: what is tested?");
}

Tensor matrix(const char* format) {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  for (std::int64_t i = 0; i < 40; ++i)
    for (std::int64_t j = i % 3; j < 30; j += 5)
      rows.push_back(i), columns.push_back(j), values.push_back(static_cast<double>(i - j));
  const Buffer coords[] = {Buffer::copy_of(std::span<const std::int64_t>(rows)),
                           Buffer::copy_of(std::span<const std::int64_t>(columns))};
  return from_coo(coords, Buffer::copy_of(std::span<const double>(values)), {40, 30}, parse_format(format, 2));
}

}  // namespace

TEST_CASE("out of memory: formats, tensors, conversions") {
  settings().threads = 1;  // what a helper allocates would not be counted here
  fails_cleanly("a format", [] {
    static_cast<void>(
        parse_format("(i, j) -> (i / 4 : dense, j / 4 : compressed, i % 4 : dense, j % 4 : dense)").to_string());
  });
  fails_cleanly("a tensor", [] { static_cast<void>(matrix("CSR")); });
  for (const char* from : {"CSR", "COO", "BSR(4, 4)", "DIAI", "Delta(4)", "BSR(4, 4) + COO"}) {
    const Tensor t = matrix(from);
    for (const char* to : {"CSC", "COO", "BSR(2, 3)", "DIAI", "ELL", "Bitmap", "dense", "BSR(2, 2) + CSR"})
      if (std::string(from) != to)
        fails_cleanly(std::string(from) + " to " + to, [&] { static_cast<void>(convert(t, parse_format(to, 2))); });
    fails_cleanly("a printed tensor", [&] { static_cast<void>(to_string(t)); });
  }
  settings().threads = 0;
}

TEST_CASE("out of memory: products and expressions") {
  settings().threads = 1;
  const Tensor a = matrix("CSR"), b = matrix("COO"), x = convert(matrix("CSC"), parse_format("dense", 2));
  const std::map<std::string, Tensor> operands{{"A", a}, {"B", b}, {"X", x}};
  for (const char* text : {"Y(i,k) = A(i,j) * X(k,j)", "C(i,j) = A(i,j) + B(i,j)", "C(i,k) = A(i,j) * B(k,j)",
                           "s(i) = max(j, A(i,j)) - sum(j, abs(B(i,j)))", "C(i,j) = A(i,j) * sum(k, X(i,k) * X(i,k))"})
    fails_cleanly(text, [&] { static_cast<void>(evaluate(std::string_view(text), operands)); });
  for (const char* text : {"C(i,j) = A(i,j) + B(i,j)", "C(i,k) = A(i,j) * B(k,j)"})
    fails_cleanly(std::string("the general path: ") + text, [&] {
      EvaluateOptions general;
      general.general = true;
      static_cast<void>(evaluate(std::string_view(text), operands, general));
    });
  settings().threads = 0;
}

TEST_CASE("out of memory: files") {
  settings().threads = 1;
  const std::string text =
      "%%MatrixMarket matrix coordinate real symmetric\n% a comment\n3 3 4\n1 1 1.5\n2 1 -2\n3 3 4e-3\n3 2 1\n";
  fails_cleanly("a file read", [&] { static_cast<void>(parse_matrix_market(text)); });
  fails_cleanly("a FROSTT file", [&] { static_cast<void>(parse_frostt("2 2 1 5\n1 2 3 4\n")); });
  const std::string path = (std::filesystem::temp_directory_path() / "strata_out_of_memory.st").string();
  const NamedTensors tensors = {{"a", matrix("CSR")}, {"b", matrix("BSR(4, 4) + COO")}, {"c", matrix("Delta(4)")}};
  fails_cleanly("a container written", [&] { save(path, tensors); });
  for (const bool map : {true, false})
    fails_cleanly("a container read", [&] { static_cast<void>(load_all(path, {Verify::all, map})); });
  std::filesystem::remove(path);
  settings().threads = 0;
}

}  // namespace strata
