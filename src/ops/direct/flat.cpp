// Functions of stored values: exp(A), A * A, relu(A - 1), in A's pattern.
#include "ops/direct/flat.h"

#include <algorithm>

#include "ops/convert_elements.h"
#include "ops/direct/plain.h"
#include "ops/direct/run.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

const Tensor& pattern_of(const Unit& u, const Order& o) { return u.accesses[static_cast<std::size_t>(o.pattern)].tensor; }

struct Flat {
  Unit unit;
  Order order;
};

/// The same computation over vectors of values.
Flat flattened(const Unit& u, const Order& o) {
  const i64 slots = used_values(pattern_of(u, o).part());
  Flat out{u, {}};
  Unit& f = out.unit;
  f.extents = {slots};
  f.names = {"slot"};
  f.summed = {0};
  f.inside = {0};
  f.constants = {0};
  f.output = {0};
  f.everywhere = true;
  for (Access& a : f.accesses) {
    a.twin = -1;
    if (a.dense) continue;  // a number
    const Part& p = a.tensor.part();
    a.indices = {0};
    a.dense = true;
    a.tensor = dense_view(p.values, {slots}, {a.tensor.type().shared_value ? 0 : p.value_stride}, 0, a.tensor.fill());
  }
  out.order = {.indices = {0}, .convert = {}, .dense_result = true, .visits = static_cast<double>(slots), .hints = {merging::Hint::none}};
  out.order.convert.assign(f.accesses.size(), std::nullopt);
  return out;
}

}  // namespace

bool is_flat(const Unit& u, const Order& o) {
  if (o.pattern < 0 || u.mask >= 0 || !u.bounds.empty() || used_values(pattern_of(u, o).part()) == 0) return false;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    if (a.dense ? !a.indices.empty() : static_cast<int>(k) != o.pattern && o.shared(u, k) != o.pattern) return false;
  }
  return true;
}

std::optional<Tensor> run_flat(const Unit& unit, const Order& order) {
  const Flat flat = flattened(unit, order);
  const auto values = Run(flat.unit, flat.order).run();
  if (!values) return std::nullopt;
  const Tensor& t = pattern_of(unit, order);
  Part part = t.part();
  part.values = values->part().values;
  part.value_stride = 1;
  TensorType type = t.type();
  type.dtype = unit.compute;
  type.fill = unit.fill;
  type.shared_value = false;
  return make_from_parts(std::move(type), {std::move(part)});
}

std::string describe_flat(const Unit& unit, const Order& order, bool code) {
  const Flat flat = flattened(unit, order);
  const std::string& name = unit.accesses[static_cast<std::size_t>(order.pattern)].name;
  const std::string out = "one loop over the slots of " + name + "\ninto the pattern of " + name + "\n";
  return code ? out + Run(flat.unit, flat.order).describe(conversion::dense_format(1), true) : out;
}

}  // namespace strata::direct
