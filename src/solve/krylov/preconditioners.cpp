// Approximate inverses that are cheap to make and to apply.
#include <algorithm>

#include "backend/steps.h"
#include "solve/factors.h"
#include "solve/krylov/vectors.h"
#include "strata/ops.h"

namespace strata {
namespace solving {
namespace {

/// Rows of a square matrix: CSR, as columns of the transpose.
template <class T> Matrix<T> rows_of(const Tensor& a) {
  if (a.rank() != 2 || a.shape()[0] != a.shape()[1])
    throw TensorError(
        {.what = "a preconditioner is made of a square matrix", .expected = "n x n", .got = a.type().to_string()});
  constexpr int turned[] = {1, 0};
  Tensor t = a.transpose(turned);
  if (t.format().is_all_dense()) t = convert(t, "CSC", {.zeros = Zeros::drop});
  if (!t.fill().is_zero())
    throw Unsupported(
        {.what = "a preconditioner is made of a matrix of fill 0", .got = "fill " + t.fill().to_string()});
  return matrices_of<T>(t)[0];
}

template <class T> const T* in(const Tensor& x) {
  return static_cast<const T*>(x.part().values.data) + x.part().values_offset;
}
template <class T> T* out(const Tensor& y) { return static_cast<T*>(y.part().values.data) + y.part().values_offset; }

[[noreturn]] void refuse_diagonal(std::int64_t row, const char* what, const std::string& got) {
  throw SingularError({.what = std::string(what) + " cannot go on in row " + std::to_string(row),
                       .expected = "a pivot that is not 0",
                       .got = got,
                       .fix = "another preconditioner, or rows in another order"});
}

template <class T> LinearOperator::Apply jacobi(const Tensor& a) {
  const Matrix<T> m = rows_of<T>(a);
  auto inverse = std::make_shared<std::vector<T>>(static_cast<std::size_t>(m.rows), T{});
  for_each(m, [&](std::int64_t i, std::int64_t j, T v) {
    if (i == j) (*inverse)[static_cast<std::size_t>(i)] = v;
  });
  for (std::size_t i = 0; i < inverse->size(); ++i) {
    if ((*inverse)[i] == T{}) refuse_diagonal(static_cast<std::int64_t>(i), "Jacobi", "0 on the diagonal");
    (*inverse)[i] = T{1} / (*inverse)[i];
  }
  return [inverse](const Tensor& x, const Tensor& y) {
    const T *from = in<T>(x), *d = inverse->data();
    T* to = out<T>(y);
    over_blocks(static_cast<std::int64_t>(inverse->size()), [=](std::int64_t k, std::int64_t end) {
      for (; k < end; ++k) to[k] = times(d[k], from[k]);
    });
  };
}

/// Inverts a row-major block in place (Gauss and Jordan, pivoting by rows); false where it is singular.
template <class T> bool invert(T* a, std::int64_t n, std::vector<std::int64_t>& order) {
  order.resize(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t best = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (magnitude(a[i * n + k]) > magnitude(a[best * n + k])) best = i;
    order[static_cast<std::size_t>(k)] = best;
    if (!(magnitude(a[best * n + k]) > 0)) return false;
    if (best != k) std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
    const T pivot = T{1} / a[k * n + k];
    a[k * n + k] = T{1};
    for (std::int64_t j = 0; j < n; ++j) a[k * n + j] = times(a[k * n + j], pivot);
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const T by = a[i * n + k];
      a[i * n + k] = T{};
      for (std::int64_t j = 0; j < n; ++j) a[i * n + j] -= times(by, a[k * n + j]);
    }
  }
  for (std::int64_t k = n; k-- > 0;)
    if (const std::int64_t other = order[static_cast<std::size_t>(k)]; other != k)
      for (std::int64_t i = 0; i < n; ++i) std::swap(a[i * n + k], a[i * n + other]);
  return true;
}

template <class T> LinearOperator::Apply block_jacobi(const Tensor& a, std::int64_t size) {
  if (size < 1)
    throw TensorError({.what = "blocks have a row at least", .expected = "1 or more", .got = std::to_string(size)});
  const Matrix<T> m = rows_of<T>(a);
  size = std::min(size, std::max<std::int64_t>(m.rows, 1));
  const std::int64_t n = m.rows, blocks = (n + size - 1) / size;
  auto inverse = std::make_shared<std::vector<T>>(static_cast<std::size_t>(blocks * size * size), T{});
  for_each(m, [&](std::int64_t j, std::int64_t i, T v) {  // m's columns are the rows
    if (const std::int64_t k = i / size; k == j / size) {
      const std::int64_t width = std::min(size, n - k * size);
      (*inverse)[static_cast<std::size_t>(k * size * size + i % size * width + j % size)] = v;
    }
  });
  std::vector<std::int64_t> order;
  for (std::int64_t k = 0; k < blocks; ++k) {
    poll_at(k + 1);
    if (!invert(inverse->data() + k * size * size, std::min(size, n - k * size), order))
      refuse_diagonal(k * size, "block-Jacobi", "a singular block");
  }
  return [=](const Tensor& x, const Tensor& y) {
    const T *from = in<T>(x), *all = inverse->data();
    T* to = out<T>(y);
    const std::int64_t together = std::max<std::int64_t>(1, piece / size);
    parallel_for((blocks + together - 1) / together, [=](std::int64_t c) {
      for (std::int64_t k = c * together; k < std::min(blocks, (c + 1) * together); ++k) {
        const std::int64_t first = k * size, width = std::min(size, n - first);
        const T* row = all + k * size * size;
        for (std::int64_t i = 0; i < width; ++i, row += width) {
          T sum{};
          for (std::int64_t j = 0; j < width; ++j) sum += times(row[j], from[first + j]);
          to[first + i] = sum;
        }
      }
    });
  };
}

/// Rows of L and U in one pattern; diagonal[i] is the place of (i, i), inverse[i] its reciprocal.
template <class T> struct Incomplete {
  std::vector<std::int32_t> pos, crd, diagonal;
  std::vector<T> values, inverse;
};

template <class T> LinearOperator::Apply ilu0(const Tensor& a) {
  const Matrix<T> m = rows_of<T>(a);
  const std::int64_t n = m.rows;
  auto f = std::make_shared<Incomplete<T>>();
  f->pos.assign(m.pos, m.pos + n + 1), f->crd.assign(m.crd, m.crd + m.stored()),
      f->values.assign(m.values, m.values + m.stored());
  f->diagonal.resize(static_cast<std::size_t>(n)), f->inverse.resize(static_cast<std::size_t>(n));
  std::vector<std::int32_t> place(static_cast<std::size_t>(n), -1);
  for (std::int64_t i = 0; i < n; ++i) {
    poll_at(i + 1);
    const std::int32_t begin = f->pos[static_cast<std::size_t>(i)], end = f->pos[static_cast<std::size_t>(i + 1)];
    std::int32_t at = -1;
    for (std::int32_t p = begin; p < end; ++p) {
      place[static_cast<std::size_t>(f->crd[static_cast<std::size_t>(p)])] = p;
      if (f->crd[static_cast<std::size_t>(p)] == i) at = p;
    }
    if (at < 0) refuse_diagonal(i, "ILU(0)", "nothing stored on the diagonal");
    for (std::int32_t p = begin; p < at; ++p) {
      const auto k = static_cast<std::size_t>(f->crd[static_cast<std::size_t>(p)]);
      const T l = f->values[static_cast<std::size_t>(p)] = times(f->values[static_cast<std::size_t>(p)], f->inverse[k]);
      for (std::int32_t q = f->diagonal[k] + 1; q < f->pos[k + 1]; ++q)
        if (const std::int32_t to = place[static_cast<std::size_t>(f->crd[static_cast<std::size_t>(q)])]; to >= 0)
          f->values[static_cast<std::size_t>(to)] -= times(l, f->values[static_cast<std::size_t>(q)]);
    }
    const T pivot = f->values[static_cast<std::size_t>(at)];
    if (!(magnitude(pivot) > 0) || !is_finite(pivot)) refuse_diagonal(i, "ILU(0)", "a pivot of 0");
    f->diagonal[static_cast<std::size_t>(i)] = at, f->inverse[static_cast<std::size_t>(i)] = T{1} / pivot;
    for (std::int32_t p = begin; p < end; ++p)
      place[static_cast<std::size_t>(f->crd[static_cast<std::size_t>(p)])] = -1;
  }
  return [f, n](const Tensor& x, const Tensor& y) {
    const T *from = in<T>(x), *v = f->values.data(), *d = f->inverse.data();
    const std::int32_t *pos = f->pos.data(), *crd = f->crd.data(), *middle = f->diagonal.data();
    T* to = out<T>(y);
    for (std::int64_t i = 0; i < n; ++i) {
      poll_at(i + 1);
      T sum = from[i];
      for (std::int32_t p = pos[i]; p < middle[i]; ++p) sum -= times(v[p], to[crd[p]]);
      to[i] = sum;
    }
    for (std::int64_t i = n; i-- > 0;) {
      poll_at(i + 1);
      T sum = to[i];
      for (std::int32_t p = middle[i] + 1; p < pos[i + 1]; ++p) sum -= times(v[p], to[crd[p]]);
      to[i] = times(sum, d[i]);
    }
  };
}

template <class T> LinearOperator::Apply ic0(const Tensor& a) {
  const Matrix<T> m = rows_of<T>(a);
  const std::int64_t n = m.rows;
  auto f = std::make_shared<Incomplete<T>>();  // rows of L without the diagonal
  f->pos.assign(1, 0);
  f->inverse.resize(static_cast<std::size_t>(n));
  std::vector<T> row(static_cast<std::size_t>(n), T{});
  for (std::int64_t i = 0; i < n; ++i) {
    poll_at(i + 1);
    const auto begin = f->crd.size();
    T own{};
    for (std::int32_t p = m.pos[i]; p < m.pos[i + 1] && m.crd[p] <= i; ++p) {
      if (m.crd[p] == i) own = m.values[p];
      else f->crd.push_back(m.crd[p]), row[static_cast<std::size_t>(m.crd[p])] = m.values[p];
    }
    double pivot = real_part(own);
    for (std::size_t p = begin; p < f->crd.size(); ++p) {
      const auto k = static_cast<std::size_t>(f->crd[p]);
      T sum = row[k];
      for (std::int32_t q = f->pos[k]; q < f->pos[k + 1]; ++q)
        sum -= times(row[static_cast<std::size_t>(f->crd[static_cast<std::size_t>(q)])],
                     conjugate(f->values[static_cast<std::size_t>(q)]));
      row[k] = times(sum, f->inverse[k]);
      f->values.push_back(row[k]);
      pivot -= square(row[k]);
    }
    if (!(pivot > 0))
      throw IndefiniteError({.what = "IC(0) cannot go on in row " + std::to_string(i),
                             .expected = "a positive pivot",
                             .got = Scalar::of(pivot).to_string(),
                             .fix = "ilu0 or jacobi"});
    f->inverse[static_cast<std::size_t>(i)] = T(static_cast<Real<T>>(1 / std::sqrt(pivot)));
    for (std::size_t p = begin; p < f->crd.size(); ++p) row[static_cast<std::size_t>(f->crd[p])] = T{};
    f->pos.push_back(static_cast<std::int32_t>(f->crd.size()));
  }
  return [f, n](const Tensor& x, const Tensor& y) {
    const T *from = in<T>(x), *v = f->values.data(), *d = f->inverse.data();
    const std::int32_t *pos = f->pos.data(), *crd = f->crd.data();
    T* to = out<T>(y);
    for (std::int64_t i = 0; i < n; ++i) {
      poll_at(i + 1);
      T sum = from[i];
      for (std::int32_t p = pos[i]; p < pos[i + 1]; ++p) sum -= times(v[p], to[crd[p]]);
      to[i] = times(sum, d[i]);
    }
    for (std::int64_t i = n; i-- > 0;) {  // L^H: row by row its columns
      poll_at(i + 1);
      const T value = to[i] = times(to[i], d[i]);
      for (std::int32_t p = pos[i]; p < pos[i + 1]; ++p) to[crd[p]] -= times(conjugate(v[p]), value);
    }
  };
}

LinearOperator made(const Tensor& a, std::optional<DType> dtype, std::string name, const auto& make) {
  LinearOperator out;
  out.dtype = solved_in(dtype.value_or(a.dtype()));
  out.name = std::move(name);
  out.apply = with_scalar(out.dtype, make);
  out.rows = out.columns = a.shape()[0];
  return out;
}

}  // namespace
}  // namespace solving

LinearOperator jacobi(const Tensor& a, std::optional<DType> dtype) {
  return solving::made(a, dtype, "Jacobi", [&]<class T>(T) { return solving::jacobi<T>(a); });
}
LinearOperator block_jacobi(const Tensor& a, std::int64_t size, std::optional<DType> dtype) {
  return solving::made(a, dtype, "block-Jacobi(" + std::to_string(size) + ")",
                       [&]<class T>(T) { return solving::block_jacobi<T>(a, size); });
}
LinearOperator ilu0(const Tensor& a, std::optional<DType> dtype) {
  return solving::made(a, dtype, "ILU(0)", [&]<class T>(T) { return solving::ilu0<T>(a); });
}
LinearOperator ic0(const Tensor& a, std::optional<DType> dtype) {
  return solving::made(a, dtype, "IC(0)", [&]<class T>(T) { return solving::ic0<T>(a); });
}

}  // namespace strata
