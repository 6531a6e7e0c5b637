// Of many elements that are added one after the other float32 keeps half the digits: a full row of four million times
// 0.1 was off by 2 %. Most matrices have no such row, and sums in float64 are slower: what is stored decides.
#include "plan/long_sums.h"

#include <algorithm>
#include <mutex>

#include "base/checked.h"
#include "plan/compiled.h"
#include "plan/long_rows.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

class LongSums : public Preparation {
 public:
  LongSums(Product product, std::size_t driver, RunnerPtr inner)
      : Preparation(std::move(inner)), product_(std::move(product)), driver_(driver) {
    for (int i : product_.einsum.operands[driver_])
      in_output_.push_back(std::ranges::find(product_.einsum.output, i) != product_.einsum.output.end());
  }

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    const Runner* const wide = has_long_rows(operands[driver_], in_output_) ? wide_runner() : nullptr;
    (wide ? *wide : *inner_).run(operands, out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    out.emplace_back("long sums", "in " + std::string(name_of(wide_sums(product_.compute))) +
                                      ", by a kernel of their own, where more than " + std::to_string(long_sum) +
                                      " elements of " + operand_name(driver_) + " meet at one place of the result");
    return out;
  }

 private:
  const Runner* wide_runner() const {
    std::call_once(once_, [&] {
      Product wide = product_;
      wide.compute = wide_sums(product_.compute);
      std::string why;
      wide_ = compile_product(wide, static_cast<int>(driver_), why);
      if (wide_ && wide_->name() == "interpreted" && inner_->name() != "interpreted") wide_.reset();
    });
    return wide_.get();
  }

  Product product_;
  std::size_t driver_;
  std::vector<char> in_output_;  ///< per dimension of the driver
  mutable std::once_flag once_;
  mutable RunnerPtr wide_;
};

}  // namespace

DType wide_sums(DType compute) {
  return compute == DType::f32 ? DType::f64 : compute == DType::c64 ? DType::c128 : compute;
}

RunnerPtr keep_digits(const Product& product, RunnerPtr inner) {
  if (!inner || inner->keeps_digits() || wide_sums(product.compute) == product.compute) return inner;
  const auto walked = [](const TensorType& t) { return !is_plain_dense(t); };
  const auto& types = product.operands;
  if (std::ranges::count_if(types, walked) != 1) return inner;
  const auto driver = static_cast<std::size_t>(std::ranges::find_if(types, walked) - types.begin());
  const auto& own = product.einsum.operands[driver];
  std::vector<i64> summed;
  for (std::size_t d = 0; d < own.size(); ++d)
    if (std::ranges::find(product.einsum.output, own[d]) == product.einsum.output.end())
      summed.push_back(types[driver].shape[d]);
  if (summed.empty() || checked_product(summed).value_or(INT64_MAX) <= long_sum) return inner;
  return std::make_shared<LongSums>(product, driver, std::move(inner));
}

}  // namespace strata::planning
