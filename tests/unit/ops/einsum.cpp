#include <doctest/doctest.h>

#include "strata/ops.h"
#include "unit/plan/support.h"

using namespace strata;
using namespace strata::testing;

TEST_CASE("einsum: texts over sparse and dense operands") {
  const struct {
    const char* text;
    std::vector<Shape> shapes;
    int sparse;
  } rows[] = {
      {"ij,j->i", {{5, 4}, {4}}, 0},
      {"ij,jk->ik", {{5, 4}, {4, 3}}, 1},
      {"i,ij->j", {{5}, {5, 4}}, 1},
      {"ij->ji", {{5, 4}}, 0},
      {"ij->", {{5, 4}}, 0},
      {"ii", {{4, 4}}, 0},
      {"ii->i", {{4, 4}}, 0},
      {"ijk,kl,jm->ilm", {{3, 4, 5}, {5, 2}, {4, 3}}, 0},
      {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 3}}, 0},
      {"...ij,...jk", {{2, 3, 4}, {4, 3}}, 1},
      {"ij,i,j->", {{5, 4}, {5}, {4}}, 0},
      {"ij,j->i", {{5, 1}, {4}}, 0},
      {"ij,j->i", {{0, 4}, {4}}, 0},
      {"ij,j->i", {{4, 0}, {0}}, 0},
      {",ij->ij", {{}, {3, 4}}, 1},
      {"ijkl,ij->kl", {{2, 3, 2, 3}, {2, 3}}, 0},
      {"ij,ij->ij", {{5, 4}, {5, 4}}, 0},
      {"ik,kj->ij", {{3, 4}, {4, 5}}, -1},
      {"ij,k->ijk", {{3, 4}, {2}}, 0},
      {"i,j->ij", {{3}, {4}}, 0},
  };
  for (const auto& r : rows) {
    Rng rng(11);
    std::vector<DenseArray> arrays;
    std::vector<Tensor> operands;
    std::vector<int> ranks;
    for (std::size_t k = 0; k < r.shapes.size(); ++k) {
      const bool sparse = static_cast<int>(k) == r.sparse && !r.shapes[k].empty();
      arrays.push_back(random_array(r.shapes[k], sparse ? 0.5 : 1, false, false, rng));
      operands.push_back(sparse ? pack("COO", arrays.back(), DType::f64) : dense(arrays.back(), DType::f64));
      ranks.push_back(static_cast<int>(r.shapes[k].size()));
    }
    CAPTURE(r.text);
    const DenseArray expected = oracle(parse_einsum(r.text, ranks), arrays), got = read(einsum(r.text, operands));
    CHECK(got.shape == expected.shape);
    CHECK(got.v == expected.v);
  }
}

TEST_CASE("einsum: dtypes promote as NumPy's, and can be asked for") {
  Rng rng(12);
  const DenseArray a = random_array({3, 3}, 0.5, false, true, rng), x = random_array({3}, 1, false, true, rng);
  const auto type = [&](DType s, DType d, PlanOptions o = {}) {
    const Tensor in[] = {pack("CSR", a, s), dense(x, d)};
    return einsum("ij,j->i", in, o).dtype();
  };
  CHECK(type(DType::f32, DType::f64) == DType::f64);
  CHECK(type(DType::i32, DType::f32) == DType::f64);
  CHECK(type(DType::i8, DType::u8) == DType::i16);
  CHECK(type(DType::f16, DType::f16) == DType::f16);
  CHECK(type(DType::boolean, DType::boolean) == DType::boolean);
  CHECK(type(DType::c64, DType::f64) == DType::c128);
  PlanOptions wide;
  wide.output_dtype = DType::f64;
  CHECK(type(DType::f16, DType::f16, wide) == DType::f64);
}

TEST_CASE("einsum: integers wrap, f16 rounds once") {
  DenseArray a({1, 300}), x({300});
  for (auto& v : a.v) v = 1;
  for (auto& v : x.v) v = 1;
  const Tensor bytes[] = {pack("CSR", a, DType::i8), dense(x, DType::i8)};
  CHECK(read(einsum("ij,j->i", bytes)).v[0] == Complex(300 - 256));
  // 2048 + 1 + 1 + ... stays 2048 where every sum is rounded to f16.
  a.v[0] = 2048;
  const Tensor halves[] = {pack("CSR", a, DType::f16), dense(x, DType::f16)};
  CHECK(read(einsum("ij,j->i", halves)).v[0] == Complex(2348));
  const Tensor columns[] = {pack("CSC", a, DType::f16), dense(x, DType::f16)};
  CHECK(read(einsum("ij,j->i", columns)).v[0] == Complex(2348));
}
