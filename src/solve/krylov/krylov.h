#pragma once
// What the iterative methods share. A method works on a KrylovRun until it believes to be done; solve_iteratively()
// puts what it found into the equation, and lets it go on where that was not enough.
#include <string>

#include "solve/krylov/vectors.h"
#include "strata/solve.h"

namespace strata::solving {

template <class T> struct KrylovRun {
  const LinearOperator& a;
  const KrylovOptions& options;
  const Vector<T>& b;
  Vector<T>& x;
  Vector<T>& r;            ///< b - a x when a method begins; its to change
  double target = 0;       ///< for |r|
  std::int64_t limit = 0;  ///< of iterations, all together
  std::int64_t iterations = 0;
  std::string broke = {};  ///< why the method cannot go on from here
  bool indefinite = false;
  double norm_a = 0;  ///< LSQR and LSMR: Frobenius norm, as far as it was seen
  double norm_b = 0;

  void product(const Vector<T>& v, const Vector<T>& out) { a.apply(v.tensor, out.tensor); }
  void adjoint(const Vector<T>& v, const Vector<T>& out) { a.adjoint(v.tensor, out.tensor); }
  bool preconditioned() const { return options.preconditioner.has_value(); }
  void precondition(const Vector<T>& v, const Vector<T>& out) {
    if (preconditioned()) options.preconditioner->apply(v.tensor, out.tensor);
    else copy(v, out);
  }
  /// Counts an iteration; false where the method has to end.
  bool next(double residual) {
    ++iterations;
    poll_interrupt();
    if (options.callback) options.callback(iterations, residual, x.tensor);
    return residual > target && iterations < limit;
  }
};

template <class T> void conjugate_gradients(KrylovRun<T>&);
template <class T> void minimal_residuals(KrylovRun<T>&);
template <class T> void stabilized_biconjugate_gradients(KrylovRun<T>&);
template <class T> void generalized_minimal_residuals(KrylovRun<T>&);
template <class T> void lsqr(KrylovRun<T>&);
template <class T> void lsmr(KrylovRun<T>&);
/// Is x good enough, as the papers of LSQR and LSMR have it: is |r| at the level of the data, or is a^H r small?
template <class T> bool is_least(const KrylovRun<T>& run, double residual, double normal, double norm_x) {
  const double atol = std::max(run.options.rtol, 4 * epsilon<T>), btol = std::max(run.options.btol, 4 * epsilon<T>);
  return residual <= btol * run.norm_b + atol * run.norm_a * norm_x || normal <= atol * run.norm_a * residual;
}

#define STRATA_KRYLOV(method)                            \
  template void method(KrylovRun<float>&);               \
  template void method(KrylovRun<double>&);              \
  template void method(KrylovRun<std::complex<float>>&); \
  template void method(KrylovRun<std::complex<double>>&);

}  // namespace strata::solving
