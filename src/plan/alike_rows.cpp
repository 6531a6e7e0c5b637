#include "plan/alike_rows.h"

#include <algorithm>
#include <mutex>

#include "plan/compiled.h"
#include "tensor/index_view.h"
#include "tensor/tensor_impl.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

constexpr i64 longest_sum = 128;  ///< the compiler writes sums so long in one piece, and may hold several of them
constexpr i64 fewest_rows = 16;
constexpr i64 shortest_row = 16;  ///< shorter ones are all about their ends

/// Of eight places, do most have blocks of four rows or more? Of nine rows there, two pairs of neighbours at most differ then. (Rows that
/// come in twos and threes lose: a mesh with three unknowns a node took 1.15 times as long.)
template <class P, class C> bool sample(i64 rows, const P* pos, const C* crd) {
  constexpr i64 places = 8, enough = 6, pairs = 8;
  const auto differ = [&](i64 i) {
    const i64 first = static_cast<i64>(pos[i]), other = static_cast<i64>(pos[i + 1]), n = other - first;
    return n < shortest_row || static_cast<i64>(pos[i + 2]) - other != n || !std::equal(crd + first, crd + other, crd + other);
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
  if (f.num_parts() != 1 || f.num_batch_levels() > 0 || last < 1 || f.level(last).kind != LevelKind::compressed) return false;
  for (int l = 0; l < last; ++l)
    if (f.level(l).kind != LevelKind::dense) return false;
  return true;
}

bool sample(const Part& part) {
  const std::size_t last = part.levels.size() - 1;
  i64 rows = 1;
  for (std::size_t l = 0; l < last; ++l) rows *= part.ranges[l].size;
  if (rows < fewest_rows) return false;
  return with_index_type(part.levels[last].pos.dtype, [&]<class P>(P) {
    return with_index_type(part.levels[last].crd.dtype, [&]<class C>(C) {
      return sample(rows, static_cast<const P*>(part.levels[last].pos.data), static_cast<const C*>(part.levels[last].crd.data));
    });
  });
}

class AlikeRows : public Preparation {
 public:
  AlikeRows(Product product, RunnerPtr inner) : Preparation(std::move(inner)), product_(std::move(product)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) const override {
    const bool alike = sample(operands[static_cast<std::size_t>(product_.pattern_of)].part());
    (alike ? *together() : *inner_).run(operands, out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    out.emplace_back("rows alike", "four neighbours with the same coordinates are computed together, by a kernel of their own, where most rows come in blocks of four or more");
    return out;
  }

 private:
  const Runner* together() const {
    std::call_once(once_, [this] {
      std::string why;
      together_ = compile_product(product_, product_.pattern_of, why, true);
    });
    return together_ ? together_.get() : inner_.get();
  }

  Product product_;
  mutable std::once_flag once_;
  mutable RunnerPtr together_;
};

/// Is there a dense operand whose rows the last level chooses, for a sum that the compiler writes in one piece?
bool may_share(const Product& p) {
  const auto driver = static_cast<std::size_t>(p.pattern_of);
  if (!has_rows(p.operands[driver]) || !(p.compute == DType::f32 || p.compute == DType::f64)) return false;
  i64 longest = 0;
  for (std::size_t k = 0; k < p.operands.size(); ++k)
    for (std::size_t d = 0; d < p.einsum.operands[k].size(); ++d)
      if (std::ranges::find(p.einsum.output, p.einsum.operands[k][d]) == p.einsum.output.end()) longest = std::max(longest, p.operands[k].shape[d]);
  return longest > 1 && longest <= longest_sum;
}

}  // namespace

bool rows_alike(const Product& product, const Part& part) { return may_share(product) && sample(part); }

RunnerPtr compile_in_pattern(const Product& product, std::string& why) {
  RunnerPtr plain = compile_product(product, product.pattern_of, why);
  if (!plain || !may_share(product)) return plain;
  return std::make_shared<AlikeRows>(product, std::move(plain));
}

}  // namespace strata::planning
