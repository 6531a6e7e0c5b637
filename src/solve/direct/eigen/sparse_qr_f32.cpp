#include "solve/direct/eigen/sparse_qr_inl.h"

namespace strata::solving {
template FactorsPtr<float> make_sparse_qr();
}  // namespace strata::solving
