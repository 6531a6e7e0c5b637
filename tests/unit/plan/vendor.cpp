// Vendor kernels, with a fake MKL (tests/support/fake_mkl.c) that is opened as the real one would be.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "backend/pool.h"
#include "kernels/vendor/mkl_library.h"
#include "support.h"

using namespace strata;
using namespace strata::testing;

namespace {

/// STRATA_MKL and settings().vendor for as long as it lives.
struct VendorScope {
  bool before = settings().vendor;
  std::string library_before = std::getenv("STRATA_MKL") ? std::getenv("STRATA_MKL") : "";
  explicit VendorScope(const char* library, bool vendor = true) {
    setenv("STRATA_MKL", library, 1);
    settings().vendor = vendor;
  }
  ~VendorScope() {
    setenv("STRATA_MKL", library_before.c_str(), 1);
    settings().vendor = before;
  }
  VendorScope(const VendorScope&) = delete;
};

/// A variable of the fake library, which is open by now.
int& fake(const char* name) {
  void* library = dlopen(FAKE_MKL, RTLD_LAZY | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  int* variable = static_cast<int*>(dlsym(library, name));
  REQUIRE(variable != nullptr);
  return *variable;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// Plans keep what was decided before: every test takes shapes of its own.
std::int64_t fresh_extent() {
  static std::int64_t next = 30;
  return next += 6;
}

struct Case {
  DenseArray a, x;
  Tensor sparse, dense_;
  Einsum e;
};
Case make_case(Rng& rng, const std::string& format, std::int64_t columns, DType dtype = DType::f64,
               DType index = DType::i32, double density = 0.2) {
  Case c;
  const std::int64_t rows = fresh_extent(), inner = rows + 12;
  c.a = random_array({rows, inner}, density, is_complex(dtype), false, rng);
  c.x = random_array(columns ? Shape{inner, columns} : Shape{inner}, 1, is_complex(dtype), false, rng);
  c.sparse = pack(format, c.a, dtype, index, index);
  c.dense_ = dense(c.x, dtype);
  const int ranks[] = {2, columns ? 2 : 1};
  c.e = parse_einsum(columns ? "ij,jk->ik" : "ij,j->i", ranks);
  return c;
}
Plan plan_of(const Case& c) {
  const TensorType types[] = {c.sparse.type(), c.dense_.type()};
  return make_plan(c.e, types);
}

/// alpha * A * x + beta * y, with a y of NaN where beta is 0.
void check_product(const Case& c, double alpha, double beta, Rng& rng) {
  const Plan plan = plan_of(c);
  REQUIRE(plan.kernel_name() == "mkl_product");
  const DenseArray product = oracle(c.e, {c.a, c.x});
  DenseArray before = random_array(product.shape, 1, false, false, rng);
  if (beta == 0)
    for (auto& v : before.v) v = std::nan("");
  const Tensor out = dense(before, c.sparse.dtype());
  const Tensor in[] = {c.sparse, c.dense_};
  plan.run(in, out, Scalar::of(alpha), Scalar::of(beta));
  const DenseArray got = read(out);
  for (std::size_t k = 0; k < got.v.size(); ++k) {
    const Complex expected = alpha * product.v[k] + (beta == 0 ? 0.0 : beta * before.v[k]);
    REQUIRE(got.v[k] == expected);  // small whole numbers: exact in any order
  }
}

const char* bsr = "(i, j) -> (i / 3 : dense, j / 3 : compressed, i % 3 : dense, j % 3 : dense)";
const char* bsr_by_columns = "(i, j) -> (i / 3 : dense, j / 3 : compressed, j % 3 : dense, i % 3 : dense)";

}  // namespace

TEST_CASE("a vendor's library serves CSR, CSC and BSR, with 32-bit and 64-bit indices") {
  const VendorScope vendor(FAKE_MKL);
  const EngineScope engine("vendor");
  Rng rng(1);
  for (const std::string format : {"CSR", "CSC", bsr})
    for (const DType index : {DType::i32, DType::i64})
      for (const std::int64_t columns : {0, 1, 5})
        for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, {2.0, 0.0}, {-1.0, 1.0}, {0.0, 3.0}}) {
          CAPTURE(format);
          CAPTURE(columns);
          check_product(make_case(rng, format, columns, DType::f64, index), alpha, beta, rng);
        }
  check_product(make_case(rng, bsr_by_columns, 0), 2, 1, rng);
  check_product(make_case(rng, "CSR", 3, DType::f64, DType::i32, 0), 1, 0, rng);  // nothing is stored
  CHECK(fake("fake_mkl_calls") > 0);
  CHECK(fake("fake_mkl_live") == 0);   // no handle outlives its call
  CHECK(fake("fake_mkl_layer") == 1);  // sequential: it was not loaded before us
}

