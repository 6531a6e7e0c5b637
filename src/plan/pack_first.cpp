// Dot products of rows want rows: what lies across is turned once, instead of being gathered for every stored element.
#include "plan/pack_first.h"

#include <algorithm>
#include <mutex>

#include "base/checked.h"
#include "execute/dense_view.h"
#include "plan/ordered_rows.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

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
    assign(execution::view_of(copy), permuted(execution::view_of(t), p.order));
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
