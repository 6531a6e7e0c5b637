// Are all elements of two tensors equal?
#include <algorithm>

#include "backend/steps.h"
#include "strata/evaluate.h"
#include "strata/ops.h"
#include "tensor/same_storage.h"
#include "tensor/values.h"

namespace strata {
namespace {

/// By value: NaN equals nothing, 0 and -0 are equal.
bool equal_scalars(const Scalar& a, const Scalar& b) {
  if (a.to_complex() != a.to_complex()) return false;
  return a.same_bits(b) || (a.is_zero() && b.is_zero());
}

bool equal_values(const Part& a, const Part& b, std::int64_t n, DType dtype) {
  return with_value_type(dtype, [&]<class Tag>(Tag) {
    using T = typename Tag::Storage;
    const auto *x = static_cast<const char*>(a.values.data), *y = static_cast<const char*>(b.values.data);
    const auto at = [](const char* values, std::int64_t k) {
      return widen_value<Tag>(load_as<T>(values + k * static_cast<std::int64_t>(sizeof(T))));
    };
    bool same = true;
    in_steps(0, n, [&](std::int64_t begin, std::int64_t end) {
      if (!same) return;
      for (std::int64_t k = begin; k < end; ++k) same &= at(x, k) == at(y, k);
    });
    return same;
  });
}

/// Every element stands in one slot, and its value at the slot's position.
bool is_plain(const Tensor& t) {
  return t.num_parts() == 1 && t.format().is_unique() && t.type().strides.empty() && !t.type().shared_value &&
         t.part().num_batches == 1 && used_values(t.part()) == t.nse();
}

/// Tensors that store the same elements: nothing where they do not.
std::optional<bool> equal_slots(const Tensor& a, const Tensor& b) {
  if (!(a.format() == b.format()) || a.dtype() != b.dtype() || !is_plain(a) || !is_plain(b) ||
      !same_levels(a.part(), b.part()))
    return {};
  return (a.nse() == a.size() || equal_scalars(a.fill(), b.fill())) &&
         equal_values(a.part(), b.part(), a.nse(), a.dtype());
}

/// Does a comparison hold for any elements? `comparison` stands between an element of A and what follows.
bool any(const std::string& comparison, bool of_both, const std::map<std::string, Tensor>& operands) {
  std::string indices, text = "R = ", close;
  for (int d = 0; d < operands.at("A").rank(); ++d) {
    const std::string index = "i" + std::to_string(d);
    indices += (d == 0 ? "(" : ",") + index;
    text += "any(" + index + ", ";
    close += ")";
  }
  if (!indices.empty()) indices += ")";
  text += "A" + indices + comparison + (of_both ? indices : "") + close;
  const Tensor result = evaluate(text, operands);
  return !result.get({}).value_or(result.fill()).is_zero();
}

}  // namespace

bool equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  if (const auto known = equal_slots(a, b)) return *known;
  // No dtype of NumPy's promotion holds both: as unsigned ones, where none is negative.
  if (a.dtype() == DType::u64 && b.dtype() == DType::i64) return equal(b, a);
  if (a.dtype() == DType::i64 && b.dtype() == DType::u64)
    return !any(" < 0", false, {{"A", a}}) && equal(convert(a, a.format(), {.dtype = DType::u64}), b);
  return !any(" != B", true, {{"A", a}, {"B", b}});
}

}  // namespace strata
