// What stands for Eigen's factorizations in a build without it.
#include "solve/factors.h"

namespace strata {

#ifdef STRATA_EIGEN
bool has_factorizations() { return true; }
#else
bool has_factorizations() { return false; }

namespace solving {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw Unsupported({.what = std::string(what) + " is Eigen's, which this build of Strata lacks",
                     .expected = "a diagonal, triangular or banded matrix",
                     .fix = "install Eigen 3.4 (Debian: libeigen3-dev) and build again, or iterate: cg, gmres, lsqr"});
}

}  // namespace

#define STRATA_WITHOUT_EIGEN(T)                                                   \
  template <> FactorsPtr<T> make_sparse_ldlt(bool) { refuse("sparse Cholesky"); } \
  template <> FactorsPtr<T> make_sparse_lu() { refuse("sparse LU"); }             \
  template <> FactorsPtr<T> make_sparse_qr() { refuse("sparse QR"); }             \
  template <> FactorsPtr<T> make_dense_cholesky() { refuse("dense Cholesky"); }   \
  template <> FactorsPtr<T> make_dense_lu() { refuse("dense LU"); }               \
  template <> FactorsPtr<T> make_dense_qr() { refuse("dense QR"); }
STRATA_WITHOUT_EIGEN(double)
STRATA_WITHOUT_EIGEN(std::complex<double>)
#undef STRATA_WITHOUT_EIGEN

}  // namespace solving
#endif

}  // namespace strata
