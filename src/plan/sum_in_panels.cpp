// Long sums in panels: the weights' gradient of a pruned layer (a batch of 512 rows of k) reads V from the second level
// then, not from the third or memory.
#include "plan/sum_in_panels.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>

#include "backend/pool.h"
#include "base/checked.h"
#include "base/share.h"
#include "execute/dense_view.h"
#include "kernels/panels.h"
#include "levels/index_view.h"
#include "machine/machine.h"
#include "plan/chosen.h"
#include "plan/ordered_rows.h"
#include "tensor/tensor_impl.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

constexpr i64 elements_a_row = 24;

/// A dense operand that moves along the summed index. Where it is large it is packed also if its rows come in their
/// order: parts of them that lie a page apart are misses of their own, which a copy has in flight together.
struct Side {
  std::size_t operand;
  bool packed;  ///< ... or read where it lies
};

class SumInPanels : public Preparation {
 public:
  SumInPanels(Product whole, i64 length, i64 width, std::vector<Side> sides, int chooser, RunnerPtr inner)
      : Preparation(std::move(inner)),
        whole_(std::move(whole)),
        length_(length),
        width_(width),
        sides_(std::move(sides)),
        chooser_(chooser) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    const bool compiles =
        pays(operands, out) && of_width(width_) && (length_ % width_ == 0 || of_width(length_ % width_));
    if (!compiles) return inner_->run(operands, out, alpha, beta);
    std::vector<Buffer> copies(sides_.size());
    for (i64 begin = 0; begin < length_; begin += width_) {
      const i64 width = std::min(width_, length_ - begin);
      std::vector<Tensor> in(operands.begin(), operands.end());
      for (std::size_t s = 0; s < sides_.size(); ++s)
        in[sides_[s].operand] = panel_of(operands[sides_[s].operand], sides_[s], begin, width, copies[s]);
      of_width(width)->run(in, out, alpha, begin == 0 ? beta : Scalar::one(whole_.compute));
    }
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    std::string names;
    for (const Side& s : sides_)
      if (s.packed) names += (names.empty() ? "" : ", ") + operand_name(s.operand);
    out.emplace_back("panels", std::to_string(width_) + " of " + std::to_string(length_) + " summed, " + names +
                                   " packed, where rows of " +
                                   operand_name(static_cast<std::size_t>(whole_.pattern_of)) +
                                   " choose from everywhere and " + std::to_string(enough()) + " values are stored");
    return out;
  }

 private:
  /// Rows of the packed operands.
  i64 rows() const {
    i64 most = 1;
    for (const Side& s : sides_)
      if (s.packed) most = std::max(most, checked_product(whole_.operands[s.operand].shape).value_or(0) / length_);
    return most;
  }
  /// Stored elements from which on packing pays: each panel costs as many, whatever its width, and what hardly leaves
  /// the second level gains less. (Both sides are copied: a row of them takes as long as some ten elements.)
  i64 enough() const {
    const i64 element = static_cast<i64>(size_of(whole_.compute));
    const bool narrow = width_ * element < 256, just_over = rows() * length_ * element <= 2 * machine().second_level;
    return (narrow ? 2 : 1) * (just_over ? 2 : 1) * elements_a_row * rows();
  }

  bool pays(std::span<const Tensor> operands, const Tensor& out) const {
    if (stored_values(out) < enough()) return false;
    const Part& part = operands[static_cast<std::size_t>(whole_.pattern_of)].part();
    if (identical_rows(whole_, part)) return false;  // they share what they choose, whole
    const auto& level = part.levels[static_cast<std::size_t>(chooser_)];
    const i64 columns = part.ranges[static_cast<std::size_t>(chooser_)].size,
              rows_in_use = level_counts(part, level_views(part))[static_cast<std::size_t>(chooser_)];
    return with_index_type(level.pos.dtype, [&]<class P>(P) {
      return with_index_type(level.crd.dtype, [&]<class C>(C) {
        return kernels::rows_spread(rows_in_use, columns, static_cast<const P*>(level.pos.data),
                                    static_cast<const C*>(level.crd.data));
      });
    });
  }

  /// The product of a panel so wide, compiled when it is first asked for: all panels but the last one are of one width.
  const Runner* of_width(i64 width) const {
    const auto which = static_cast<std::size_t>(width != width_);
    std::call_once(once_[which], [&] {
      Product p = whole_;
      for (const Side& s : sides_) {
        const TensorType& whole = whole_.operands[s.operand];
        Shape shape = whole.shape;
        shape.back() = width;
        p.operands[s.operand] = dense_type(shape, whole.dtype);
        if (s.packed) continue;
        p.operands[s.operand].strides.assign(shape.size(), TensorType::Stride::general);
        p.operands[s.operand].strides.back() = TensorType::Stride::unit;
      }
      std::string why;
      panels_[which] = compile_in_pattern(p, why);
    });
    return panels_[which].get();
  }

  Tensor panel_of(const Tensor& t, const Side& side, i64 begin, i64 width, Buffer& copy) const {
    Part part = t.part();
    const execution::DenseView from = execution::view_of(t);
    TensorType type = dense_type(t.shape(), t.dtype());
    type.shape.back() = width;
    part.ranges = type.format.level_ranges(type.shape);
    part.format = type.format;
    part.values_offset += begin;
    if (!side.packed) {
      type.strides.assign(type.shape.size(), TensorType::Stride::general);
      type.strides.back() = TensorType::Stride::unit;
      part.strides.assign(from.strides, from.strides + from.rank);
      return make_from_parts(std::move(type), {std::move(part)});
    }
    const i64 rows = from.size() / length_, element = static_cast<i64>(size_of(t.dtype()));
    if (!copy.data) copy = Buffer::allocate(t.dtype(), rows * width_);
    const i64 chunks = std::max<i64>(1, rows * width * element >> 16);
    parallel_for(chunks, [&](i64 c) {
      for (i64 r = begin_of_share(rows, c, chunks), end = begin_of_share(rows, c + 1, chunks); r < end; ++r)
        std::memcpy(static_cast<char*>(copy.data) + r * width * element, from.data + (r * length_ + begin) * element,
                    static_cast<std::size_t>(width * element));
    });
    part.values = copy;
    part.values_offset = 0;
    part.strides = row_major_strides(part.ranges);
    return make_from_parts(std::move(type), {std::move(part)});
  }

  Product whole_;
  i64 length_, width_;
  std::vector<Side> sides_;
  int chooser_;  ///< the driver's level whose coordinates choose the packed rows
  mutable std::array<std::once_flag, 2> once_;
  mutable std::array<RunnerPtr, 2> panels_;
};

