#include "solve/direct/eigen/dense_inl.h"

namespace strata::solving {
template FactorsPtr<std::complex<double>> make_dense_cholesky();
template FactorsPtr<std::complex<double>> make_dense_lu();
template FactorsPtr<std::complex<double>> make_dense_qr();
}  // namespace strata::solving
