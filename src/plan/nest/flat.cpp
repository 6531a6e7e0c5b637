// A unit at work; functions of stored values, exp(A), A * A, relu(A - 1), in one loop over them where that serves.
#include "plan/nest/flat.h"

#include "convert/convert_elements.h"
#include "format/recognise.h"
#include "plan/nest/panels.h"
#include "plan/nest/plain.h"
#include "plan/nest/run.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {

/// One loop over so many slots.
struct Flat {
  Unit unit;
  Order order;
  i64 slots = 0;
};

namespace {

const Lazy& pattern_of(const Unit& u, const Order& o) { return u.accesses[static_cast<std::size_t>(o.pattern)].tensor; }

/// The same computation over vectors of so many values, which are added, multiplied, ... as dense ones are.
Flat flattened(const Unit& u, i64 slots) {
  Flat out{u, {}, slots};
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
    const i64 stride = a.tensor.type().shared_value ? 0 : 1;
    a.indices = {0};
    a.dense = true;
    a.tensor = Lazy::given(0, view_type({slots}, a.tensor.dtype(), {stride}, a.tensor.fill()), {});
  }
  out.order.indices = {0};
  out.order.convert.resize(f.accesses.size());
  out.order.dense_result = true;
  out.order.visits = static_cast<double>(slots);
  out.order.hints = {merging::Hint::none};
  return out;
}

std::shared_ptr<const Flat> flat_of(const Unit& u, const Order& o, i64 slots) {
  auto last = o.flat.get();
  if (last && last->slots == slots) return last;
  auto made = std::make_shared<const Flat>(flattened(u, slots));
  o.flat.set(made);
  return made;
}

Flat likely(const Unit& u, const Order& o) { return flattened(u, static_cast<i64>(pattern_of(u, o).stats().slots)); }

}  // namespace

Order::Slots slots_of(const Unit& u, const Order& o) {
  if (o.pattern < 0 || u.mask >= 0 || !u.bounds.empty() || u.output.size() < u.extents.size()) return Order::nested;
  const Lazy& t = pattern_of(u, o);
  if (t.format().num_batch_levels() > 0) return Order::nested;  // whose values do not lie side by side
  const auto& [stored, slots, children, each_slot, full] = t.stats();
  if (slots == 0) return Order::nested;
  // Short rows of a matrix, whose coordinates are listed (bits, packed and padded ones are not).
  const Format& f = t.format();
  const bool rows_of_matrix = rows_of(f, LevelKind::compressed) || listed_rows_of(f);
  const double rows = rows_of_matrix && !children.empty() ? children[0] : 0;
  Order::Slots out = Order::alone;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    if (!a.dense && static_cast<int>(k) != o.pattern && o.shared(u, k) != o.pattern) return Order::nested;
    if (!a.dense || a.indices.empty()) continue;
    if (slots >= static_cast<double>(short_row) * rows || a.indices != std::vector<int>{o.indices[0]})
      return Order::nested;
    out = Order::in_rows;
  }
  return out;
}

std::optional<Tensor> run_unit(const Unit& unit, const Order& order, std::span<const Tensor> operands) {
  if (order.panels && pay(*order.panels, order, operands)) return run_in_panels(*order.panels, unit, order, operands);
  if (order.slots != Order::alone) return Run(unit, order, operands).run();
  const Tensor& pattern = operands[static_cast<std::size_t>(order.pattern)];
  const i64 slots = used_values(pattern.part());
  if (slots == 0) return with_values(unit, pattern, Buffer::allocate(unit.compute, 0));
  const auto flat = flat_of(unit, order, slots);
  std::vector<Tensor> values(operands.begin(), operands.end());
  for (std::size_t k = 0; k < values.size(); ++k) {
    if (unit.accesses[k].dense) continue;  // a number
    if (!planning::have_one_pattern(pattern, values[k])) return std::nullopt;
    const Part& p = values[k].part();
    values[k] =
        dense_view(p.values, {slots}, {values[k].type().shared_value ? 0 : p.value_stride}, 0, values[k].fill());
  }
  const auto result = Run(flat->unit, flat->order, std::span<const Tensor>(values)).run();
  return result ? std::optional(with_values(unit, pattern, result->part().values)) : std::nullopt;
}

std::optional<Tensor> run_unit_into(Buffer memory, const Scalar& beta, const Unit& unit, const Order& order,
                                    std::span<const Tensor> operands) {
  return Run(unit, order, operands).run_into(std::move(memory), beta);
}

std::string describe_unit(const Unit& unit, const Order& order, const Format& wanted, bool code) {
  if (order.slots != Order::alone) return LoopNest(unit, order).describe(wanted, code);
  const std::string& name = unit.accesses[static_cast<std::size_t>(order.pattern)].name;
  const std::string out = "one loop over the slots of " + name + "\ninto the pattern of " + name + "\n";
  if (!code) return out;
  const Flat flat = likely(unit, order);
  return out + LoopNest(flat.unit, flat.order).describe(conversion::dense_format(1), true);
}

std::vector<ir::Function> functions_of(const Unit& unit, const Order& order) {
  if (order.slots == Order::alone) {
    const Flat flat = likely(unit, order);
    return functions_of(flat.unit, flat.order);
  }
  std::vector<ir::Function> out;
  for (const bool long_rows : {false, true})
    for (const bool any_columns : {false, true}) {
      const TextVariant variant{.long_rows = long_rows, .any_columns = any_columns};
      out.push_back(merging::lower(FittedNest(unit, order, variant).input).function);
    }
  return out;
}

std::string emit_unit(const Unit& unit, const Order& order, const std::string& expression) {
  // Storage that loops do not walk has nothing but its slots.
  if (order.slots == Order::alone && !storage_order(pattern_of(unit, order).format())) {
    const Flat flat = likely(unit, order);
    return LoopNest(flat.unit, flat.order).emit(expression);
  }
  Order nested = order;  // who calls the text has tensors, and not their values slot by slot
  nested.slots = Order::nested;
  return LoopNest(unit, nested).emit(expression);
}

}  // namespace strata::direct
