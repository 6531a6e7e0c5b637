// Conjugate gradients (Hestenes and Stiefel 1952), in two passes over the vectors beside the product: r with its norm,
// then x and the next direction.
#include "solve/krylov/krylov.h"

namespace strata::solving {

template <class T> void conjugate_gradients(KrylovRun<T>& run) {
  const std::int64_t n = run.x.n;
  Vector<T> p(n), q(n), own;
  const bool preconditioned = run.preconditioned();
  if (preconditioned) own = Vector<T>(n);
  const Vector<T>& z = preconditioned ? own : run.r;
  if (preconditioned) run.precondition(run.r, own);
  copy(z, p);
  double rho = real_part(dot(run.r, z));
  for (;;) {
    if (!(rho > 0)) {
      run.broke = preconditioned ? "the preconditioner is not positive definite" : "";
      return;
    }
    run.product(p, q);
    const double curvature = real_part(dot(p, q));
    if (!(curvature > 0)) {
      run.indefinite = !std::isnan(curvature);
      run.broke = std::isnan(curvature) ? "the product gave NaN" : "the matrix is not positive definite";
      return;
    }
    const double alpha = rho / curvature;
    const double residual = add_norm<T>(-alpha, q, run.r);
    // x takes its step in the pass that makes the next direction.
    double next_rho = residual * residual;
    if (preconditioned) {
      run.precondition(run.r, own);
      next_rho = real_part(dot(run.r, own));
    }
    const auto step = static_cast<Real<T>>(alpha), beta = static_cast<Real<T>>(next_rho / rho);
    T *xs = run.x.data, *ps = p.data;
    const T* zs = z.data;
    over_blocks(n, [=](std::int64_t k, std::int64_t end) {
      for (; k < end; ++k) {
        const T v = ps[k];
        xs[k] += step * v;
        ps[k] = zs[k] + beta * v;
      }
    });
    rho = next_rho;
    if (!run.next(residual)) return;
  }
}
STRATA_KRYLOV(conjugate_gradients)

}  // namespace strata::solving
