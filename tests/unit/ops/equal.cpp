// Whole tensors compared, and masks of truth values. (tests/python/expressions/ compares with NumPy.)
#include <doctest/doctest.h>

#include <array>
#include <type_traits>
#include <vector>

#include "strata/evaluate.h"
#include "strata/ops.h"

using namespace strata;

namespace {

template <class T>
concept has_equality = requires(const T& a) { a == a; };
static_assert(!has_equality<Tensor>,
              "NumPy's == is element by element: equal() and same_storage() say what they compare");
static_assert(has_equality<TensorType> && has_equality<Format>);

Tensor matrix(const std::vector<double>& dense, const std::string& format, std::int64_t m = 2, std::int64_t n = 3) {
  const std::array<std::int64_t, 2> strides{n, 1};
  return from_dense(borrow_dense(Buffer::copy_of<double>(dense), {m, n}, strides), parse_format(format, 2));
}

const std::vector<double> values{1, 0, 2, 0, 3, 1};

}  // namespace

TEST_CASE("equal compares elements, same_storage what is stored") {
  const Tensor a = matrix(values, "CSR");
  for (const char* format : {"CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "DCSR", "ELL", "delta(4)", "bitmap", "dense"}) {
    const Tensor b = matrix(values, format);
    CHECK(equal(a, b));
    CHECK(same_storage(a, b) == (a.format() == b.format()));
    CHECK_FALSE(equal(a, matrix({1, 0, 2, 0, 3, 4}, format)));
    CHECK(equal(b, convert(b, b.format(), {.dtype = DType::f32})));
  }
  CHECK_FALSE(equal(a, matrix(values, "CSR", 3, 2)));
}

TEST_CASE("drop_zeros leaves what is not the fill") {
  const Tensor a = matrix(values, "CSR");
  const Tensor none = evaluate("R(i,j) = A(i,j) - A(i,j)", {{"A", a}});
  CHECK(none.nse() == 4);
  CHECK(drop_zeros(none).nse() == 0);
  CHECK(convert(none, parse_format("COO", 2), {.zeros = Zeros::drop}).nse() == 0);
  CHECK(same_storage(drop_zeros(a), a));
}

TEST_CASE("a boolean mask counts its true values") {
  const Tensor ones = matrix({1, 1, 1, 1, 1, 1}, "dense");
  for (const char* format : {"CSR", "COO", "BSR(2, 2)", "DIA", "dense"}) {
    const Tensor mask = evaluate("M(i,j) = A(i,j) > 1.5", {{"A", matrix(values, format)}});
    CHECK(evaluate("R(i,j) = D(i,j)", {{"D", ones}}, {.format = parse_format("COO", 2), .mask = mask}).nse() == 2);
    CHECK(evaluate("R(i,j) = D(i,j)", {{"D", ones}},
                   {.format = parse_format("COO", 2), .mask = mask, .complement_mask = true})
              .nse() == 4);
  }
  CHECK_THROWS_AS(static_cast<void>(evaluate("R(i,j) = D(i,j)", {{"D", ones}}, {.mask = ones})), TensorError);
}
