// LU of a band with partial pivoting. Exchanges of rows widen the upper band by the lower one; multipliers stay where
// they were made, and exchanges are repeated while solving. (Golub and Van Loan, Matrix Computations, 4.3.)
#include <algorithm>
#include <cmath>
#include <limits>

#include "backend/steps.h"
#include "solve/factors.h"

namespace strata::solving {
namespace {

template <class T> class Banded final : public Factors<T> {
 public:
  Banded(std::int64_t lower, std::int64_t upper) : lower_(lower), upper_(upper) {}

  void factorize(const Matrix<T>& a) override {
    n_ = a.rows;
    lower_ = std::min(lower_, std::max<std::int64_t>(n_ - 1, 0)),
    upper_ = std::min(upper_, std::max<std::int64_t>(n_ - 1, 0));
    width_ = 2 * lower_ + upper_ + 1;
    band_.assign(static_cast<std::size_t>(n_ * width_), T{});
    exchanged_.resize(static_cast<std::size_t>(n_));
    inverse_.resize(static_cast<std::size_t>(n_));
    for_each(a, [&](std::int64_t i, std::int64_t j, T v) {
      if (i - j <= lower_ && j - i <= upper_) *at(i, j) = v;
    });
    for (std::int64_t j = 0; j < n_; ++j) {
      if (width_ > 1000 || j % 256 == 255) poll_interrupt();
      const std::int64_t last = std::min(n_ - 1, j + lower_), right = std::min(n_ - 1, j + lower_ + upper_);
      std::int64_t best = j;
      for (std::int64_t i = j + 1; i <= last; ++i)
        if (magnitude(*at(i, j)) > magnitude(*at(best, j))) best = i;
      exchanged_[static_cast<std::size_t>(j)] = best;
      if (*at(best, j) == T{}) refuse_pivot(j, n_);
      if (best != j)
        for (std::int64_t c = j; c <= right; ++c) std::swap(*at(j, c), *at(best, c));
      const T pivot = *at(j, j), inverse = T{1} / pivot;
      // Substitution waits for each quotient; a reciprocal that is no normal number would lose digits.
      using Real = decltype(std::abs(T{}));
      const bool normal = std::abs(inverse) >= std::numeric_limits<Real>::min() && std::isfinite(std::abs(inverse));
      inverse_[static_cast<std::size_t>(j)] = normal ? inverse : T{};
      for (std::int64_t i = j + 1; i <= last; ++i) *at(i, j) = *at(i, j) / pivot;
      for (std::int64_t c = j + 1; c <= right; ++c) {
        const T v = *at(j, c);
        if (v == T{}) continue;
        const T* l = at(j, j);
        T* u = at(j, c);
        for (std::int64_t i = 1; i <= last - j; ++i) u[i] -= times(l[i], v);
      }
    }
  }

  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    for (std::int64_t c = 0; c < k; ++c, b += n_, x += n_) {
      std::copy(b, b + n_, x);
      if (turn == Turn::none) forward(x);
      else turned(x, turn == Turn::adjoint);
    }
  }

  Pivots pivots() const override {
    Pivots p;
    for (std::int64_t j = 0; j < n_; ++j) count_pivot(p, *at(j, j), j == 0);
    return p;
  }
  std::optional<LogDet> logdet() const override {
    LogDet d;
    for (std::int64_t j = 0; j < n_; ++j) {
      multiply(d, *at(j, j));
      if (exchanged_[static_cast<std::size_t>(j)] != j) d.phase = -d.phase;
    }
    return d;
  }
  std::string words() const override {
    return lower_ == 1 && upper_ == 1 ? "tridiagonal LU"
                                      : "banded LU, " + std::to_string(lower_) + " below and " +
                                            std::to_string(upper_) + " above the diagonal";
  }

 private:
  /// Column by column; (i, j) to (i + 1, j) is one step.
  const T* at(std::int64_t i, std::int64_t j) const { return band_.data() + j * width_ + lower_ + upper_ + i - j; }
  T* at(std::int64_t i, std::int64_t j) { return const_cast<T*>(static_cast<const Banded*>(this)->at(i, j)); }

  void forward(T* x) const {
    for (std::int64_t j = 0; j < n_; ++j) {
      poll_at(j + 1);
      std::swap(x[j], x[exchanged_[static_cast<std::size_t>(j)]]);
      const T* l = at(j, j);
      const T v = x[j];
      for (std::int64_t i = 1, end = std::min(lower_, n_ - 1 - j); i <= end; ++i) x[j + i] -= times(l[i], v);
    }
    for (std::int64_t j = n_; j-- > 0;) {
      poll_at(j + 1);
      const T* u = at(j, j);
      const T r = inverse_[static_cast<std::size_t>(j)], v = x[j] = r == T{} ? x[j] / u[0] : times(x[j], r);
      for (std::int64_t i = 1, end = std::min(lower_ + upper_, j); i <= end; ++i) x[j - i] -= times(u[-i], v);
    }
  }
  void turned(T* x, bool conjugated) const {
    const auto value = [&](T v) { return conjugated ? conjugate(v) : v; };
    for (std::int64_t j = 0; j < n_; ++j) {
      poll_at(j + 1);
      const T* u = at(j, j);
      T sum = x[j];
      for (std::int64_t i = 1, end = std::min(lower_ + upper_, j); i <= end; ++i) sum -= times(value(u[-i]), x[j - i]);
      const T r = inverse_[static_cast<std::size_t>(j)];
      x[j] = r == T{} ? sum / value(u[0]) : times(sum, value(r));
    }
    for (std::int64_t j = n_; j-- > 0;) {
      poll_at(j + 1);
      const T* l = at(j, j);
      T sum = x[j];
      for (std::int64_t i = 1, end = std::min(lower_, n_ - 1 - j); i <= end; ++i) sum -= times(value(l[i]), x[j + i]);
      x[j] = sum;
      std::swap(x[j], x[exchanged_[static_cast<std::size_t>(j)]]);
    }
  }

  std::int64_t n_ = 0, lower_, upper_, width_ = 1;
  std::vector<T> band_, inverse_;  ///< of pivots; 0: to be divided by
  std::vector<std::int64_t> exchanged_;
};

}  // namespace

template <class T> FactorsPtr<T> make_banded(std::int64_t lower, std::int64_t upper) {
  return std::make_shared<Banded<T>>(lower, upper);
}
template FactorsPtr<float> make_banded(std::int64_t, std::int64_t);
template FactorsPtr<double> make_banded(std::int64_t, std::int64_t);
template FactorsPtr<std::complex<float>> make_banded(std::int64_t, std::int64_t);
template FactorsPtr<std::complex<double>> make_banded(std::int64_t, std::int64_t);

}  // namespace strata::solving
