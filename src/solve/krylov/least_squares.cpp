// LSQR (Paige and Saunders 1982) and LSMR (Fong and Saunders 2011): the bidiagonalization of Golub and Kahan, begun
// with what x leaves. Damping is the matrix with damp * I below it.
#include "solve/krylov/krylov.h"

namespace strata::solving {
namespace {

/// u and v of the bidiagonalization; `below` is u's part under the matrix.
template <class T> struct Bidiagonal {
  KrylovRun<T>& run;
  Vector<T> u, below, v, product, back;
  double alpha = 0, beta = 0;
  const double damp = run.options.damp;

  explicit Bidiagonal(KrylovRun<T>& r) : run(r), u(r.a.rows), v(r.a.columns), product(r.a.rows), back(r.a.columns) {
    if (damp > 0) below = Vector<T>(r.a.columns);
    copy(run.r, u);
    if (damp > 0) {
      copy(run.x, below);
      scale(below, -damp);
    }
    normalize_u();
    if (beta > 0) next_v(0);
  }
  /// u <- a v - alpha u, v <- a^H u - beta v, both of length 1.
  void step() {
    run.product(v, product);
    add_to<T>(product, Wide<T>(-alpha), u);
    if (damp > 0) {
      const auto d = static_cast<Real<T>>(damp), al = static_cast<Real<T>>(alpha);
      over_blocks(v.n, [&](std::int64_t k, std::int64_t end) {
        for (; k < end; ++k) below.data[k] = d * v.data[k] - al * below.data[k];
      });
    }
    normalize_u();
    if (beta > 0) next_v(beta);
    else alpha = 0;
  }

 private:
  void normalize_u() {
    beta = damp > 0 ? std::hypot(norm(u), norm(below)) : norm(u);
    if (!(beta > 0)) return;
    scale(u, 1 / beta);
    if (damp > 0) scale(below, 1 / beta);
  }
  void next_v(double by) {
    run.adjoint(u, back);
    if (damp > 0) add<T>(Wide<T>(damp), below, back);
    add_to<T>(back, Wide<T>(-by), v);
    alpha = norm(v);
    if (alpha > 0) scale(v, 1 / alpha);
  }
};

/// x += a w; w = v + b w
template <class T> void step_and_turn(const Vector<T>& x, double a, const Vector<T>& w, const Vector<T>& v, double b) {
  const auto s = static_cast<Real<T>>(a), t = static_cast<Real<T>>(b);
  T *xs = x.data, *ws = w.data;
  const T* vs = v.data;
  over_blocks(x.n, [=](std::int64_t k, std::int64_t end) {
    for (; k < end; ++k) {
      xs[k] += s * ws[k];
      ws[k] = vs[k] + t * ws[k];
    }
  });
}

/// The Frobenius norm of the matrix from that of the bidiagonal one, which in exact arithmetic has no more columns than
/// the matrix: what comes behind them is there a second time, and would make the norm, and with it the tolerance, too
/// large.
class NormEstimate {
 public:
  template <class T>
  NormEstimate(const KrylovRun<T>& run, double alpha)
      : most_(run.options.damp > 0 ? run.a.columns : std::min(run.a.rows, run.a.columns)), squares_(alpha * alpha) {}
  double add(double alpha, double beta) {
    if (most_-- > 0) squares_ += alpha * alpha + beta * beta;
    return std::sqrt(squares_);
  }

