// MINRES (Paige and Saunders 1975), with a preconditioner that is Hermitian and positive definite. The residual that it
// knows is in the preconditioner's norm; here it is scaled to begin with the residual's own.
#include "solve/krylov/krylov.h"

namespace strata::solving {

template <class T> void minimal_residuals(KrylovRun<T>& run) {
  const std::int64_t n = run.x.n;
  const double start = norm(run.r);
  Vector<T> v_before(n), v(n), z(n), next(n), w_before(n), w(n), w_next(n);
  copy(run.r, v);
  run.precondition(v, z);
  double beta_squared = real_part(dot(v, z));
  if (!(beta_squared > 0)) {
    if (start > 0) run.broke = "the preconditioner is not positive definite";
    return;
  }
  double beta = std::sqrt(beta_squared), beta_before = 0;
  const double scaled = start / beta;
  double eta = beta, c = 1, c_before = 1, s = 0, s_before = 0;
  const double first = beta;
  scale(v, 1 / beta), scale(z, 1 / beta);
  for (;;) {
    // Lanczos: v are scaled residuals of the preconditioned process, z = M v.
    run.product(z, next);
    const double alpha = real_part(dot(z, next));
    T* out = next.data;
    const T *now = v.data, *old = v_before.data;
    const auto a1 = static_cast<Real<T>>(alpha), b1 = static_cast<Real<T>>(beta_before > 0 ? beta : 0);
    over_blocks(n, [=](std::int64_t k, std::int64_t end) {
      for (; k < end; ++k) out[k] -= a1 * now[k] + b1 * old[k];
    });
    std::swap(v_before, v);
    std::swap(v, next);
    run.precondition(v, next);  // the next z
    beta_squared = real_part(dot(v, next));
    if (std::isnan(beta_squared) || std::isnan(alpha)) {
      run.broke = "the product gave NaN";
      return;
    }
    if (beta_squared < -1e-12 * first * first) {
      run.broke = "the preconditioner is not positive definite";
      return;
    }
    const double beta_next = std::sqrt(std::max(beta_squared, 0.0));
    // Two rotations from before, and the one of this step.
    const double delta = c * alpha - c_before * s * (beta_before > 0 ? beta : 0), r1 = std::hypot(delta, beta_next),
                 r2 = s * alpha + c_before * c * (beta_before > 0 ? beta : 0),
                 r3 = s_before * (beta_before > 0 ? beta : 0);
    if (!(r1 > 0)) {
      run.broke = "the matrix is singular";
      return;
    }
    const double c_next = delta / r1, s_next = beta_next / r1;
    const auto p1 = static_cast<Real<T>>(1 / r1), p2 = static_cast<Real<T>>(r2), p3 = static_cast<Real<T>>(r3),
               step = static_cast<Real<T>>(c_next * eta);
    T *ws = w_next.data, *xs = run.x.data;
    const T *w1 = w.data, *w0 = w_before.data, *zs = z.data;
    over_blocks(n, [=](std::int64_t k, std::int64_t end) {
      for (; k < end; ++k) {
        ws[k] = (zs[k] - p2 * w1[k] - p3 * w0[k]) * p1;
        xs[k] += step * ws[k];
      }
    });
    std::swap(w_before, w);
    std::swap(w, w_next);
    eta = -s_next * eta;
    c_before = c, c = c_next, s_before = s, s = s_next;
    if (!run.next(std::abs(eta) * scaled)) return;
    if (!(beta_next > 1e-15 * first * epsilon<T>)) return;  // the space is exhausted
    std::swap(z, next);
    scale(v, 1 / beta_next), scale(z, 1 / beta_next);
    beta_before = beta, beta = beta_next;
  }
}
STRATA_KRYLOV(minimal_residuals)

}  // namespace strata::solving
