#include <algorithm>

#include "solve/factors.h"

namespace strata::solving {
namespace {

template <class T> class DiagonalFactors final : public Factors<T> {
 public:
  void factorize(const Matrix<T>& a) override {
    d_.assign(static_cast<std::size_t>(a.rows), T{});
    for_each(a, [&](std::int64_t i, std::int64_t j, T v) {
      if (i == j) d_[static_cast<std::size_t>(i)] = v;
    });
    for (std::size_t i = 0; i < d_.size(); ++i)
      if (d_[i] == T{}) refuse_pivot(static_cast<std::int64_t>(i), a.rows);
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    for (std::int64_t c = 0; c < k; ++c)
      for (std::size_t i = 0; i < d_.size(); ++i) *x++ = *b++ / (turn == Turn::adjoint ? conjugate(d_[i]) : d_[i]);
  }
  std::optional<LogDet> logdet() const override {
    LogDet d;
    for (const T v : d_) multiply(d, v);
    return d;
  }
  std::string words() const override { return "diagonal"; }

 private:
  std::vector<T> d_;
};

}  // namespace

template <class T> FactorsPtr<T> make_diagonal() { return std::make_shared<DiagonalFactors<T>>(); }
template FactorsPtr<float> make_diagonal();
template FactorsPtr<double> make_diagonal();
template FactorsPtr<std::complex<float>> make_diagonal();
template FactorsPtr<std::complex<double>> make_diagonal();

void refuse_pivot(std::int64_t at, std::int64_t n) {
  throw SingularError(
      {.what = "the matrix is singular: pivot " + std::to_string(at + 1) + " of " + std::to_string(n) + " is 0",
       .expected = "a matrix of full rank",
       .fix = "lsmr() gives a solution of least squares"});
}

}  // namespace strata::solving
