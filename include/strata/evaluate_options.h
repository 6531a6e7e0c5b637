#pragma once
// What may be asked of an evaluation.
#include <optional>

#include "strata/schedule.h"
#include "strata/semiring.h"
#include "strata/tensor.h"

namespace strata {

struct EvaluateOptions {
  std::optional<Format> format = {};  ///< of the result; inferred as result_format says where not given
  /// What is computed in: operands are cast to it first (DTypeError where can_cast says no; operands that are only
  /// compared may stay as they are). NumPy's promotion where not given. f16, bf16 and fp8 are added up in f32 and
  /// rounded once.
  std::optional<DType> dtype = {};
  std::optional<DType> compute_dtype = {};  ///< computes in this one instead; the result is cast to `dtype`
  std::optional<DType> result_dtype = {};   ///< the result is cast to it in any case, whatever was computed in
  Semiring semiring = Semiring::plus_times;
  /// The result has elements only where the mask is true, and its fill elsewhere: the expression's value where operands
  /// are absent. A boolean mask says so by its values, whatever stores them (one of fill true where it is absent too);
  /// of a sparse mask of another dtype the stored elements count, without fill-in. TensorError: a dense one of another
  /// dtype.
  std::optional<Tensor> mask = {};
  bool complement_mask = false;  ///< elements only where the mask has none, as GraphBLAS's complemented mask
  /// A user's decisions about the loops: the whole expression is one nest then, in generated code.
  std::optional<Schedule> schedule = {};
  bool general = false;  ///< by the general path alone, which checks the others
};

}  // namespace strata
