// Results by diagonals: a strip of memory for each diagonal that may come, and those that nothing came to left out.
#include "backend/pool.h"
#include "ops/direct/run.h"
#include "strata/error.h"

namespace strata::direct {

Tensor Run::by_diagonals() const {
  const auto n = static_cast<i64>(o_.diagonals.size());
  const i64 rows = u_.extents[static_cast<std::size_t>(u_.output[0])],
            columns = u_.extents[static_cast<std::size_t>(u_.output[1])], length = o_.along == 0 ? rows : columns;
  // All other diagonals have the strip behind the last one, which stays empty.
  Buffer table = Buffer::allocate(DType::i32, rows + columns - 1);
  auto* strip = static_cast<std::int32_t*>(table.data);
  std::fill(strip, strip + table.size, static_cast<std::int32_t>(n));
  for (i64 k = 0; k < n; ++k)
    strip[o_.diagonals[static_cast<std::size_t>(k)] + rows - 1] = static_cast<std::int32_t>(k);
  Buffer values = Buffer::filled(u_.absent, (n + 1) * length);
  Buffer met = Buffer::zeros(DType::u8, chunks() * (n + 1));
  auto* flags = static_cast<std::uint8_t*>(met.data);
  parallel_for(chunks(),
               [&](i64 c) { call(c, {.values = values.data, .strips = table.data, .met = flags + c * (n + 1)}); });
  const auto is_met = [&](i64 k) {
    for (i64 c = 0; c < chunks(); ++c)
      if (flags[c * (n + 1) + k]) return true;
    return false;
  };
  if (is_met(n)) throw InternalError("a value lies on a diagonal that no operand leads to");
  std::vector<i64> kept;
  for (i64 k = 0; k < n; ++k)
    if (is_met(k)) kept.push_back(k);
  const auto count = static_cast<i64>(kept.size());
  if (count == n) {
    values.size = n * length;
  } else {
    const auto bytes = static_cast<std::size_t>(length) * size_of(u_.compute);
    Buffer fewer = Buffer::allocate(u_.compute, count * length);
    for (std::size_t k = 0; k < kept.size(); ++k)
      std::memcpy(static_cast<char*>(fewer.data) + k * bytes,
                  static_cast<const char*>(values.data) + static_cast<std::size_t>(kept[k]) * bytes, bytes);
    values = fewer;
  }
  RawArrays arrays;
  arrays.pos[0] = Buffer::zeros(DType::i32, 2);
  arrays.pos[0].set_index(1, count);
  arrays.crd[0] = Buffer::allocate(index_dtype_for(std::max(rows, columns)), count);
  for (i64 k = 0; k < count; ++k)
    arrays.crd[0].set_index(k, o_.diagonals[static_cast<std::size_t>(kept[static_cast<std::size_t>(k)])]);
  arrays.values = values;
  FormatBuilder b({u_.names[static_cast<std::size_t>(u_.output[0])], u_.names[static_cast<std::size_t>(u_.output[1])]});
  b.level(b.sub(b.dim(1), b.dim(0)), Level{.kind = LevelKind::compressed});
  b.level(b.dim(o_.along), Level{.kind = LevelKind::range});
  return make_tensor(b.build(), shape(), std::move(arrays), u_.fill, false);
}

}  // namespace strata::direct