/// The innermost level of the driver, where it is compressed and its coordinates are an index; and that index.
std::optional<std::pair<int, int>> choosing(const TensorType& driver, const std::vector<int>& ids) {
  const Format& f = driver.format;
  if (f.num_parts() != 1 || f.num_batch_levels() > 0) return std::nullopt;
  const int l = f.num_levels() - 1, id = chosen_by(driver, ids, l);
  if (f.level(l).kind != LevelKind::compressed || id < 0) return std::nullopt;
  return std::pair(l, id);
}

/// Bytes of a panel's rows: all that are chosen from stay in the second level, or nearly. Two lines at least, as every
/// panel reads A and the result anew: with fewer, what the second level does not hold is left alone, unless it comes
/// from memory. (Measured for uniform matrices of 2,000 to 30,000 rows, 10 to 800 elements a row, sums of 128 to 1024.)
i64 panel_bytes(i64 rows, i64 all_bytes) {
  for (i64 bytes : {512, 256})
    if (rows * bytes <= machine().second_level) return bytes;
  return rows * 128 <= machine().second_level * 5 / 4 || all_bytes >= 2 * far_bytes ? 128 : 0;
}

}  // namespace

RunnerPtr sum_in_panels(const Product& product, RunnerPtr inner) {
  const Einsum& e = product.einsum;
  const auto driver = static_cast<std::size_t>(product.pattern_of);
  const auto chooser = choosing(product.operands[driver], e.operands[driver]);
  const DType t = product.compute;
  if (!inner || !chooser || !(t == DType::f32 || t == DType::f64 || is_complex(t)) || product.output.dtype != t)
    return inner;
  int summed = -1;
  i64 length = 0, rows = 0;
  std::vector<Side> sides;
  for (std::size_t k = 0; k < e.operands.size(); ++k) {
    const TensorType& type = product.operands[k];
    const auto& ids = e.operands[k];
    const auto is_output = [&](int i) { return std::ranges::find(e.output, i) != e.output.end(); };
    const auto free = static_cast<std::size_t>(std::ranges::count_if(ids, [&](int i) { return !is_output(i); }));
    if (free == 0) continue;
    // Rows along one summed index, each in one piece.
    if (k == driver || free > 1 || is_output(ids.back()) || (summed >= 0 && summed != ids.back())) return inner;
    if (type.dtype != t || !is_plain_dense(type) || !type.strides.empty() ||
        !(type.format == dense_type(type.shape, t).format))
      return inner;
    summed = ids.back();
    length = type.shape.back();
    const auto size = checked_product(type.shape);
    if (!size || *size == 0) return inner;
    const bool packed = *size >= machine().second_level / static_cast<i64>(size_of(t));
    if (packed && std::ranges::find(ids, chooser->second) != ids.end()) rows = std::max(rows, *size / length);
    sides.push_back({k, packed});
  }
  if (rows == 0) return inner;
  const i64 width = panel_bytes(rows, rows * length * static_cast<i64>(size_of(t))) / static_cast<i64>(size_of(t));
  if (width == 0 || width >= length) return inner;
  return std::make_shared<SumInPanels>(product, length, width, std::move(sides), chooser->first, std::move(inner));
}

}  // namespace strata::planning
