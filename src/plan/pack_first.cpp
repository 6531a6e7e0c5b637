// Dot products of rows want rows: what lies across is turned once, instead of being gathered for every stored element.
#include "plan/pack_first.h"

#include <algorithm>
#include <mutex>

#include "backend/pool.h"
#include "base/checked.h"
#include "plan/dense_view.h"
#include "plan/ordered_rows.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;
constexpr i64 tile = 64;  // both sides of a tile stay in L1

/// A square of 16-byte rows, transposed in registers: from[c * step] .. becomes to[r * width] .. (2.5-4x of single
/// elements, measured).
template <class T> struct Square {
  static constexpr i64 side = 1;
  static void turn(T* to, i64, const T* from, i64) { *to = *from; }
};
template <> struct Square<std::uint32_t> {
  static constexpr i64 side = 4;
  using Row [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = std::uint32_t;
  static void turn(std::uint32_t* to, i64 width, const std::uint32_t* from, i64 step) {
    const auto in = [&](i64 c) { return *reinterpret_cast<const Row*>(from + c * step); };
    const auto out = [&](i64 r) -> Row& { return *reinterpret_cast<Row*>(to + r * width); };
    const Row a = in(0), b = in(1), c = in(2), d = in(3);
    const Row ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Row ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    out(0) = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
    out(1) = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
    out(2) = __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5);
    out(3) = __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7);
  }
};
template <> struct Square<std::uint64_t> {
  static constexpr i64 side = 2;
  using Row [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;
  static void turn(std::uint64_t* to, i64 width, const std::uint64_t* from, i64 step) {
    const Row a = *reinterpret_cast<const Row*>(from), b = *reinterpret_cast<const Row*>(from + step);
    *reinterpret_cast<Row*>(to) = __builtin_shufflevector(a, b, 0, 2);
    *reinterpret_cast<Row*>(to + width) = __builtin_shufflevector(a, b, 1, 3);
  }
};

/// to = from for views of rank 2 or more: the last dimension of `to` is contiguous, that of `from` is not.
template <class T>
void turn(const DenseView& to, const DenseView& from) {
  const int last = to.rank - 1;
  // The dimension along which `from` is closest together.
  int near = last == 0 ? 0 : last - 1;
  for (int d = 0; d < last; ++d)
    if (std::abs(from.strides[d]) < std::abs(from.strides[near]) && from.shape[d] > 1) near = d;
  i64 outer = 1;
  for (int d = 0; d < last; ++d)
    if (d != near) outer *= to.shape[d];
  const i64 rows = last == 0 ? 1 : to.shape[near], columns = to.shape[last];
  const i64 bands = (rows + tile - 1) / tile;
  const auto band = [&](i64 task) {
    i64 rest = task / bands, x = 0, y = 0;
    for (int d = last - 1; d >= 0; --d) {
      if (d == near) continue;
      x += rest % to.shape[d] * to.strides[d];
      y += rest % to.shape[d] * from.strides[d];
      rest /= to.shape[d];
    }
    const i64 first = task % bands * tile, end = std::min(rows, first + tile);
    const i64 tr = last == 0 ? 0 : to.strides[near], fr = last == 0 ? 0 : from.strides[near], fc = from.strides[last];
    T* t = reinterpret_cast<T*>(to.data) + x;
    const T* f = reinterpret_cast<const T*>(from.data) + y;
    constexpr i64 side = Square<T>::side;
    i64 c = 0;
    for (; side > 1 && fr == 1 && c + side <= columns; c += side) {
      i64 r = first;
      for (; r + side <= end; r += side) Square<T>::turn(t + r * tr + c, tr, f + r + c * fc, fc);
      for (; r < end; ++r)
        for (i64 q = c; q < c + side; ++q) t[r * tr + q] = f[r + q * fc];
    }
    for (; c < columns; c += tile)
      for (i64 r = first; r < end; ++r)
        for (i64 q = c; q < std::min(columns, c + tile); ++q) t[r * tr + q] = f[r * fr + q * fc];
  };
  const i64 tasks = outer * bands;
  if (tasks * tile * columns < 1 << 15)
    for (i64 k = 0; k < tasks; ++k) band(k);
  else parallel_for(tasks, band);
}

void turn(const DenseView& to, const DenseView& from) {
  switch (size_of(to.dtype)) {
    case 1: return turn<std::uint8_t>(to, from);
    case 2: return turn<std::uint16_t>(to, from);
    case 4: return turn<std::uint32_t>(to, from);
    case 8: return turn<std::uint64_t>(to, from);
    default: return assign(to, from);
  }
}

/// One operand with its dimensions in another order, the summed one last.
struct Pack {
  std::size_t operand;
  std::vector<int> order;  ///< dimension d of the copy is dimension order[d] of the operand
  TensorType type;
};

class PackFirst : public Preparation {
 public:
  PackFirst(Product plain, std::vector<Pack> packs, i64 worth, RunnerPtr packed)
      : Preparation(std::move(packed)), plain_(std::move(plain)), packs_(std::move(packs)), worth_(worth) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    if (stored_values(out) < worth_) return where_it_stands().run(operands, out, alpha, beta);
    std::vector<Tensor> in(operands.begin(), operands.end());
    for (const Pack& p : packs_) in[p.operand] = packed(p, operands[p.operand]);
    inner_->run(in, out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    for (const Pack& p : packs_)
      out.emplace_back("copy of " + operand_name(p.operand), "contiguous along the summed index, where at least " +
                                                                 std::to_string(worth_) + " values are stored");
    return out;
  }

 private:
  static Tensor packed(const Pack& p, const Tensor& t) {
    RawArrays arrays;
    arrays.values = Buffer::allocate(p.type.dtype, *checked_product(p.type.shape));
    const Tensor copy = make_tensor(p.type.format, p.type.shape, arrays, {}, false);
    const DenseView to = view_of(copy), own = view_of(t);
    DenseView from = own;
    for (int d = 0; d < own.rank; ++d) {
      from.shape[d] = own.shape[p.order[static_cast<std::size_t>(d)]];
      from.strides[d] = own.strides[p.order[static_cast<std::size_t>(d)]];
    }
    if (to.size() > 0) turn(to, from);
    return copy;
  }

  const Runner& where_it_stands() const {
    std::call_once(once_, [this] {
      std::string why;
      direct_ = compile_in_pattern(plain_, why);
    });
    return direct_ ? *direct_ : *inner_;
  }

  Product plain_;
  std::vector<Pack> packs_;
  i64 worth_;
  mutable std::once_flag once_;
  mutable RunnerPtr direct_;
};

/// Does the type promise that neighbours along dimension d are neighbours in memory (or the same element)?
bool near_along(const TensorType& t, int d) {
  const FormatSpec& spec = t.format.spec();
  const int levels = t.format.num_levels();
  for (int l = 0; l < levels; ++l) {
    if (spec.exprs[static_cast<std::size_t>(t.format.level(l).expr)].a != d) continue;
    if (t.strides.empty()) return l + 1 == levels;
    return t.strides[static_cast<std::size_t>(l)] != TensorType::Stride::general;
  }
  return true;
}

}  // namespace

