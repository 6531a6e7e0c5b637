#include "plan/ordered_rows.h"

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <optional>

#include "base/checked.h"
#include "base/row_order.h"
#include "kernels/caches.h"
#include "levels/index_view.h"
#include "plan/chosen.h"
#include "plan/compiled.h"
#include "tensor/tensor_impl.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

constexpr i64 longest_sum = 128;  ///< the compiler writes sums so long in one piece, and may hold several of them
constexpr i64 fewest_rows = 16;
constexpr i64 shortest_row = 16;            ///< shorter ones are all about their ends
constexpr i64 fewest_bytes = i64{1} << 20;  ///< of a dense operand whose rows are asked for by order

/// Of eight places, do most have blocks of four rows or more? Of nine rows there, two pairs of neighbours at most
/// differ then. (Rows that come in twos and threes lose: a mesh with three unknowns a node took 1.15 times as long.)
template <class P, class C> bool sample(i64 rows, const P* pos, const C* crd) {
  constexpr i64 places = 8, enough = 6, pairs = 8;
  const auto differ = [&](i64 i) {
    const i64 first = static_cast<i64>(pos[i]), other = static_cast<i64>(pos[i + 1]), n = other - first;
    return n < shortest_row || static_cast<i64>(pos[i + 2]) - other != n ||
           !std::equal(crd + first, crd + other, crd + other);
  };
  i64 found = 0;
  for (i64 s = 0; s < places && found + places - s >= enough; ++s) {
    const i64 first = (rows - pairs - 1) * s / (places - 1);
    i64 different = 0;
    for (i64 i = first; i < first + pairs && different <= 2; ++i) different += differ(i);
    found += different <= 2;
  }
  return found >= enough;
}

/// Dense levels, and a compressed one below.
bool has_rows(const TensorType& t) {
  const Format& f = t.format;
  const int last = f.num_levels() - 1;
  if (f.num_parts() != 1 || f.num_batch_levels() > 0 || last < 1 || f.level(last).kind != LevelKind::compressed)
    return false;
  for (int l = 0; l < last; ++l)
    if (f.level(l).kind != LevelKind::dense) return false;
  return true;
}

/// f(rows, pos, crd) of the last level.
template <class F> auto with_rows(const Part& part, const F& f) {
  const std::size_t last = part.levels.size() - 1;
  i64 rows = 1;
  for (std::size_t l = 0; l < last; ++l) rows *= part.ranges[l].size;
  return with_index_type(part.levels[last].pos.dtype, [&]<class P>(P) {
    return with_index_type(part.levels[last].crd.dtype, [&]<class C>(C) {
      return f(rows, static_cast<const P*>(part.levels[last].pos.data),
               static_cast<const C*>(part.levels[last].crd.data));
    });
  });
}

bool sample(const Part& part) {
  return with_rows(
      part, [](i64 rows, const auto* pos, const auto* crd) { return rows >= fewest_rows && sample(rows, pos, crd); });
}

/// Is there a dense operand whose rows the last level chooses, for a sum that the compiler writes in one piece?
bool may_share(const Product& p) {
  const auto driver = static_cast<std::size_t>(p.pattern_of);
  if (!has_rows(p.operands[driver]) || !(p.compute == DType::f32 || p.compute == DType::f64)) return false;
  i64 longest = 0;
  for (std::size_t k = 0; k < p.operands.size(); ++k)
    for (std::size_t d = 0; d < p.einsum.operands[k].size(); ++d)
      if (std::ranges::find(p.einsum.output, p.einsum.operands[k][d]) == p.einsum.output.end())
        longest = std::max(longest, p.operands[k].shape[d]);
  return longest > 1 && longest <= longest_sum;
}

/// Bytes of the longest rows that a matrix chooses from dense operands so large that it pays to ask for them by order;
/// 0: there are none.
i64 ordered_row_bytes(const Product& p) {
  const auto driver = static_cast<std::size_t>(p.pattern_of);
  const TensorType& a = p.operands[driver];
  if (machine().rows_by_order == ByOrder::never || !has_rows(a) || a.format.num_levels() != 2) return 0;
  const int column = chosen_by(a, p.einsum.operands[driver], 1);
  i64 longest = 0;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const auto& ids = p.einsum.operands[k];
    const auto d = std::ranges::find(ids, column);
    const std::optional<i64> size = checked_product(p.operands[k].shape);
    if (k == driver || column < 0 || d == ids.end() || !size || *size == 0) continue;
    const i64 width = static_cast<i64>(size_of(p.operands[k].dtype));
    if (*size >= fewest_bytes / width)
      longest = std::max(longest, *size / p.operands[k].shape[static_cast<std::size_t>(d - ids.begin())] * width);
  }
  return longest;
}

class OrderedRows : public Preparation {
 public:
  OrderedRows(Product product, bool shares, i64 row_bytes, RunnerPtr inner)
      : Preparation(std::move(inner)), product_(std::move(product)), shares_(shares), row_bytes_(row_bytes) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    kernel_for(order_of(operands[static_cast<std::size_t>(product_.pattern_of)].part()))
        .run(operands, out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    if (shares_)
      out.emplace_back("rows alike",
                       "four neighbours with the same coordinates are computed together, by a kernel of their own, "
                       "where most rows come in blocks of four or more");
    if (row_bytes_ > 0)
      out.emplace_back("rows in order",
                       "kernels of their own for bands and meshes, for blocks, and for no order: they differ in when "
                       "they ask for rows of dense operands");
    return out;
  }

 private:
  RowOrder order_of(const Part& part) const {
    if (shares_ && sample(part)) return RowOrder::identical;
    if (row_bytes_ == 0) return RowOrder::any;
    return with_rows(part, [&](i64 rows, const auto* pos, const auto* crd) {
      const RowOrder order = row_order(rows, pos, crd, kernels::order_slack(row_bytes_)).order;
      return order == RowOrder::along || machine().rows_by_order == ByOrder::always ? order : RowOrder::any;
    });
  }
  const Runner& kernel_for(RowOrder order) const {
    if (order == RowOrder::any) return *inner_;
    KernelOfOrder& k = kernels_[static_cast<std::size_t>(order)];
    std::call_once(k.once, [&] {
      std::string why;
      k.runner = compile_product(product_, product_.pattern_of, why, order);
    });
    return k.runner ? *k.runner : *inner_;
  }

  struct KernelOfOrder {
    std::once_flag once;
    RunnerPtr runner;
  };
  Product product_;
  bool shares_;
  i64 row_bytes_;  ///< 0: the order makes no difference
  mutable std::array<KernelOfOrder, 5> kernels_;
};

}  // namespace

bool identical_rows(const Product& product, const Part& part) { return may_share(product) && sample(part); }

i64 lead_of(const Part& part) {
  return with_rows(part, [](i64 rows, const auto* pos,
                            const auto* crd) { return lead_along(rows, pos, crd, std::numeric_limits<i64>::max()); })
      .value_or(0);
}

RunnerPtr compile_in_pattern(const Product& product, std::string& why) {
  RunnerPtr plain = compile_product(product, product.pattern_of, why);
  if (!plain) return plain;
  const bool shares = may_share(product);
  const i64 row_bytes = plain->name() == "compiled" ? ordered_row_bytes(product) : 0;
  if (!shares && row_bytes == 0) return plain;
  return std::make_shared<OrderedRows>(product, shares, row_bytes, std::move(plain));
}

}  // namespace strata::planning
