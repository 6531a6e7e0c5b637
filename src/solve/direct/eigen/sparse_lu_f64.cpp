#include "solve/direct/eigen/sparse_lu_inl.h"

namespace strata::solving {
template FactorsPtr<double> make_sparse_lu();
}  // namespace strata::solving
