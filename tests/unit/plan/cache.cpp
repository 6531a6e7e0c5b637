// Choices by structure: found again for the same one, made anew for another or where settings changed.
#include <doctest/doctest.h>

#include "plan/plan_impl.h"
#include "strata/settings.h"
#include "strata/strata.h"

using namespace strata;

namespace {

TensorType matrix(const char* format, Shape shape, DType dtype = DType::f64) {
  TensorType t;
  t.format = parse_format(format, static_cast<int>(shape.size()));
  t.shape = std::move(shape);
  t.dtype = dtype;
  t.fill = Scalar::zero(dtype);
  return t;
}

planning::ChoicePtr choice(const char* einsum, const TensorType& a, const TensorType& b, const TensorType& out) {
  const TensorType types[] = {a, b};
  const int ranks[] = {static_cast<int>(a.shape.size()), static_cast<int>(b.shape.size())};
  return planning::choice_for(parse_einsum(einsum, ranks), types, out, DType::f64);
}

}  // namespace

TEST_CASE("the same structure finds the same choice") {
  const TensorType a = matrix("CSR", {7, 5}), x = matrix("dense", {5}), y = matrix("dense", {7});
  const auto first = choice("ij,j->i", a, x, y);
  CHECK(choice("ij,j->i", a, x, y) == first);
  CHECK(choice("ab,b->a", a, x, y) == first);  // names do not count
  CHECK(choice("ij,j->i", matrix("CSC", {7, 5}), x, y) != first);
  CHECK(choice("ij,j->i", matrix("(i, j) -> (i: dense, j: compressed)", {7, 5}), x, y) == first);
  CHECK(choice("ij,j->i", matrix("CSR", {8, 5}), x, matrix("dense", {8})) != first);
  CHECK(choice("ij,i->j", matrix("CSR", {7, 7}), matrix("dense", {7}), matrix("dense", {7})) !=
        choice("ij,j->i", matrix("CSR", {7, 7}), matrix("dense", {7}), matrix("dense", {7})));
}

TEST_CASE("what decides beside types asks anew") {
  const TensorType a = matrix("CSR", {7, 5}), x = matrix("dense", {5}), y = matrix("dense", {7});
  const auto first = choice("ij,j->i", a, x, y);
  const std::string engine = settings().engine;
  settings().engine = "interpreter";
  const auto other = choice("ij,j->i", a, x, y);
  CHECK(other != first);
  settings().engine = engine;
  CHECK(choice("ij,j->i", a, x, y) == first);
  UserKernel k;
  k.name = "of the cache's test";
  k.expression = "ij,j->i";
  k.formats = {parse_format("COO"), parse_format("dense", 1)};
  k.run = [](std::span<const Tensor>, const Tensor&, const Scalar&, const Scalar&) {};
  register_kernel(k);
  CHECK(choice("ij,j->i", a, x, y) != first);
  unregister_kernel(k.name);
}

TEST_CASE("a thousand structures stay, and those before leave") {
  const auto at = [](std::int64_t n) {
    return choice("ij,j->i", matrix("CSR", {3, n}), matrix("dense", {n}), matrix("dense", {3}));
  };
  const std::weak_ptr<const planning::Choice> oldest = at(1);
  const std::weak_ptr<const planning::Choice> later = at(600);
  CHECK(!oldest.expired());
  for (std::int64_t n = 1000; n < 1000 + 1000; ++n) at(n);
  CHECK(at(600) == later.lock());  // asked for again: young
  for (std::int64_t n = 2000; n < 2000 + 200; ++n) at(n);
  CHECK(oldest.expired());
  CHECK(!later.expired());
}
