// Factorizations by libraries of float32 and complex64: computed in double precision, rounded once. Their digits are
// better so, and half of the templates need not be compiled, which took two minutes of a first build.
#include "solve/factors.h"

namespace strata::solving {
namespace {

template <class T> class Single final : public Factors<T> {
 public:
  explicit Single(FactorsPtr<Wide<T>> factors) : factors_(std::move(factors)) {}
  void analyse(const Matrix<T>& a) override {
    widen(a, [&](const Matrix<Wide<T>>& wide) { factors_->analyse(wide); });
  }
  void factorize(const Matrix<T>& a) override {
    widen(a, [&](const Matrix<Wide<T>>& wide) { factors_->factorize(wide); });
    rows_ = a.rows, columns_ = a.columns;
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    const std::int64_t right = turn == Turn::none ? rows_ : columns_, left = turn == Turn::none ? columns_ : rows_;
    const std::vector<Wide<T>> sides(b, b + right * k);
    std::vector<Wide<T>> found(static_cast<std::size_t>(left * k));
    factors_->solve(sides.data(), found.data(), k, turn);
    std::transform(found.begin(), found.end(), x, [](Wide<T> value) { return static_cast<T>(value); });
  }
  Pivots pivots() const override { return factors_->pivots(); }
  std::optional<LogDet> logdet() const override { return factors_->logdet(); }
  void list(std::map<std::string, Tensor>& out) const override { factors_->list(out); }
  std::string words() const override { return factors_->words(); }

 private:
  template <class F> static void widen(const Matrix<T>& a, F&& f) {
    const std::vector<Wide<T>> values(a.values, a.values + a.stored());
    f(Matrix<Wide<T>>{a.rows, a.columns, a.pos, a.crd, values.data(), a.owner});
  }

  FactorsPtr<Wide<T>> factors_;
  std::int64_t rows_ = 0, columns_ = 0;
};
template <class T> FactorsPtr<T> single(FactorsPtr<Wide<T>> factors) {
  return std::make_shared<Single<T>>(std::move(factors));
}

}  // namespace

#define STRATA_SINGLE(T)                                                                                               \
  template <> FactorsPtr<T> make_sparse_ldlt(bool positive) { return single<T>(make_sparse_ldlt<Wide<T>>(positive)); } \
  template <> FactorsPtr<T> make_sparse_lu() { return single<T>(make_sparse_lu<Wide<T>>()); }                          \
  template <> FactorsPtr<T> make_sparse_qr() { return single<T>(make_sparse_qr<Wide<T>>()); }                          \
  template <> FactorsPtr<T> make_dense_cholesky() { return single<T>(make_dense_cholesky<Wide<T>>()); }                \
  template <> FactorsPtr<T> make_dense_lu() { return single<T>(make_dense_lu<Wide<T>>()); }                            \
  template <> FactorsPtr<T> make_dense_qr() { return single<T>(make_dense_qr<Wide<T>>()); }                            \
  template <> FactorsPtr<T> make_pardiso(Direct kind) { return single<T>(make_pardiso<Wide<T>>(kind)); }               \
  template <> FactorsPtr<T> make_cholmod() { return single<T>(make_cholmod<Wide<T>>()); }                              \
  template <> FactorsPtr<T> make_umfpack() { return single<T>(make_umfpack<Wide<T>>()); }
STRATA_SINGLE(float)
STRATA_SINGLE(std::complex<float>)
#undef STRATA_SINGLE

}  // namespace strata::solving
