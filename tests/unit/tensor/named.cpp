// Tensors of vectors, spans and lists: what is copied, what is taken over, what is refused.
#include <doctest/doctest.h>

#include "strata/tensor.h"

using namespace strata;

namespace {

std::string message(const auto& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}

template <class B>
concept CanBorrow = requires(B b) { Buffer::borrow<double>(std::forward<B>(b)); };

}  // namespace

TEST_CASE("CSR, CSC, BSR, COO and dense") {
  const Tensor a = Tensor::csr(2, 3, {0, 2, 3}, {0, 2, 1}, {1.0, 2.0, 3.0});
  CHECK(a.format().name() == "CSR");
  CHECK(a.type().crd_dtype == DType::i32);
  CHECK(a({0, 2}).to_double() == 2);
  CHECK(a({1, 0}).to_double() == 0);
  CHECK_FALSE(a.get({1, 0}));
  CHECK_THROWS_AS(a({2, 0}), IndexError);
  CHECK_THROWS_AS(a({0}), IndexError);
  CHECK(Tensor::csc(3, 2, {0, 2, 3}, {0, 2, 1}, {1.0, 2.0, 3.0})({2, 0}).to_double() == 2);
  const Tensor b = Tensor::bsr(3, 2, 2, 2, {0, 1, 1}, {0}, {1.0f, 2.0f, 3.0f, 4.0f});
  CHECK(b.format().is("BSR(2, 2)"));
  CHECK(b({1, 0}).to_double() == 3);
  const Tensor c = Tensor::coo({2, 3, 4}, {{0, 1}, {2, 2}, {3, 0}}, {5.0, 6.0});
  CHECK(c.format().is("COO"));
  CHECK(c({1, 2, 0}).to_double() == 6);
  const Tensor d = Tensor::dense({2, 2}, std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(d({1, 0}).to_int64() == 3);
  CHECK(Tensor::dense({}, {7.0})({}).to_double() == 7);
  CHECK(Tensor::dense({0, 3}, std::vector<double>{}).nse() == 0);
}

TEST_CASE("vectors are copied, or taken over where they are moved in") {
  std::vector<double> values = {1, 2, 3};
  const double* const memory = values.data();
  const std::vector<std::int64_t> pos = {0, 2, 3};
  const std::array<std::int64_t, 3> crd = {0, 2, 1};
  const Tensor copied = Tensor::csr(2, 3, pos, crd, values);
  CHECK(copied.part().values.data != memory);
  values[0] = 9;
  CHECK(copied({0, 0}).to_double() == 1);
  const Tensor moved = Tensor::csr(2, 3, pos, std::span(crd), std::move(values));
  CHECK(moved.part().values.data == memory);
  CHECK(moved({0, 0}).to_double() == 9);
  const Tensor of_temporaries = [] { return Tensor::dense({2}, std::vector<double>{1, 2}); }();
  CHECK(of_temporaries({1}).to_double() == 2);
}

TEST_CASE("a temporary is not borrowed") {
  static_assert(CanBorrow<std::vector<double>&>);
  static_assert(CanBorrow<std::span<const double>>);
  static_assert(!CanBorrow<std::vector<double>>);
}

TEST_CASE("arrays that do not fit") {
  CHECK_THROWS_AS(Tensor::csr(2, 3, {0, 2, 3}, {0, 3, 1}, {1.0, 2.0, 3.0}), TensorError);
  CHECK_THROWS_AS(Tensor::csr(2, 3, {0, 2}, {0, 2, 1}, {1.0, 2.0, 3.0}), TensorError);
  CHECK_THROWS_AS(Tensor::csr(2, 3, {0.0, 2.0, 3.0}, {0, 2, 1}, {1.0, 2.0, 3.0}), DTypeError);
  CHECK_THROWS_AS(Tensor::coo({2, 2}, {{1, 0}, {0, 0}}, {1.0, 2.0}), TensorError);
  CHECK(message([] { Tensor::coo({2, 2}, {{1, 0}}, {1.0, 2.0}); }) ==
        "one list of coordinates per dimension is needed\n  expected  2\n  got       1");
  CHECK(message([] { Tensor::coo({2, 2}, {{1, 0}, {0}}, {1.0, 2.0}); }) ==
        "coordinates of dimension 1 and values differ in length\n  expected  2\n  got       1");
  CHECK(message([] { Tensor::dense({2, 2}, {1.0}); }) ==
        "a dense tensor needs a value for each element\n  expected  4\n  got       1");
  CHECK_THROWS_AS(Tensor::dense({-1, 2}, {1.0}), TensorError);
  CHECK_THROWS_AS(Tensor::dense({std::int64_t{1} << 40, std::int64_t{1} << 40}, {1.0}), TensorError);
}

TEST_CASE("elements are read as what they are") {
  const Tensor t = Tensor::dense({2}, {1.0f, 2.0f});
  CHECK(t.values().as<float>()[1] == 2);
  CHECK(t.values().as<const float>()[1] == 2);
  CHECK(message([&] { t.values().as<double>(); }) ==
        "these elements have another type\n  expected  float32\n  got       float64\n  fix       ask for float32, or "
        "cast() first");
  CHECK_THROWS_AS(t.values().as<std::int32_t>(), DTypeError);
  CHECK(t.values().cast(DType::f16).as<std::uint16_t>()[0] == 0x3C00);
  CHECK_THROWS_AS(t.values().cast(DType::f16).as<std::int16_t>(), DTypeError);
}
