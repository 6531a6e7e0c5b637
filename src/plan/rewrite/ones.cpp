#include "plan/rewrite/ones.h"

#include "format/registered_levels.h"

namespace strata::direct {

Tensor ones_of(const Tensor& t, DType dtype) {
  TensorType type = t.type();
  type.dtype = dtype;
  type.fill = Scalar::zero(dtype);
  Part part = t.part();
  part.values = Buffer::filled(Scalar::one(dtype), 1);
  part.value_stride = part.values_batch_stride = 0;
  type.shared_value = true;
  return make_from_parts(std::move(type), {std::move(part)});
}

Lazy ones_of(const Lazy& t, DType dtype) {
  TensorType type = t.type();
  type.dtype = dtype;
  type.fill = Scalar::zero(dtype);
  type.shared_value = true;
  return Lazy::made(std::move(type),
                    {.inputs = {t}, .make = [dtype](Lazy::Inputs& in) { return ones_of(in[0], dtype); }}, t);
}

bool stores_all(const Format& f) { return f.is_unique() && !f.can_hold_fill(); }

bool stores_each_once(const Format& f) {
  if (f.num_parts() != 1 || !f.is_unique()) return false;
  for (int l = 0; l < f.num_levels(); ++l)
    if (f.level(l).kind == LevelKind::structured || levels::is_registered(f.level(l).kind)) return stores_all(f);
  return true;
}

bool is_factor(const Asked& options, std::size_t rank) {
  return options.mask && !options.complement_mask && stores_all(options.mask->format()) &&
         options.mask->shape().size() == rank;
}

Expression mask_as_factor(const Lazy& mask, DType dtype, const std::vector<std::string>& indices, Operands& operands) {
  const std::string name = "#mask" + std::to_string(operands.size());  // no user's name looks so, and none made before
  operands.emplace(name, ones_of(mask, dtype));
  return Expression::plain_access(name, indices);
}

}  // namespace strata::direct
