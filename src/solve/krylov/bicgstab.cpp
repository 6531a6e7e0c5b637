// BiCGSTAB (van der Vorst 1992), preconditioned from the right, so that the residual is the system's own.
#include "solve/krylov/krylov.h"

namespace strata::solving {

template <class T> void stabilized_biconjugate_gradients(KrylovRun<T>& run) {
  const std::int64_t n = run.x.n;
  Vector<T> shadow(n), p(n), v(n), t(n), own_p, own_s;
  const bool preconditioned = run.preconditioned();
  if (preconditioned) own_p = Vector<T>(n), own_s = Vector<T>(n);
  const Vector<T>&p_hat = preconditioned ? own_p : p, &s_hat = preconditioned ? own_s : run.r;
  copy(run.r, shadow);
  copy(run.r, p);
  Wide<T> rho = dot(shadow, run.r);
  const double start = norm(run.r);
  for (;;) {
    if (preconditioned) run.precondition(p, own_p);
    run.product(p_hat, v);
    const Wide<T> projected = dot(shadow, v);
    if (!(magnitude(projected) > 0) || !(magnitude(rho) > epsilon<T> * epsilon<T> * start * start)) {
      run.broke = "BiCGSTAB broke down: its directions became orthogonal";
      return;
    }
    const Wide<T> alpha = rho / projected;
    double residual = add_norm<T>(-alpha, v, run.r);  // s, in r's place
    if (residual <= run.target) {
      add<T>(alpha, p_hat, run.x);
      run.next(residual);
      return;
    }
    if (preconditioned) run.precondition(run.r, own_s);
    run.product(s_hat, t);
    const auto sums = sum_blocks<Wide<T>, 2>(n, [&](std::int64_t k, std::int64_t end) {
      return std::array<Wide<T>, 2>{dot_block(t.data + k, run.r.data + k, end - k),
                                    Wide<T>(squares_block(t.data + k, end - k))};
    });
    const Wide<T> omega = real_part(sums[1]) > 0 ? sums[0] / sums[1] : Wide<T>{};
    const T a1 = static_cast<T>(alpha), o1 = static_cast<T>(omega);
    T *xs = run.x.data, *rs = run.r.data;
    const T *ph = p_hat.data, *sh = s_hat.data, *ts = t.data, *sd = shadow.data;
    const auto after = sum_blocks<Wide<T>, 2>(n, [=](std::int64_t k, std::int64_t end) {
      for (std::int64_t i = k; i < end; ++i) {
        xs[i] += times(a1, ph[i]) + times(o1, sh[i]);
        rs[i] -= times(o1, ts[i]);
      }
      return std::array<Wide<T>, 2>{dot_block(sd + k, rs + k, end - k), Wide<T>(squares_block(rs + k, end - k))};
    });
    residual = std::sqrt(real_part(after[1]));
    if (!run.next(residual)) return;
    if (!(magnitude(omega) > 0) || std::isnan(residual)) {
      run.broke =
          std::isnan(residual) ? "the product gave NaN" : "BiCGSTAB broke down: the residual cannot be made smaller";
      return;
    }
    const Wide<T> beta = after[0] / rho * (alpha / omega);
    const T b1 = static_cast<T>(beta);
    rho = after[0];
    T* ps = p.data;
    const T* vs = v.data;
    over_blocks(n, [=](std::int64_t k, std::int64_t end) {
      for (; k < end; ++k) ps[k] = rs[k] + times(b1, ps[k] - times(o1, vs[k]));
    });
  }
}
STRATA_KRYLOV(stabilized_biconjugate_gradients)

}  // namespace strata::solving