TEST_CASE("many chunks, any number of threads: each row is computed once, with the same bits") {
  const VendorScope vendor(FAKE_MKL);
  const EngineScope engine("vendor");
  Rng rng(2);
  const std::int64_t n = 1500;
  DenseArray a({n, n}), x({n, 8});
  for (std::size_t k = 0; k < a.v.size(); ++k)  // wild rows: few are long, some empty
    a.v[k] = (a.stored[k] = rng() % 4000 < 40 * ((k / n) % 7 == 0 ? 40u : 1u)) ? std::sin(static_cast<double>(k)) : 0.0;
  for (std::size_t k = 0; k < x.v.size(); ++k) x.v[k] = std::cos(static_cast<double>(k));
  const int ranks[] = {2, 2};
  const Einsum e = parse_einsum("ij,jk->ik", ranks);
  for (const std::string format : {"CSR", "CSC", bsr}) {
    const Tensor in[] = {pack(format, a, DType::f64), dense(x, DType::f64)};
    const TensorType types[] = {in[0].type(), in[1].type()};
    const Plan plan = make_plan(e, types);
    REQUIRE(plan.kernel_name() == "mkl_product");
    DenseArray first;
    const int calls = fake("fake_mkl_calls");
    for (const int threads : {1, 2, 7}) {
      set_thread_count(threads);
      const DenseArray y = read(plan.run(in));
      if (threads == 1) first = y;
      CHECK(y.v == first.v);
    }
    set_thread_count(0);
    if (format == "CSR") CHECK(fake("fake_mkl_calls") > calls + 30);  // it was cut
    const EngineScope own("auto");
    const VendorScope none("off", false);
    const DenseArray expected = read(make_plan(e, types).run(in));
    for (std::size_t k = 0; k < first.v.size(); ++k)
      REQUIRE(std::abs(first.v[k] - expected.v[k]) <= 1e-12 * (1 + std::abs(expected.v[k])));
  }
}

TEST_CASE("explain says why a vendor's library does not serve") {
  Rng rng(3);
  const auto said = [&](const Case& c) { return plan_of(c).explain(); };
  {
    const VendorScope off(FAKE_MKL, false);
    const EngineScope engine("vendor");
    const auto text = said(make_case(rng, "CSR", 0));
    CHECK(contains(text, "vendor kernels are switched off"));
    CHECK(contains(text, "csr_product"));
  }
  const EngineScope engine("vendor");
  const auto refused = [&](const char* library, const Case& c, const char* reason) {
    const VendorScope vendor(library);
    const auto text = said(c);
    INFO(text);
    CHECK(contains(text, reason));
    CHECK_FALSE(contains(text, "vendor's library"));
    const Tensor in[] = {c.sparse, c.dense_};
    const DenseArray got = read(plan_of(c).run(in)), expected = oracle(c.e, {c.a, c.x});
    CHECK(got.v == expected.v);  // another kernel serves
  };
  refused("off", make_case(rng, "CSR", 0), "MKL is switched off");
  refused("/nowhere/libmkl_rt.so", make_case(rng, "CSR", 0), "MKL cannot be opened");
  refused("/", make_case(rng, "CSR", 0), "no libmkl_rt.so in /");
  refused(FAKE_MKL_NONE, make_case(rng, "CSR", 0), "lacks functions of MKL's sparse BLAS");
  refused(FAKE_MKL_OLD, make_case(rng, "CSR", 0, DType::f64, DType::i64), "has no routines for int64 indices");
  refused(FAKE_MKL_ILP64, make_case(rng, "CSR", 0), "has no routines for int32 indices");
  refused(FAKE_MKL, make_case(rng, "CSR", 0, DType::f32), "has no routines");
  refused(FAKE_MKL, make_case(rng, "(i, j) -> (i : dense, j : bitmap)", 0), "neither CSR nor CSC nor BSR");
  refused(FAKE_MKL, make_case(rng, "CSR", 0, DType::i32), "values are neither float32, float64 nor complex");
  refused(FAKE_MKL, make_case(rng, bsr_by_columns, 4), "with vectors alone");
  refused(FAKE_MKL, make_case(rng, "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)", 4),
          "blocks are square");
  refused(FAKE_MKL, make_case(rng, "(i, j) -> (i / 5 : dense, j / 5 : compressed, i % 5 : dense, j % 5 : dense)", 0),
          "blocks divide the extents");
  Case strided = make_case(rng, "CSR", 4);
  strided.dense_ = dense(strided.x, DType::f64, 3);  // reversed: its row stride is negative
  refused(FAKE_MKL, strided, "stride");
  Case mixed = make_case(rng, "CSR", 4);
  mixed.sparse = pack("CSR", mixed.a, DType::f64, DType::i64, DType::i32);
  refused(FAKE_MKL, mixed, "both int32 or both int64");
}

