// Elementwise work on strided memory.
#include "execute/dense_view.h"

#include <doctest/doctest.h>

#include "compiler/merge.h"
#include "unit/plan/support.h"

using namespace strata;
using namespace strata::testing;

TEST_CASE("dense views: scale, add, convert, overlap") {
  Rng rng(3);
  for (int order = 0; order < 4; ++order)
    for (DType t : {DType::f64, DType::i8, DType::c64, DType::boolean, DType::u16}) {
      const bool positive = is_unsigned_int(t) || t == DType::boolean;
      DenseArray a = random_array({3, 4, 5}, 1, is_complex(t), positive, rng),
                 b = random_array({3, 4, 5}, 1, is_complex(t), positive, rng);
      if (t == DType::boolean)
        for (auto* array : {&a, &b})
          for (auto& x : array->v) x = x != Complex(0) ? 1 : 0;
      const Tensor ta = dense(a, t, order), tb = dense(b, t, (order + 1) % 4);
      execution::combine(execution::view_of(ta), execution::view_of(tb), merging::Combine::plus);
      DenseArray sum = a;
      for (std::size_t k = 0; k < sum.v.size(); ++k)
        sum.v[k] = t == DType::boolean ? Complex(a.v[k] != 0.0 || b.v[k] != 0.0) : a.v[k] + b.v[k];
      CHECK(read(ta).v == sum.v);
      if (t != DType::boolean) {
        execution::scale(execution::view_of(ta), Scalar::of(2.0).as(t));
        for (auto& x : sum.v) x *= 2;
        CHECK(read(ta).v == sum.v);
      }
      const Tensor wide = dense(DenseArray({3, 4, 5}), is_complex(t) ? DType::c128 : DType::f32, order);
      execution::assign(execution::view_of(wide), execution::view_of(ta));
      CHECK(read(wide).v == sum.v);
      execution::scale(execution::view_of(ta), Scalar::zero(t));
      for (const auto& x : read(ta).v) CHECK(x == Complex(0));
      CHECK(!execution::overlaps_itself(execution::view_of(ta)));
    }
  Buffer memory = Buffer::zeros(DType::f64, 20);
  const auto overlaps = [&](Shape shape, std::vector<std::int64_t> strides) {
    return execution::overlaps_itself(execution::view_of(borrow_dense(memory, shape, strides)));
  };
  CHECK(overlaps({4, 3}, {1, 1}));
  CHECK(overlaps({3}, {0}));
  CHECK(!overlaps({3, 1}, {1, 0}));
  CHECK(!overlaps({3, 2}, {2, 1}));
  CHECK(overlaps({3, 3}, {2, 1}));
}
