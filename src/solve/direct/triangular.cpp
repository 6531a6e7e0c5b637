// Substitution, column by column.
#include <algorithm>

#include "backend/steps.h"
#include "solve/factors.h"

namespace strata::solving {
namespace {

template <class T> class Triangular final : public Factors<T> {
 public:
  Triangular(bool lower, bool unit) : lower_(lower), unit_(unit) {}

  void factorize(const Matrix<T>& a) override {
    const std::int64_t n = a.rows;
    pos_.assign(1, 0);
    crd_.clear(), values_.clear();
    diagonal_.assign(static_cast<std::size_t>(n), unit_ ? T{1} : T{});
    const auto keep = [&](std::int64_t i, std::int64_t j, T v) {
      if (i == j && !unit_) diagonal_[static_cast<std::size_t>(i)] = v;
      if (lower_ ? i > j : i < j) crd_.push_back(static_cast<std::int32_t>(i)), values_.push_back(v);
    };
    for (std::int64_t j = 0; j < n; ++j) {
      poll_at(j + 1);
      if (a.is_dense())
        for (std::int64_t i = 0; i < n; ++i) keep(i, j, a.values[i * n + j]);
      else
        for (std::int32_t p = a.pos[j]; p < a.pos[j + 1]; ++p) keep(a.crd[p], j, a.values[p]);
      pos_.push_back(static_cast<std::int64_t>(crd_.size()));
    }
    for (std::int64_t j = 0; j < n; ++j)
      if (diagonal_[static_cast<std::size_t>(j)] == T{}) refuse_pivot(j, n);
  }

  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    const auto n = static_cast<std::int64_t>(diagonal_.size());
    for (std::int64_t c = 0; c < k; ++c, b += n, x += n) {
      std::copy(b, b + n, x);
      // The transpose of a lower triangle is an upper one: its rows are our columns, and it is solved from the end.
      const bool forward = lower_ == (turn == Turn::none);
      for (std::int64_t s = 0; s < n; ++s) {
        poll_at(s + 1);
        const std::int64_t j = forward ? s : n - 1 - s;
        const std::int64_t begin = pos_[static_cast<std::size_t>(j)], end = pos_[static_cast<std::size_t>(j + 1)];
        const T d = diagonal_[static_cast<std::size_t>(j)];
        if (turn == Turn::none) {
          const T value = x[j] = unit_ ? x[j] : x[j] / d;
          for (std::int64_t p = begin; p < end; ++p)
            x[crd_[static_cast<std::size_t>(p)]] -= times(values_[static_cast<std::size_t>(p)], value);
        } else {
          T sum = x[j];
          for (std::int64_t p = begin; p < end; ++p) {
            const T v = values_[static_cast<std::size_t>(p)];
            sum -= times(turn == Turn::adjoint ? conjugate(v) : v, x[crd_[static_cast<std::size_t>(p)]]);
          }
          x[j] = unit_ ? sum : sum / (turn == Turn::adjoint ? conjugate(d) : d);
        }
      }
    }
  }

  std::optional<LogDet> logdet() const override {
    LogDet d;
    for (const T v : diagonal_) multiply(d, v);
    return d;
  }
  std::string words() const override {
    return std::string("substitution in the ") + (lower_ ? "lower" : "upper") + " triangle";
  }

 private:
  bool lower_, unit_;
  std::vector<std::int64_t> pos_;
  std::vector<std::int32_t> crd_;
  std::vector<T> values_, diagonal_;
};

}  // namespace

template <class T> FactorsPtr<T> make_triangular(bool lower, bool unit) {
  return std::make_shared<Triangular<T>>(lower, unit);
}
template FactorsPtr<float> make_triangular(bool, bool);
template FactorsPtr<double> make_triangular(bool, bool);
template FactorsPtr<std::complex<float>> make_triangular(bool, bool);
template FactorsPtr<std::complex<double>> make_triangular(bool, bool);

}  // namespace strata::solving
