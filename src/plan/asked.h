#pragma once
// What is asked of a result: EvaluateOptions, of tensors that are not there yet.
#include "plan/lazy.h"
#include "strata/evaluate.h"

namespace strata::planning {

using Operands = std::map<std::string, Lazy>;

struct Asked {
  std::optional<Format> format = {};
  std::optional<DType> dtype = {}, compute_dtype = {}, result_dtype = {};
  Semiring semiring = Semiring::plus_times;
  std::optional<Lazy> mask = {};
  bool complement_mask = false;
  std::optional<Schedule> schedule = {};
  bool general = false;
  bool generated = false;  ///< no other kernels, whatever serves
};

/// The same of these options, with this mask in place of theirs.
inline Asked asked_of(const EvaluateOptions& o, std::optional<Lazy> mask) {
  return {o.format,        o.dtype,           o.compute_dtype, o.result_dtype, o.semiring,
          std::move(mask), o.complement_mask, o.schedule,      o.general};
}
/// ... and back, for what computes with them.
inline EvaluateOptions options_of(const Asked& o, std::optional<Tensor> mask) {
  return {o.format,        o.dtype,           o.compute_dtype, o.result_dtype, o.semiring,
          std::move(mask), o.complement_mask, o.schedule,      o.general};
}

/// A sum of parts with rows of any length in padded levels: to which part an element goes depends on its dtype, so that
/// a result may have longer rows than the operand whose format it takes.
Format with_room(const Format& f);
/// Padded levels of any number of slots, whatever theirs is.
Format with_any_room(const Format& f);
/// As strata::result_format().
ResultFormat result_format(const Assignment& a, const std::map<std::string, TensorType>& operands,
                           const Asked& options);

}  // namespace strata::planning

namespace strata::direct {
using planning::Asked, planning::Lazy, planning::Operands;
}
namespace strata::evaluation {
using planning::Asked, planning::Lazy, planning::Operands;
}
