// Restarted GMRES (Saad and Schultz 1986), preconditioned from the right. A new vector is made orthogonal to all kept
// ones in two passes, repeated where too much of it was lost (Daniel, Gragg, Kaufman, Stewart 1976).
#include <vector>

#include "solve/krylov/krylov.h"

namespace strata::solving {
namespace {

/// h[j] += v_j^H w, w -= sum v_j (v_j^H w), |w|: each block of w meets all vectors while it lies in the cache.
template <class T>
double orthogonalize(const std::vector<Vector<T>>& v, std::size_t count, const Vector<T>& w, std::vector<Wide<T>>& h) {
  const std::int64_t n = w.n, pieces = pieces_of(n);
  std::vector<Wide<T>> sums(static_cast<std::size_t>(pieces) * count);
  parallel_for(pieces, [&](std::int64_t c) {
    const std::int64_t end = std::min(n, (c + 1) * piece);
    for (std::int64_t k = c * piece; k < end; k += block)
      for (std::size_t j = 0; j < count; ++j)
        sums[static_cast<std::size_t>(c) * count + j] += dot_block(v[j].data + k, w.data + k, std::min(block, end - k));
  });
  std::vector<T> by(count);
  for (std::size_t j = 0; j < count; ++j) {
    const Wide<T> all = sum_in_pairs(
        0, pieces, [&](std::int64_t c) { return sums[static_cast<std::size_t>(c) * count + j]; },
        [](Wide<T> a, Wide<T> b) { return a + b; });
    h[j] += all;
    by[j] = static_cast<T>(all);
  }
  return std::sqrt(sum_blocks<double, 1>(n, [&](std::int64_t k, std::int64_t end) {
    for (std::size_t j = 0; j < count; ++j) {
      const T s = by[j];
      const T* from = v[j].data;
      for (std::int64_t i = k; i < end; ++i) w.data[i] -= times(s, from[i]);
    }
    return std::array{squares_block(w.data + k, end - k)};
  })[0]);
}

/// The rotation that takes b away from (a, b); c is real.
template <class W> void rotation(W a, double b, double& c, W& s) {
  const double size = std::hypot(std::abs(a), b);
  if (size == 0) {
    c = 1, s = W{};
    return;
  }
  c = std::abs(a) / size;
  s = std::abs(a) > 0 ? (a / std::abs(a)) * (b / size) : W(b / size);
}

}  // namespace

template <class T> void generalized_minimal_residuals(KrylovRun<T>& run) {
  using W = Wide<T>;
  const std::int64_t n = run.x.n;
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, std::min(run.options.restart, n)));
  std::vector<Vector<T>> v;
  Vector<T> w(n), z(n);
  v.emplace_back(n);
  for (;;) {
    double beta = norm(run.r);
    if (!(beta > run.target)) return;
    copy(run.r, v[0]);
    scale(v[0], 1 / beta);
    std::vector<std::vector<W>> h;  // columns of the triangle
    std::vector<double> c;
    std::vector<W> s, g = {W(beta)};
    std::size_t k = 0;
    bool go_on = true, exhausted = false;
    for (; k < most && go_on && !exhausted; ++k) {
      run.precondition(v[k], z);
      run.product(z, w);
      std::vector<W> column(k + 1);
      const double before = norm(w);
      double after = orthogonalize(v, k + 1, w, column);
      for (int again = 0; again < 2 && after < 0.7 * before; ++again) {
        const double last = after;
        after = orthogonalize(v, k + 1, w, column);
        if (after >= 0.7 * last) break;
      }
      if (std::isnan(after)) {
        run.broke = "the product gave NaN";
        return;
      }
      exhausted = !(after > 10 * epsilon<T> * before);
      if (exhausted) after = 0;
      for (std::size_t j = 0; j < k; ++j) {
        const W upper = c[j] * column[j] + s[j] * column[j + 1];
        column[j + 1] = -conjugate(s[j]) * column[j] + c[j] * column[j + 1];
        column[j] = upper;
      }
      double cos = 1;
      W sin{};
      rotation(column[k], after, cos, sin);
      c.push_back(cos), s.push_back(sin);
      column[k] = cos * column[k] + sin * after;
      g.push_back(-conjugate(sin) * g[k]);
      g[k] = cos * g[k];
      h.push_back(std::move(column));
      if (!exhausted && k + 1 < most) {
        if (v.size() <= k + 1) v.emplace_back(n);
        std::swap(v[k + 1], w);
        scale(v[k + 1], 1 / after);
      }
      go_on = run.next(std::abs(g[k + 1]));
    }
    // x += M V y, with h y = g
    std::vector<W> y(k);
    bool singular = false;
    for (std::size_t i = k; i-- > 0;) {
      W sum = g[i];
      for (std::size_t j = i + 1; j < k; ++j) sum -= h[j][i] * y[j];
      singular = singular || !(std::abs(h[i][i]) > 0);
      y[i] = singular ? W{} : sum / h[i][i];
    }
    over_blocks(n, [&](std::int64_t from, std::int64_t end) {
      for (std::int64_t i = from; i < end; ++i) w.data[i] = T{};
      for (std::size_t j = 0; j < k; ++j) {
        const T by = static_cast<T>(y[j]);
        for (std::int64_t i = from; i < end; ++i) w.data[i] += times(by, v[j].data[i]);
      }
    });
    run.precondition(w, z);
    add<T>(W(1), z, run.x);
    if (singular) run.broke = "the matrix is singular";
    if (!go_on || exhausted || singular) return;
    run.product(run.x, run.r);
    add_to<T>(run.b, W(-1), run.r);
  }
}
STRATA_KRYLOV(generalized_minimal_residuals)

}  // namespace strata::solving