 private:
  std::int64_t most_;
  double squares_;
};

template <class T> bool goes_on(KrylovRun<T>& run, double residual, double normal) {
  if (std::isnan(residual)) {
    run.broke = "the product gave NaN";
    return false;
  }
  run.target = -1;  // the tests are these, not the residual alone
  return run.next(residual) && !is_least(run, residual, normal, norm(run.x));
}

}  // namespace

template <class T> void lsqr(KrylovRun<T>& run) {
  Bidiagonal<T> at(run);
  Vector<T> w(run.x.n);
  copy(at.v, w);
  double rho_bar = at.alpha, phi_bar = at.beta;
  NormEstimate norm_a(run, at.alpha);
  if (!(rho_bar > 0)) return;
  for (;;) {
    at.step();
    const double rho = std::hypot(rho_bar, at.beta), c = rho_bar / rho, s = at.beta / rho;
    const double theta = s * at.alpha, phi = c * phi_bar;
    rho_bar = -c * at.alpha;
    phi_bar *= s;
    step_and_turn(run.x, phi / rho, w, at.v, -theta / rho);
    run.norm_a = std::max(run.norm_a, norm_a.add(at.alpha, at.beta));
    if (!goes_on(run, phi_bar, std::abs(at.alpha * s * phi))) return;
    if (!(at.alpha > 0)) return;
  }
}

template <class T> void lsmr(KrylovRun<T>& run) {
  Bidiagonal<T> at(run);
  const std::int64_t n = run.x.n;
  Vector<T> h(n), h_bar(n);
  copy(at.v, h);
  double zeta_bar = at.alpha * at.beta, alpha_bar = at.alpha, rho = 1, rho_bar = 1, c_bar = 1, s_bar = 0, zeta = 0;
  double beta_dd = at.beta, beta_d = 0, rho_d = 1, tau_tilde = 0, theta_tilde = 0;
  NormEstimate norm_a(run, at.alpha);
  if (!(zeta_bar > 0)) return;
  for (;;) {
    at.step();
    const double rho_old = rho, rho_bar_old = rho_bar, zeta_old = zeta;
    rho = std::hypot(alpha_bar, at.beta);
    const double c = alpha_bar / rho, s = at.beta / rho, theta_new = s * at.alpha;
    alpha_bar = c * at.alpha;
    const double theta_bar = s_bar * rho, turned = c_bar * rho;
    rho_bar = std::hypot(turned, theta_new);
    c_bar = turned / rho_bar, s_bar = theta_new / rho_bar;
    zeta = c_bar * zeta_bar;
    zeta_bar *= -s_bar;
    const auto t1 = static_cast<Real<T>>(-theta_bar * rho / (rho_old * rho_bar_old)),
               t2 = static_cast<Real<T>>(zeta / (rho * rho_bar)), t3 = static_cast<Real<T>>(-theta_new / rho);
    T *xs = run.x.data, *hs = h.data, *bs = h_bar.data;
    const T* vs = at.v.data;
    over_blocks(n, [=](std::int64_t k, std::int64_t end) {
      for (; k < end; ++k) {
        bs[k] = hs[k] + t1 * bs[k];
        xs[k] += t2 * bs[k];
        hs[k] = vs[k] + t3 * hs[k];
      }
    });
    // The residual's norm, by two more rotations.
    const double beta_hat = c * beta_dd;
    beta_dd *= -s;
    const double rho_tilde = std::hypot(rho_d, theta_bar), c_tilde = rho_d / rho_tilde, s_tilde = theta_bar / rho_tilde;
    const double theta_tilde_old = theta_tilde;
    theta_tilde = s_tilde * rho_bar;
    rho_d = c_tilde * rho_bar;
    beta_d = -s_tilde * beta_d + c_tilde * beta_hat;
    tau_tilde = (zeta_old - theta_tilde_old * tau_tilde) / rho_tilde;
    const double tau_d = (zeta - theta_tilde * tau_tilde) / rho_d;
    run.norm_a = std::max(run.norm_a, norm_a.add(at.alpha, at.beta));
    if (!goes_on(run, std::hypot(beta_d - tau_d, beta_dd), std::abs(zeta_bar))) return;
    if (!(at.alpha > 0)) return;
  }
}
STRATA_KRYLOV(lsqr)
STRATA_KRYLOV(lsmr)

}  // namespace strata::solving
