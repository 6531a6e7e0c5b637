#include "solve/direct/eigen/sparse_ldlt_inl.h"

namespace strata::solving {
template FactorsPtr<double> make_sparse_ldlt(bool);
}  // namespace strata::solving
