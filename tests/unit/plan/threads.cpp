// Bitwise the same result with any number of threads: real numbers whose sums depend on their order.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "backend/pool.h"
#include "support.h"

using namespace strata;
using namespace strata::testing;

namespace {

DenseArray real_array(const Shape& shape, double density, Rng& rng) {
  DenseArray a(shape);
  for (std::size_t k = 0; k < a.v.size(); ++k) {
    a.stored[k] = static_cast<double>(rng() % 100000) < density * 100000;
    a.v[k] = a.stored[k] ? static_cast<double>(rng() % 2000001) / 1e6 - 1 : 0;
  }
  return a;
}

/// Is every element within rounding of the reference?
bool close(const Tensor& t, const std::vector<double>& expected) {
  const auto got = t.part().values.as<float>();
  if (got.size() != expected.size()) return false;
  for (std::size_t k = 0; k < expected.size(); ++k)
    if (!(std::abs(got[k] - expected[k]) <= 1e-3 + 1e-4 * std::abs(expected[k]))) return false;
  return true;
}

std::vector<unsigned char> bytes(const Tensor& t) {
  const auto* p = static_cast<const unsigned char*>(t.part().values.data);
  return {p, p + t.part().values.bytes()};
}

// Without optimization multiply-adds are not fused in all loops alike.
#if defined(__OPTIMIZE__)
constexpr bool fused = true;
#else
constexpr bool fused = false;
#endif

}  // namespace

TEST_CASE("1, 2 and 7 threads give the same bits" * doctest::skip(!fused)) {
  Rng rng(7);
  // Enough elements that plans cut them into chunks, and enough per row that scatters keep several copies of the
  // result.
  const std::int64_t rows = 1500, columns = 1200, width = 24;
  const DenseArray a = real_array({rows, columns}, 0.1, rng), x = real_array({columns}, 1, rng),
                   m = real_array({columns, width}, 1, rng), z = real_array({rows}, 1, rng);
  DenseArray even = a;
  prune_structured(even, 2, 4);
  const std::vector<std::pair<std::string, Tensor>> tensors = {
      {"CSR", pack("CSR", a, DType::f32)},
      {"CSC", pack("CSC", a, DType::f32)},
      {"COO", pack("COO", a, DType::f32)},
      {"DCSR", pack("(i, j) -> (i : compressed, j : compressed)", a, DType::f32)},
      {"BSR", pack("(i, j) -> (i / 2 : dense, j / 2 : compressed, i % 2 : dense, j % 2 : dense)", a, DType::f32)},
      {"DIA", pack("(i, j) -> (j - i : compressed, i : range)", a, DType::f32)},
      {"delta", pack("(i, j) -> (i : dense, j : delta(4))", a, DType::f32)},
      {"bitmap", pack("(i, j) -> (i : dense, j : bitmap)", a, DType::f32)},
      {"2:4", pack("(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))", even, DType::f32)},
      {"ELL", pack_ell(a, DType::f32)},
  };
  const Tensor vector = dense(x, DType::f32), matrix = dense(m, DType::f32), left = dense(z, DType::f32);
  const struct {
    const char* text;
    const Tensor* other;
    std::vector<int> ranks;
    std::size_t size;
    std::function<void(std::vector<double>&, std::size_t i, std::size_t j, double)> add;
  } products[] = {
      {"ij,j->i", &vector, {2, 1}, 1500, [&](auto& y, auto i, auto j, double v) { y[i] += v * x.v[j].real(); }},
      {"ij,jk->ik",
       &matrix,
       {2, 2},
       36000,
       [&](auto& y, auto i, auto j, double v) {
         for (std::size_t k = 0; k < 24; ++k) y[i * 24 + k] += v * m.v[j * 24 + k].real();
       }},
      {"ij,i->j", &left, {2, 1}, 1200, [&](auto& y, auto i, auto j, double v) { y[j] += v * z.v[i].real(); }},
      {"ij,i->", &left, {2, 1}, 1, [&](auto& y, auto i, auto, double v) { y[0] += v * z.v[i].real(); }},
      {"ij,j->", &vector, {2, 1}, 1, [&](auto& y, auto, auto j, double v) { y[0] += v * x.v[j].real(); }},
  };
  const auto reference = [&](const auto& p, const DenseArray& source) {
    std::vector<double> y(p.size, 0);
    for (std::size_t i = 0; i < 1500; ++i)
      for (std::size_t j = 0; j < 1200; ++j)
        if (source.stored[i * 1200 + j]) p.add(y, i, j, source.v[i * 1200 + j].real());
    return y;
  };
  for (const char* engine : {"jit", "auto"}) {
    const EngineScope scope(engine);
    for (const auto& [name, t] : tensors)
      for (const auto& p : products) {
        CAPTURE(engine);
        CAPTURE(name);
        CAPTURE(p.text);
        const Tensor in[] = {t, *p.other};
        const TensorType types[] = {t.type(), p.other->type()};
        const Plan plan = make_plan(parse_einsum(p.text, p.ranks), types);
        set_thread_count(1);
        const Tensor first = plan.run(in);
        CHECK(close(first, reference(p, name == "2:4" ? even : a)));
        const auto one = bytes(first);
        for (int threads : {2, 7, 2}) {
          set_thread_count(threads);
          CHECK(bytes(plan.run(in)) == one);
        }
        set_thread_count(0);
      }
  }
}
