#include "plan/aligned_copy.h"

#include <algorithm>
#include <cstring>

#include "backend/pool.h"
#include "base/checked.h"
#include "base/far_apart.h"
#include "format/recognise.h"
#include "kernels/caches.h"
#include "levels/index_view.h"
#include "plan/product.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

constexpr i64 line = kernels::line_bytes, nearby = kernels::packed_bytes;
constexpr i64 largest = i64{32} << 20;  ///< bytes of a copy, unless its rows are short and chosen in no order:
constexpr i64 largest_scattered = i64{512} << 20;
constexpr i64 short_row = 256;  ///< bytes of which a line is a large part

/// Reads of a row that pay for its copy: from memory a copied byte takes as long as some thirty gathered ones gain by
/// it. (Where the copy and what it is made of do not fit the second level together, rows of a mesh of 18 elements lose
/// 40 %, uniform ones of 41 gain 15.)
constexpr i64 enough_reads(i64 bytes) { return bytes <= nearby / 4 ? 12 : bytes <= nearby ? 32 : 64; }
/// The same for rows in no order, each of which costs a line more from wherever it lies.
constexpr i64 enough_scattered_reads(i64 row_bytes) { return row_bytes <= short_row / 2 ? 6 : 10; }

/// Do the coordinates of this level follow each other in no order?
bool in_no_order(const Tensor& t, int level) {
  const Buffer& crd = t.part().levels[static_cast<std::size_t>(level)].crd;
  return with_index_type(crd.dtype, [&]<class T>(T) {
    return far_apart(static_cast<const T*>(crd.data), std::min(crd.size, stored_values(t)));
  });
}

/// The level of the driver, if any, that stores coordinates of index `id` one by one.
int choosing_level(const TensorType& driver, const std::vector<int>& ids, int id) {
  const Format& f = driver.format;
  for (int l = 0; l < f.num_levels() && f.num_parts() == 1; ++l) {
    const LevelKind kind = f.level(l).kind;
    const int d = plain_dim(f, l);
    if (d >= 0 && (kind == LevelKind::compressed || kind == LevelKind::singleton) &&
        ids[static_cast<std::size_t>(d)] == id)
      return l;
  }
  return -1;
}

}  // namespace

std::optional<AlignedCopy> aligned_copy_of(const TensorType& t, const std::vector<int>& ids, const TensorType& driver,
                                           const std::vector<int>& own) {
  const auto size = checked_product(t.shape);
  const i64 width = static_cast<i64>(size_of(t.dtype));
  if (!is_plain_dense(t) || !t.strides.empty() || t.format.num_batch_levels() > 0 || !size || *size == 0 ||
      *size > largest_scattered / width)
    return std::nullopt;
  i64 rows = 1, row = 1;
  int last = -1;       // the last index that the driver chooses
  bool inside = true;  // still in the row
  for (int l = t.format.num_levels() - 1; l >= 0; --l) {
    const int d = t.format.spec().exprs[static_cast<std::size_t>(t.format.level(l).expr)].a;
    const i64 n = t.shape[static_cast<std::size_t>(d)];
    const bool chosen = std::find(own.begin(), own.end(), ids[static_cast<std::size_t>(d)]) != own.end();
    inside = inside && !chosen;
    if (inside) row *= n;
    if (chosen) rows *= n;
    if (chosen && last < 0) last = ids[static_cast<std::size_t>(d)];
  }
  if (inside || row * width % (line / 2) != 0) return std::nullopt;
  const i64 bytes = *size * width;
  AlignedCopy copy;
  if (bytes <= largest) copy.worth = rows * enough_reads(bytes);
  copy.small = bytes <= nearby;
  if (bytes > nearby && row * width <= short_row) copy.chooser = choosing_level(driver, own, last);
  if (copy.chooser >= 0) copy.scattered = rows * enough_scattered_reads(row * width);
  if (bytes > largest && copy.chooser < 0) return std::nullopt;
  return copy;
}

bool AlignedCopy::pays(const Tensor& dense, const Tensor& driver, i64 elements) const {
  return reinterpret_cast<std::uintptr_t>(dense.part().values.data) % line != 0 &&
         (elements >= (small ? worth * thread_count() : worth) ||
          (elements >= scattered && in_no_order(driver, chooser)));
}

std::string AlignedCopy::text(const std::string& driver) const {
  std::string when = std::to_string(worth < never ? worth : scattered) + " values of " + driver + " are stored";
  if (worth == never) when += " in no order";
  else if (scattered < worth) when += ", or " + std::to_string(scattered) + " in no order";
  return "to the start of a cache line, where it stands elsewhere and at least " + when;
}

Tensor aligned_copy(const Tensor& t) {
  Part part = t.part();
  const Buffer from = part.values;
  part.values = Buffer::allocate(from.dtype, from.size);
  constexpr i64 chunk = i64{32} << 10;
  parallel_for(ceil_div(from.bytes(), chunk), [&](i64 c) {
    const auto n = static_cast<std::size_t>(std::min(chunk, from.bytes() - c * chunk));
    std::memcpy(static_cast<char*>(part.values.data) + c * chunk, static_cast<const char*>(from.data) + c * chunk, n);
  });
  return make_from_parts(t.type(), {std::move(part)});
}

}  // namespace strata::planning
