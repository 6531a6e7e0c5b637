// Chunks cover the domain once, weigh about the same, and fall where the lowering allows.
#include <doctest/doctest.h>

#include "compiler/merge/merge.h"
#include "execute/chunks.h"
#include "execute/dense_view.h"
#include "unit/plan/support.h"

using namespace strata;
using namespace strata::testing;
using execution::Domain;

namespace {

/// CSR with rows of the given lengths.
Tensor csr_of(const std::vector<std::int64_t>& lengths, std::int64_t columns) {
  RawArrays arrays;
  const auto rows = static_cast<std::int64_t>(lengths.size());
  arrays.pos[1] = Buffer::zeros(DType::i32, rows + 1);
  std::int64_t n = 0;
  for (std::int64_t i = 0; i < rows; ++i) arrays.pos[1].set_index(i + 1, n += lengths[static_cast<std::size_t>(i)]);
  arrays.crd[1] = Buffer::zeros(DType::i32, n);
  for (std::int64_t i = 0, k = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < lengths[static_cast<std::size_t>(i)]; ++j) arrays.crd[1].set_index(k++, j);
  arrays.values = Buffer::zeros(DType::f64, n);
  return make_tensor(parse_format("CSR"), {rows, columns}, arrays);
}

}  // namespace

TEST_CASE("weighted chunks: equal stored elements however uneven the rows") {
  Rng rng(1);
  std::vector<std::int64_t> lengths(20000);
  for (auto& l : lengths) l = pick(rng, 0, 9) == 0 ? pick(rng, 100, 400) : pick(rng, 0, 5);
  const Tensor t = csr_of(lengths, 400);
  Launch launch;
  launch.kind = Launch::outer_weighted;
  launch.level = 0;
  launch.weight_level = 1;
  for (std::int64_t granule : {1, 8}) {
    launch.granule = granule;
    const Domain d(launch, t.part(), 0, 0, 1);
    CHECK(d.size() == 20000);
    CHECK(d.stored() == t.part().values.size);
    const std::int64_t n = d.chunks();
    CHECK(n > 4);
    CHECK(d.cut(0, n) == 0);
    CHECK(d.cut(n, n) == d.size());
    const std::int64_t share = (d.stored() + d.size()) / n;
    for (std::int64_t c = 0; c < n; ++c) {
      const std::int64_t begin = d.cut(c, n), end = d.cut(c + 1, n);
      CHECK(begin <= end);
      CHECK(begin % granule == 0);
      std::int64_t weight = end - begin;
      for (std::int64_t i = begin; i < end; ++i) weight += lengths[static_cast<std::size_t>(i)];
      CHECK(weight <= share + 401 * granule);
    }
  }
}

TEST_CASE("one row that holds everything, and empty domains") {
  Launch launch;
  launch.kind = Launch::outer_weighted;
  launch.level = 0;
  launch.weight_level = 1;
  std::vector<std::int64_t> lengths(100, 0);
  lengths[50] = 200000;
  const Tensor t = csr_of(lengths, 200000);
  const Domain d(launch, t.part(), 0, 0, 1);
  std::int64_t covered = 0;
  for (std::int64_t c = 0, n = d.chunks(); c < n; ++c) covered += d.cut(c + 1, n) - d.cut(c, n);
  CHECK(covered == 100);
  const Tensor none = csr_of({}, 4);
  CHECK(Domain(launch, none.part(), 0, 0, 1).size() == 0);
  CHECK(Domain(launch, none.part(), 0, 0, 1).chunks() == 1);
}

TEST_CASE("aligned chunks begin where the coordinate changes") {
  Rng rng(2);
  const std::int64_t n = 150000;
  RawArrays arrays;
  arrays.crd[0] = Buffer::zeros(DType::i64, n);
  arrays.crd[1] = Buffer::zeros(DType::i64, n);
  std::int64_t row = 0, column = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    if (pick(rng, 0, k > 60000 && k < 100000 ? 100000 : 20) == 0) ++row, column = 0;
    arrays.crd[0].set_index(k, row);
    arrays.crd[1].set_index(k, column++);
  }
  arrays.values = Buffer::zeros(DType::f64, n);
  const Tensor t = make_tensor(parse_format("COO"), {row + 1, n}, arrays);
  Launch launch;
  launch.kind = Launch::outer_aligned;
  launch.level = 0;
  const Domain d(launch, t.part(), 0, 0, 1);
  CHECK(d.size() == n);
  const std::int64_t chunks = d.chunks();
  CHECK(chunks > 2);
  for (std::int64_t c = 1; c < chunks; ++c) {
    const std::int64_t x = d.cut(c, chunks);
    CHECK(x >= d.cut(c - 1, chunks));
    if (x > 0 && x < n) CHECK(t.crd(0).index(x) != t.crd(0).index(x - 1));
  }
}

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
