#include "tensor/values.h"

#include "tensor/tensor_impl.h"

namespace strata {

Scalar add(const Scalar& a, const Scalar& b) {
  Scalar out = a;
  with_value_type(a.dtype, [&]<class Tag>(Tag) {
    typename Tag::Storage x, y;
    std::memcpy(&x, a.bits, sizeof x);
    std::memcpy(&y, b.bits, sizeof y);
    const auto sum = narrow_value<Tag>(add_values<Tag>(widen_value<Tag>(x), widen_value<Tag>(y)));
    std::memcpy(out.bits, &sum, sizeof sum);
  });
  return out;
}

}  // namespace strata
