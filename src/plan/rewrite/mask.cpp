#include "plan/rewrite/mask.h"

#include "convert/drop_zeros.h"
#include "plan/lazy_convert.h"
#include "plan/rewrite/ones.h"

namespace strata::evaluation {

Asked with_true_mask(Asked o) {
  if (!o.mask) return o;
  const bool dense = o.mask->format().is_all_dense();
  if (dense && o.mask->dtype() != DType::boolean)
    throw TensorError({.what = "a dense mask says by truth values where the result has elements",
                       .expected = "a boolean mask, or a sparse one, whose stored elements count",
                       .got = o.mask->type().to_string(),
                       .fix = "write mask != 0"});
  if (dense || o.mask->dtype() != DType::boolean) return o;
  if (o.mask->fill().is_zero()) {
    const auto make = [](Lazy::Inputs& in) { return conversion::unlike_fill(in[0]); };
    o.mask = Lazy::made(o.mask->type(), o.mask->stats(), {.inputs = {*o.mask}, .make = make});
  } else {
    const Format lists = conversion::lists_for(o.mask->shape(), o.mask->nse());
    o.mask = direct::ones_of(convert(*o.mask, lists, {.zeros = Zeros::drop}), DType::boolean);
    o.complement_mask = !o.complement_mask;
  }
  return o;
}

}  // namespace strata::evaluation
