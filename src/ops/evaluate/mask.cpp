#include "ops/evaluate/mask.h"

#include "ops/direct/ones.h"
#include "ops/drop_zeros.h"

namespace strata::evaluation {

EvaluateOptions with_true_mask(EvaluateOptions o) {
  if (!o.mask) return o;
  const bool dense = o.mask->format().is_all_dense();
  if (dense && o.mask->dtype() != DType::boolean)
    throw TensorError({.what = "a dense mask says by truth values where the result has elements",
                       .expected = "a boolean mask, or a sparse one, whose stored elements count",
                       .got = o.mask->type().to_string(),
                       .fix = "write mask != 0"});
  if (dense || o.mask->dtype() != DType::boolean) return o;
  if (o.mask->fill().is_zero()) {
    o.mask = conversion::unlike_fill(*o.mask);
  } else {
    o.mask = direct::ones_of(conversion::unlike_fill_in_lists(*o.mask), DType::boolean);
    o.complement_mask = !o.complement_mask;
  }
  return o;
}

}  // namespace strata::evaluation