RunnerPtr pack_first(const Product& product, std::string& why) {
  std::vector<Shape> shapes;
  for (const auto& t : product.operands) shapes.push_back(t.shape);
  const auto extents = index_extents(product.einsum, shapes);
  const auto driver = static_cast<std::size_t>(product.pattern_of);
  // The longest summed index, as the schedule tiles it.
  int summed = -1;
  for (const auto& ids : product.einsum.operands)
    for (int i : ids) {
      const auto& out = product.einsum.output;
      if (std::find(out.begin(), out.end(), i) != out.end()) continue;
      if (summed < 0 || extents[static_cast<std::size_t>(i)] > extents[static_cast<std::size_t>(summed)]) summed = i;
    }
  Product packed = product;
  std::vector<Pack> packs;
  i64 rows = 0;
  for (std::size_t k = 0; summed >= 0 && k < product.operands.size(); ++k) {
    const auto& ids = product.einsum.operands[k];
    const TensorType& t = product.operands[k];
    if (k == driver || !is_plain_dense(t) || std::count(ids.begin(), ids.end(), summed) != 1) continue;
    if (extents[static_cast<std::size_t>(summed)] < 4 || is_complex(t.dtype)) continue;
    const int d = static_cast<int>(std::find(ids.begin(), ids.end(), summed) - ids.begin());
    if (near_along(t, d)) continue;
    Pack p{k, {}, {}};
    for (int q = 0; q < static_cast<int>(ids.size()); ++q)
      if (q != d) p.order.push_back(q);
    p.order.push_back(d);
    Shape shape;
    std::vector<int> indices;
    for (int q : p.order) {
      shape.push_back(t.shape[static_cast<std::size_t>(q)]);
      indices.push_back(ids[static_cast<std::size_t>(q)]);
    }
    const auto size = checked_product(shape);
    if (!size) continue;
    p.type = dense_type(shape, t.dtype);
    packed.operands[k] = p.type;
    packed.einsum.operands[k] = indices;
    rows += *size / std::max<i64>(1, extents[static_cast<std::size_t>(summed)]);
    packs.push_back(std::move(p));
  }
  RunnerPtr runner = compile_in_pattern(packed, why);
  if (!runner || packs.empty()) return runner;
  // A gathered dot product costs some eight times a contiguous one, and turning a row as much as two.
  return std::make_shared<PackFirst>(product, std::move(packs), rows / 4, std::move(runner));
}

}  // namespace strata::planning
