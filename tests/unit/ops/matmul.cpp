// matmul against NumPy's rules, written out as loops here.
#include <doctest/doctest.h>

#include "strata/ops.h"
#include "unit/plan/support.h"

using namespace strata;
using namespace strata::testing;

namespace {

/// numpy.matmul by its documentation: vectors get a dimension of 1 that the result loses, batches broadcast.
DenseArray numpy_matmul(DenseArray a, DenseArray b) {
  const bool row = a.shape.size() == 1, column = b.shape.size() == 1;
  if (row) a.shape.insert(a.shape.begin(), 1);
  if (column) b.shape.push_back(1);
  const std::size_t rank = std::max(a.shape.size(), b.shape.size());
  while (a.shape.size() < rank) a.shape.insert(a.shape.begin(), 1);
  while (b.shape.size() < rank) b.shape.insert(b.shape.begin(), 1);
  Shape shape;
  for (std::size_t d = 0; d + 2 < rank; ++d) shape.push_back(a.shape[d] == 1 ? b.shape[d] : a.shape[d]);
  shape.push_back(a.shape[rank - 2]);
  shape.push_back(b.shape[rank - 1]);
  DenseArray out(shape);
  for_each_index(shape, [&](const std::vector<std::int64_t>& c) {
    std::vector<std::int64_t> ca = c, cb = c;
    for (std::size_t d = 0; d + 2 < rank; ++d) {
      if (a.shape[d] == 1) ca[d] = 0;
      if (b.shape[d] == 1) cb[d] = 0;
    }
    for (std::int64_t k = 0; k < a.shape[rank - 1]; ++k) {
      ca[rank - 1] = cb[rank - 2] = k;
      out.v[out.at(c)] += a.v[a.at(ca)] * b.v[b.at(cb)];
    }
  });
  if (column) out.shape.pop_back();
  if (row) out.shape.erase(out.shape.end() - (column ? 1 : 2));
  return out;
}

DenseArray transposed(const DenseArray& a) {
  DenseArray t({a.shape[1], a.shape[0]});
  for_each_index(a.shape, [&](const std::vector<std::int64_t>& c) {
    t.v[t.at(std::vector<std::int64_t>{c[1], c[0]})] = a.v[a.at(c)];
    t.stored[t.at(std::vector<std::int64_t>{c[1], c[0]})] = a.stored[a.at(c)];
  });
  return t;
}
DenseArray conjugated(DenseArray a) {
  for (auto& x : a.v) x = std::conj(x);
  return a;
}

template <class F> std::string message(F f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "no error";
}

}  // namespace

TEST_CASE("matmul: every pair of ranks, batches broadcast, either side sparse") {
  const std::vector<Shape> left = {{4}, {3, 4}, {2, 3, 4}, {1, 3, 4}, {5, 1, 3, 4}, {0, 4}, {2, 0, 4}};
  const std::vector<Shape> right = {{4}, {4, 6}, {2, 4, 6}, {1, 4, 6}, {5, 2, 4, 6}, {4, 0}};
  for (const auto& sa : left)
    for (const auto& sb : right)
      for (int sparse : {0, 1, 2}) {
        Rng rng(sa.size() * 100 + sb.size() * 10 + static_cast<std::size_t>(sparse));
        if (sa.size() > 2 && sb.size() > 2 && sa[sa.size() - 3] != 1 && sb[sb.size() - 3] != 1 &&
            sa[sa.size() - 3] != sb[sb.size() - 3])
          continue;
        const DenseArray a = random_array(sa, sparse == 1 ? 0.4 : 1, false, false, rng),
                         b = random_array(sb, sparse == 2 ? 0.4 : 1, false, false, rng);
        const Tensor ta = sparse == 1 ? pack("COO", a, DType::f64) : dense(a, DType::f64),
                     tb = sparse == 2 ? pack("COO", b, DType::f64) : dense(b, DType::f64);
        const DenseArray expected = numpy_matmul(a, b), got = read(matmul(ta, tb));
        CAPTURE(ta.type().to_string());
        CAPTURE(tb.type().to_string());
        CHECK(got.shape == expected.shape);
        CHECK(got.v == expected.v);
      }
}

