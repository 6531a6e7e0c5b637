#include "plan/nest/aligned.h"

#include <algorithm>

#include "plan/product.h"

namespace strata::direct {

std::vector<AlignedRows> aligned_rows(const Unit& u, const Order& o) {
  // Rows lie along the tile, or along the sum in each slot of a pattern; the loop around chooses them.
  const std::size_t n = o.indices.size();
  const bool sums_in_slots = o.pattern >= 0 && u.output.size() + 1 == n;
  if (n < 2 || (o.tile < 0 && !sums_in_slots)) return {};
  const int row = o.tile >= 0 ? o.tile : o.indices[n - 1], chooser = o.indices[n - (o.tile >= 0 ? 1 : 2)];
  const auto has = [](const Access& a, int index) { return std::ranges::find(a.indices, index) != a.indices.end(); };
  const auto driver = std::ranges::find_if(u.accesses, [&](const Access& a) { return !a.dense && has(a, chooser); });
  std::vector<AlignedRows> out;
  if (driver == u.accesses.end()) return out;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Access& a = u.accesses[k];
    if (!a.dense || a.indices.empty() || a.indices.back() != row || !has(a, chooser)) continue;
    if (const auto copy = planning::aligned_copy_of(a.tensor.type(), a.indices, driver->tensor.type(), driver->indices))
      out.push_back({k, static_cast<std::size_t>(driver - u.accesses.begin()), *copy});
  }
  return out;
}

std::vector<Tensor> with_aligned_rows(const Order& o, std::span<const Tensor> operands) {
  std::vector<Tensor> out(operands.begin(), operands.end());
  for (const auto& [k, driver, copy] : o.aligned) {
    const Tensor &t = operands[k], &d = operands[driver];
    if (!t.type().strides.empty() || !copy.pays(t, d, planning::stored_values(d))) continue;
    const auto same = std::ranges::find_if(operands.first(k), [&](const Tensor& x) { return x.same_object(t); });
    out[k] = same != operands.begin() + static_cast<std::ptrdiff_t>(k)
                 ? out[static_cast<std::size_t>(same - operands.begin())]
                 : planning::aligned_copy(t);
  }
  return out;
}

}  // namespace strata::direct
