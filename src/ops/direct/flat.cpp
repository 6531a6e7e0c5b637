// Functions of stored values: exp(A), A * A, relu(A - 1), in A's pattern.
#include "ops/direct/flat.h"

#include <algorithm>
#include <array>

#include "backend/pool.h"
#include "base/share.h"
#include "ops/convert_elements.h"
#include "ops/direct/plain.h"
#include "ops/direct/run.h"
#include "tensor/levels/index_view.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

constexpr i64 slots_of_chunk = 16384;  ///< some 10 us, and what is given of them stays in a cache
constexpr i64 at_once = 16;            ///< slots that get the value of a row together

/// Calls f with a type of so many bytes.
template <class F> void with_width(std::size_t bytes, const F& f) {
  if (bytes == 1) f(std::uint8_t{});
  else if (bytes == 2) f(std::uint16_t{});
  else if (bytes == 4) f(std::uint32_t{});
  else if (bytes == 8) f(std::uint64_t{});
  else f(std::array<std::uint64_t, 2>{});
}

const Tensor& pattern_of(const Unit& u, const Order& o) {
  return u.accesses[static_cast<std::size_t>(o.pattern)].tensor;
}

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
  out.order = {.indices = {0},
               .convert = {},
               .dense_result = true,
               .blocks = {},
               .diagonals = {},
               .visits = static_cast<double>(slots),
               .hints = {merging::Hint::none}};
  out.order.convert.assign(f.accesses.size(), std::nullopt);
  return out;
}

}  // namespace

Order::Slots slots_of(const Unit& u, const Order& o) {
  if (o.pattern < 0 || u.mask >= 0 || !u.bounds.empty()) return Order::nested;
  const Tensor& t = pattern_of(u, o);
  const i64 slots = used_values(t.part());
  if (slots == 0) return Order::nested;
  // Short rows of a matrix.
  const Format& f = t.format();
  const bool rows_of_matrix = f.num_levels() == 2 && f.level(1).kind == LevelKind::compressed;
  const i64 rows = !rows_of_matrix                       ? 0
                   : f.level(0).kind == LevelKind::dense ? t.part().ranges[0].size
                                                         : t.part().levels[0].pos.index(1);
  Order::Slots out = Order::alone;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    if (!a.dense && static_cast<int>(k) != o.pattern && o.shared(u, k) != o.pattern) return Order::nested;
    if (!a.dense || a.indices.empty()) continue;
    if (slots >= short_row * rows || a.indices != std::vector<int>{o.indices[0]}) return Order::nested;
    out = Order::in_rows;
  }
  return out;
}

std::optional<Tensor> run_flat(const Unit& unit, const Order& order) {
  const Flat flat = flattened(unit, order);
  const auto values = Run(flat.unit, flat.order).run();
  if (!values) return std::nullopt;
  return Run(unit, order).with_values(pattern_of(unit, order), values->part().values);
}

Tensor Run::in_slots() {
  const Tensor& t = tensors_[static_cast<std::size_t>(o_.pattern)];
  const Part& part = t.part();
  const i64 slots = used_values(part), n = std::max<i64>(1, slots / slots_of_chunk);
  cuts_.clear();
  for (i64 c = 0; c <= n; ++c) cuts_.push_back(begin_of_share(slots, c, n));
  const Buffer values = Buffer::allocate(u_.compute, slots);
  const LevelArrays &above = part.levels[0], &last = part.levels[1];
  const bool dense = part.format.level(0).kind == LevelKind::dense;
  const i64 rows = dense ? part.ranges[0].size : above.pos.index(1);
  parallel_for(n, [&](i64 c) {
    const i64 begin = cuts_[static_cast<std::size_t>(c)], end = cuts_[static_cast<std::size_t>(c) + 1];
    const i64 first = partition_point(0, rows, [&](i64 row) { return last.pos.index(row + 1) <= begin; });
    std::vector<Buffer> of_slots(tensors_.size());
    for (std::size_t k = 0; k < tensors_.size(); ++k) {
      if (!input_.operands[k].each_slot) continue;
      const Part& from = tensors_[k].part();
      of_slots[k] = Buffer::allocate(tensors_[k].dtype(), end - begin + at_once);
      with_width(size_of(tensors_[k].dtype()), [&]<class T>(T) {
        const T* row_values = static_cast<const T*>(from.values.data) + from.values_offset;
        T* to = static_cast<T*>(of_slots[k].data);
        with_index_type(last.pos.dtype, [&]<class P>(P) {
          const auto* pos = static_cast<const P*>(last.pos.data);
          for (i64 q = first, at = begin; at < end; ++q) {
            const i64 stop = std::min<i64>(end, static_cast<i64>(pos[q + 1])), x = dense ? q : above.crd.index(q);
            const T value = row_values[x * from.strides[0]];
            // Whole vectors: where the next row begins is overwritten by it.
            do {
              for (i64 s = 0; s < at_once; ++s) to[at - begin + s] = value;
              at += at_once;
            } while (at < stop);
            at = stop;
          }
        });
      });
    }
    call(c, {.values = values.data}, of_slots);
  });
  return with_values(t, values);
}

std::string emit_flat(const Unit& unit, const Order& order, const std::string& expression) {
  const Flat flat = flattened(unit, order);
  return Run(flat.unit, flat.order).emit(expression);
}

std::string describe_flat(const Unit& unit, const Order& order, bool code) {
  const Flat flat = flattened(unit, order);
  const std::string& name = unit.accesses[static_cast<std::size_t>(order.pattern)].name;
  const std::string out = "one loop over the slots of " + name + "\ninto the pattern of " + name + "\n";
  return code ? out + Run(flat.unit, flat.order).describe(conversion::dense_format(1), true) : out;
}

}  // namespace strata::direct
