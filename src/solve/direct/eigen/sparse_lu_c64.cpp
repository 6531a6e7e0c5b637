#include "solve/direct/eigen/sparse_lu_inl.h"

namespace strata::solving {
template FactorsPtr<std::complex<float>> make_sparse_lu();
}  // namespace strata::solving
