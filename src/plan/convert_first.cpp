// "Compiled after converting an operand": operands that nothing here can read where they stand become dense first.
#include "plan/convert_first.h"

#include "backend/pool.h"
#include "base/checked.h"
#include "compiler/merge/merge.h"
#include "execute/dense_view.h"
#include "plan/user_kernels.h"
#include "tensor/row_major.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;
constexpr i64 largest_copy = i64{1} << 30;  // bytes of a dense copy that nobody asked for

/// The general way: walk the stored elements and add each where it belongs. Also right where absent elements are not
/// zero.
void fill_slowly(const Tensor& t, const execution::DenseView& to) {
  const i64 width = static_cast<i64>(size_of(to.dtype)), size = to.size();
  fill(to, t.fill().is_zero() ? Scalar::zero(to.dtype) : t.fill());
  std::vector<bool> present(static_cast<std::size_t>(size), false);
  const bool direct = accumulator(to.dtype) == to.dtype;
  std::uint32_t seen = 0;
  for_each_stored(t, [&](std::span<const i64> coordinates, const void* value) {
    if ((++seen & 0xFFFF) == 0) poll_interrupt();
    i64 at = 0;
    for (std::size_t d = 0; d < coordinates.size(); ++d) at += coordinates[d] * to.strides[d];
    char* target = to.data + at * width;
    if (!present[static_cast<std::size_t>(at)]) {
      std::memcpy(target, value, static_cast<std::size_t>(width));
      present[static_cast<std::size_t>(at)] = true;
    } else if (direct) {  // a duplicate, or another part of a sum
      Scalar copy = Scalar::load(to.dtype, value);
      combine(execution::view_of(to.dtype, target, 1), execution::view_of(to.dtype, copy.bits, 1),
              merging::Combine::plus);
    } else {
      const double sum = Scalar::load(to.dtype, target).to_double() + Scalar::load(to.dtype, value).to_double();
      Scalar::of(sum).as(to.dtype).store(target);
    }
  });
}

struct ConvertedOperand {
  std::size_t operand;
  TensorType to;
  RunnerPtr copy;  ///< B(i, ..) = A(i, ..); null: the general way
};

class ConvertFirst : public Preparation {
 public:
  ConvertFirst(std::vector<ConvertedOperand> conversions, RunnerPtr inner)
      : Preparation(std::move(inner)), conversions_(std::move(conversions)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    std::vector<Tensor> converted(operands.begin(), operands.end());
    for (const auto& c : conversions_) converted[c.operand] = to_dense(c, operands[c.operand]);
    inner_->run(converted, out, alpha, beta);
  }
  std::string name() const override {
    std::string names;
    for (const auto& c : conversions_) names += (names.empty() ? "" : ", ") + operand_name(c.operand);
    return inner_->name() + " after making " + names + " dense";
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    for (const auto& c : conversions_)
      out.emplace_back("copy of " + operand_name(c.operand),
                       c.copy ? c.copy->name() + ", " + std::to_string(bytes(c.to)) + " bytes" : "element by element");
    return out;
  }

  static i64 bytes(const TensorType& t) {
    return checked_product(t.shape).value_or(0) * static_cast<i64>(size_of(t.dtype));
  }

 private:
  static Tensor to_dense(const ConvertedOperand& c, const Tensor& t) {
    Tensor dense = empty_dense(c.to.dtype, c.to.shape);
    if (c.copy) {
      const Tensor in[] = {t};
      c.copy->run(in, dense, Scalar::of(1.0), Scalar::of(0.0));
    } else {
      fill_slowly(t, execution::view_of(dense));
    }
    return dense;
  }

  std::vector<ConvertedOperand> conversions_;
};

}  // namespace

RunnerPtr convert_first(const Product& product, const std::vector<char>& to_dense, std::vector<Report>& reports,
                        int depth, std::string& why) {
  Product inner = product;
  std::vector<ConvertedOperand> conversions;
  for (std::size_t k = 0; k < product.operands.size(); ++k) {
    if (!to_dense[k]) continue;
    const TensorType& t = product.operands[k];
    const auto size = checked_product(t.shape);
    const auto bytes = size ? checked_mul(*size, static_cast<i64>(size_of(t.dtype))) : std::nullopt;
    if (!bytes || *bytes > largest_copy) {
      why = "a dense copy of " + operand_name(k) + " would take " +
            (bytes ? std::to_string(*bytes >> 20) + " MiB" : std::string("more than 2^63 bytes")) + ", more than " +
            std::to_string(largest_copy >> 20);
      return nullptr;
    }
    ConvertedOperand c{k, dense_type(t.shape, t.dtype), nullptr};
    // A complex 1 times an infinity has a NaN beside it: complex copies go element by element.
    if (t.fill.is_zero() && *bytes > 0 && !is_complex(t.dtype)) {
      Einsum copy;
      copy.num_indices = static_cast<int>(t.shape.size());
      for (int d = 0; d < copy.num_indices; ++d)
        copy.output.push_back(d), copy.names.push_back("i" + std::to_string(d));
      copy.operands = {copy.output};
      copy.conjugate = {0};
      Product p{copy, {t}, c.to, accumulator(t.dtype)};
      std::vector<Report> unused;
      c.copy = choose_direct(p, unused, depth + 1);
    }
    inner.operands[k] = c.to;
    conversions.push_back(std::move(c));
  }
  RunnerPtr runner = choose_direct(inner, reports, depth + 1);
  if (!runner) {
    why = "nothing computes it with dense copies either";
    return nullptr;
  }
  return std::make_shared<ConvertFirst>(std::move(conversions), std::move(runner));
}

}  // namespace strata::planning