TEST_CASE("matmul: transposes, conjugates, alpha, beta, any strides of c") {
  const std::vector<std::string> formats = {
      "CSR", "CSC", "COO", "(i, j) -> (j - i : compressed, i : range)",
      "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)"};
  int n = 0;
  for (const auto& format : formats)
    for (int flags = 0; flags < 16; ++flags)
      for (bool sparse_left : {true, false}) {
        Rng rng(static_cast<std::uint64_t>(++n));
        MatmulOptions o;
        o.transpose_a = flags & 1, o.transpose_b = flags & 2, o.conjugate_a = flags & 4, o.conjugate_b = flags & 8;
        const DType t = n % 3 == 0 ? DType::c128 : n % 3 == 1 ? DType::f64 : DType::f32;
        const DenseArray a =
            random_array(o.transpose_a ? Shape{5, 7} : Shape{7, 5}, sparse_left ? 0.4 : 1, is_complex(t), false, rng);
        const DenseArray b =
            random_array(o.transpose_b ? Shape{6, 5} : Shape{5, 6}, sparse_left ? 1 : 0.4, is_complex(t), false, rng);
        const Tensor ta = sparse_left ? pack(format, a, t) : dense(a, t, n % 4),
                     tb = sparse_left ? dense(b, t, n % 4) : pack(format, b, t);
        DenseArray ea = o.transpose_a ? transposed(a) : a, eb = o.transpose_b ? transposed(b) : b;
        if (o.conjugate_a) ea = conjugated(ea);
        if (o.conjugate_b) eb = conjugated(eb);
        DenseArray expected = numpy_matmul(ea, eb);
        CAPTURE(format);
        CAPTURE(flags);
        CAPTURE(sparse_left);
        CHECK(read(matmul(ta, tb, o)).v == expected.v);
        const DenseArray before = random_array(expected.shape, 1, is_complex(t), false, rng);
        const Tensor c = dense(before, t, (n / 2) % 4);
        matmul_into(ta, tb, c, Scalar::of(2.0), Scalar::of(-1.0), o);
        for (std::size_t k = 0; k < expected.v.size(); ++k) expected.v[k] = 2.0 * expected.v[k] - before.v[k];
        CHECK(read(c).v == expected.v);
      }
}

TEST_CASE("matmul: errors") {
  Rng rng(1);
  const Tensor a = pack("CSR", random_array({3, 4}, 0.5, false, false, rng), DType::f64),
               one = dense(DenseArray({2, 1}), DType::f64);
  CHECK(message([&] { matmul(a, dense(DenseArray({5}), DType::f64)); }) ==
        "the inner extents of a @ b differ\n"
        "  expected  4, as in a of shape (3, 4)\n"
        "  got       5 in b of shape (5,)");
  CHECK(message([&] { matmul(one, a); }).find("the inner extents of a @ b differ") == 0);  // 1 does not stretch here
  CHECK(message([&] { matmul(a, dense(DenseArray(Shape{}), DType::f64)); }).find("matmul of a scalar") == 0);
}

TEST_CASE("Matmul: plan once, execute often, new operands of the same types") {
  Rng rng(2);
  const DenseArray a = random_array({6, 5}, 0.4, false, false, rng), a2 = random_array({6, 5}, 0.6, false, false, rng),
                   x = random_array({5, 3}, 1, false, false, rng);
  Matmul m(pack("CSR", a, DType::f64), dense(x, DType::f64));
  CHECK(message([&] { m.execute(); }).find("execute() before plan()") == 0);
  m.plan();
  CHECK(read(m.execute()).v == numpy_matmul(a, x).v);
  m.reset_operands(pack("CSR", a2, DType::f64), {}, {});
  CHECK(read(m.execute()).v == numpy_matmul(a2, x).v);
  m.reset_operands({}, {}, {}, Scalar::of(3.0));
  DenseArray expected = numpy_matmul(a2, x);
  for (auto& v : expected.v) v *= 3;
  CHECK(read(m.execute()).v == expected.v);
  CHECK(message([&] { m.reset_operands(pack("CSC", a, DType::f64), {}, {}); }).find("operand a has another type") == 0);
  CHECK(message([&] {
          m.reset_operands({}, {}, dense(DenseArray({6, 3}), DType::f64));
        }).find("c was not planned for") == 0);
  // c := a @ b + c, in place
  const DenseArray before = random_array({6, 3}, 1, false, false, rng);
  const Tensor c = dense(before, DType::f64, 1);
  Matmul add(pack("CSR", a, DType::f64), dense(x, DType::f64), c);
  add.plan();
  CHECK(add.execute().same_object(c));
  expected = numpy_matmul(a, x);
  for (std::size_t k = 0; k < expected.v.size(); ++k) expected.v[k] += before.v[k];
  CHECK(read(c).v == expected.v);
  CHECK(message([&] {
          Matmul(pack("CSR", a, DType::f64), dense(x, DType::f64), {}, Scalar::of(1.0), Scalar::of(2.0));
        }).find("beta without c") == 0);
}