TEST_CASE("64-bit routines serve where the library was started with 64-bit integers") {
  const VendorScope vendor(FAKE_MKL_ILP64);
  const EngineScope engine("vendor");
  Rng rng(4);
  check_product(make_case(rng, "CSR", 2, DType::f64, DType::i64), 1, 1, rng);
}

TEST_CASE("a vendor's failure is an error with its status, and leaks no handle") {
  const VendorScope vendor(FAKE_MKL);
  const EngineScope engine("vendor");
  Rng rng(5);
  const Case c = make_case(rng, "CSR", 3);
  const Plan plan = plan_of(c);
  const Tensor in[] = {c.sparse, c.dense_};
  const auto message = [&] {
    try {
      plan.run(in);
    } catch (const RuntimeFailure& e) { return std::string(e.what()); }
    return std::string();
  };
  fake("fake_mkl_status") = 4;
  CHECK(contains(message(), "MKL's mm failed with status 4 (execution failed)"));
  fake("fake_mkl_status") = 99;
  CHECK(contains(message(), "status 99"));
  fake("fake_mkl_status") = 2;
  CHECK_THROWS_AS(plan.run(in), std::bad_alloc);
  fake("fake_mkl_status") = 0;
  fake("fake_mkl_create_status") = 3;
  CHECK(contains(message(), "MKL's create_csr failed with status 3 (invalid value)"));
  fake("fake_mkl_create_status") = 0;
  CHECK(message().empty());
  CHECK(fake("fake_mkl_live") == 0);
}

TEST_CASE("by itself a plan takes a vendor's kernel only where it was measured to be faster") {
  const VendorScope vendor(FAKE_MKL);
  Rng rng(6);
  const EngineScope engine("auto");
  const Case c = make_case(rng, "CSR", 16);
  const auto text = plan_of(c).explain();
  INFO(text);
  CHECK(contains(text, "mkl_product  refused"));
  CHECK(contains(text, "our own kernels"));
  CHECK(plan_of(c).kernel_name() == "csr_product");
}

TEST_CASE("a vendor's kernel goes before the interpreter") {
  const VendorScope vendor(FAKE_MKL);
  const EngineScope engine("auto");
  const std::string before = settings().jit;
  settings().jit = "off";
  Rng rng(8);
  for (const std::int64_t columns : {0, 3}) {
    const Case c = make_case(rng, "CSR", columns, DType::c128);
    CHECK(contains(plan_of(c).explain(), "faster than the interpreter"));
    check_product(c, 2, -1, rng);
    Case conjugated = make_case(rng, "CSR", columns, DType::c128);
    conjugated.e.conjugate[0] = 1;
    CHECK(contains(plan_of(conjugated).explain(), "an operand is conjugated"));
  }
  settings().jit = before;
}

TEST_CASE("one MKL is opened once, and its name is told") {
  const VendorScope vendor(FAKE_MKL);
  std::string why;
  const auto* library = kernels::mkl::library(why);
  REQUIRE(library != nullptr);
  CHECK(library == kernels::mkl::library(why));
  CHECK(library->version() == "Fake MKL 1.0");
  CHECK(library->path() == FAKE_MKL);
  const EngineScope engine("vendor");
  Rng rng(7);
  CHECK(contains(plan_of(make_case(rng, "CSR", 0)).explain(), "Fake MKL 1.0, " FAKE_MKL));
}
