#pragma once
#include <cstdint>

namespace strata {

constexpr std::int64_t few_terms = 32;  ///< added one after the other

/// f(begin) ... f(end - 1) by add(a, b), one half and then the other: the error of a sum grows with the logarithm of
/// its length. The order depends on the length alone. At least one term.
template <class F, class Add> auto sum_in_pairs(std::int64_t begin, std::int64_t end, const F& f, const Add& add) {
  auto sum = f(begin);
  if (end - begin <= few_terms) {
    for (std::int64_t k = begin + 1; k < end; ++k) sum = add(sum, f(k));
    return sum;
  }
  const std::int64_t middle = begin + (end - begin) / 2;
  sum = sum_in_pairs(begin, middle, f, add);
  return static_cast<decltype(sum)>(add(sum, sum_in_pairs(middle, end, f, add)));
}

}  // namespace strata
