// One element by its coordinates.
#include "base/sum_in_pairs.h"
#include "tensor/tensor_impl.h"

namespace strata {
namespace {

void find_below(const Part& part, std::span<const storage::LevelView> views, std::span<const std::int64_t> wanted,
                int l, std::int64_t position, const std::function<void(std::int64_t)>& visit) {
  if (l == part.format.num_levels()) return visit(position);
  const auto i = static_cast<std::size_t>(l);
  storage::storage_of(views[i].level.kind).find(views[i], position, wanted[i], [&](std::int64_t p) {
    find_below(part, views, wanted, l + 1, p, visit);
  });
}

}  // namespace

std::optional<Scalar> Tensor::get(std::span<const std::int64_t> coordinates) const {
  if (static_cast<int>(coordinates.size()) != rank())
    throw IndexError({.what = "an element needs one coordinate per dimension",
                      .expected = std::to_string(rank()),
                      .got = std::to_string(coordinates.size())});
  for (std::size_t d = 0; d < coordinates.size(); ++d)
    if (coordinates[d] < 0 || coordinates[d] >= shape()[d])
      throw IndexError({.what = "coordinate out of range",
                        .expected = "0 to " + std::to_string(shape()[d] - 1) + " in dimension " + std::to_string(d),
                        .got = std::to_string(coordinates[d])});
  std::vector<Scalar> found;
  bool filled =
      false;  // by a slot that a format put there: in a sum it stands for nothing where another part stores something
  for (int k = 0; k < num_parts(); ++k) {
    const Part& p = part(k);
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(p.format.num_levels()));
    p.format.dim2lvl(coordinates, wanted);
    std::int64_t batch = 0;
    const int first = batch_levels(p);
    for (int l = 0; l < first; ++l) {
      const auto i = static_cast<std::size_t>(l);
      batch = batch * p.ranges[i].size + (wanted[i] - p.ranges[i].lo);
    }
    const auto views = level_views(p, batch);
    const bool dense = p.format.is_all_dense();
    find_below(p, views, wanted, first, dense ? p.values_offset : 0, [&](std::int64_t position) {
      const std::int64_t slot =
          dense ? position : (first ? batch * p.values_batch_stride : 0) + position * p.value_stride;
      const Scalar x = Scalar::load(
          dtype(), static_cast<const char*>(p.values.data) + slot * static_cast<std::int64_t>(size_of(dtype())));
      if (num_parts() > 1 && p.format.can_hold_fill() && x.same_bits(fill())) filled = true;
      else found.push_back(x);
    });
  }
  if (found.empty()) return filled ? std::optional(fill()) : std::nullopt;
  return sum_in_pairs(
      0, static_cast<std::int64_t>(found.size()), [&](std::int64_t k) { return found[static_cast<std::size_t>(k)]; },
      add);
}

}  // namespace strata
