// Sums of parts: one element of several, and index dtypes that the parts have in common.
#include <doctest/doctest.h>

#include "strata/tensor.h"

using namespace strata;

namespace {

template <class T> Buffer array(std::initializer_list<T> list) {
  return Buffer::copy_of(std::span<const T>(list.begin(), list.size()));
}

/// 2 x 2 of fill 5, from the pos and crd of level 1.
Tensor part(const char* format, Buffer pos, Buffer crd, Buffer values) {
  RawArrays raw;
  if (pos.size > 0) raw.pos[1] = std::move(pos);
  raw.crd[1] = std::move(crd);
  raw.values = std::move(values);
  return make_tensor(parse_format(format, 2), {2, 2}, std::move(raw), Scalar::of(5.0));
}
template <class P = std::int32_t> Tensor csr(double value) {
  return part("CSR", array<P>({0, 0, 1}), array<std::int8_t>({1}), array<double>({value}));
}

double at(const Tensor& t, std::int64_t i, std::int64_t j) {
  const std::int64_t c[] = {i, j};
  return t.get(c).value_or(t.fill()).to_double();
}

}  // namespace

TEST_CASE("fill-in of one part stands for nothing where another part stores something") {
  const Tensor blocks =
      part("BSR(2, 2)", array<std::int32_t>({0, 1}), array<std::int8_t>({0}), array<double>({7, 5, 5, 5}));
  const Tensor parts[] = {blocks, csr(3)};
  const Tensor sum = make_sum(parts);
  CHECK(at(sum, 0, 0) == 7);
  CHECK(at(sum, 1, 1) == 3);
  CHECK(at(sum, 0, 1) == 5);
  CHECK(at(blocks, 1, 1) == 5);
}

TEST_CASE("what two parts store at one place is added") {
  const Tensor parts[] = {csr(7), csr(3)};
  CHECK(at(make_sum(parts), 1, 1) == 10);
  const Tensor fives[] = {csr(5), csr(5)};  // a CSR has no fill-in: these are values
  CHECK(at(make_sum(fives), 1, 1) == 10);
}

TEST_CASE("parts without an index array do not decide its dtype") {
  const Tensor ell =
      part("(i, j) -> (i : dense, j : padded(1))", {}, array<std::int8_t>({0, -1}), array<double>({1, 0}));
  const Tensor a = csr<std::int16_t>(1);
  const Tensor parts[] = {ell, a};
  const Tensor sum = make_sum(parts);
  CHECK(sum.type().pos_dtype == DType::i16);
  CHECK(sum.type().crd_dtype == DType::i8);
  CHECK(sum.part(1).levels[1].pos.data == a.part().levels[1].pos.data);  // borrowed, not widened
  const Tensor mixed[] = {csr<std::uint8_t>(1), a};
  CHECK(make_sum(mixed).type().pos_dtype == DType::i64);
}

TEST_CASE("values without memory are refused") {
  RawArrays raw;
  raw.values = Buffer::borrow(DType::f64, nullptr, 4);
  CHECK_THROWS_AS(make_tensor(parse_format("dense", 2), {2, 2}, raw), TensorError);
}
