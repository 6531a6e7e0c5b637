// MKL's PARDISO: supernodes of Cholesky, L D L^H with pivots of one and two rows, and LU, ordered by METIS. Rows are
// exchanged inside a supernode alone; a pivot that is still too small there is moved away from 0, which is told as
// noise. It runs on one thread, as all that is MKL's here. (Schenk, Gaertner, FGCS 2004.)
#include <array>
#include <mutex>
#include <new>

#include "kernels/vendor/mkl_library.h"
#include "solve/direct/found/suitesparse.h"
#include "solve/factors.h"
#include "solve/look.h"

namespace strata::solving {
namespace {

namespace mkl = kernels::mkl;

const mkl::Library& library() {
  std::string why;
  const mkl::Library* found = mkl::library(why);
  if (!found) refuse_found("MKL's PARDISO", why, "pip install mkl");
  return *found;
}

/// I: MKL's integers. Columns of the matrix are given as rows of its transpose, or, of a Hermitian one, as rows of the
/// upper triangle.
template <class T, class I> class Pardiso final : public Factors<T> {
  using Call = void(void* handle, const I* matrices, const I* which, const I* type, const I* phase, const I* n,
                    const void* values, const I* pos, const I* crd, I* order, const I* sides, I* options,
                    const I* messages, void* b, void* x, I* error);
  using GetDiagonal = void(void* handle, void* factors, void* matrix, const I* which, I* error);
  static constexpr I analysis = 11, numeric = 22, substitution = 33, release = -1;
  static constexpr I singular = -4, out_of_memory = -2;

 public:
  explicit Pardiso(Direct kind) : kind_(kind), library_(library()) {
    call_ = library_.template function<Call>("pardiso");
    diagonal_ = library_.template function<GetDiagonal>("pardiso_getdiag");
    if (!call_ || !diagonal_) refuse_found("MKL's PARDISO", library_.path() + " lacks it", "pip install mkl");
    constexpr bool pairs = is_complex_v<T>;
    type_ = kind == Direct::cholesky ? (pairs ? 4 : 2) : kind == Direct::ldlt ? (pairs ? -4 : -2) : (pairs ? 13 : 11);
    o_[0] = 1;                                           // nothing but what follows
    o_[1] = 2;                                           // METIS
    o_[9] = kind == Direct::lu ? 13 : 8;                 // pivots below 10^-this are moved
    o_[10] = o_[12] = kind == Direct::cholesky ? 0 : 1;  // scaled, large elements on the diagonal
    o_[17] = -1;                                         // the analysis tells how many elements the factors have
    o_[20] = 1;                                          // pivots of one and two rows
    o_[34] = 1;                                          // the first row is 0
    o_[55] = 1;                                          // keep the diagonal
  }
  ~Pardiso() override { forget(); }
  Pardiso(const Pardiso&) = delete;
  Pardiso& operator=(const Pardiso&) = delete;

  void analyse(const Matrix<T>& a) override {
    forget();
    n_ = static_cast<I>(a.rows);
    pos_.assign(1, 0), crd_.clear();
    for (std::int64_t j = 0; j < a.columns; ++j) {
      std::int32_t p = a.pos[j];
      if (kind_ != Direct::lu) {
        while (p < a.pos[j + 1] && a.crd[p] < j) ++p;
        // The diagonal has a place, whether it is stored or not.
        if (p == a.pos[j + 1] || a.crd[p] != j) crd_.push_back(static_cast<I>(j));
      }
      for (; p < a.pos[j + 1]; ++p) crd_.push_back(static_cast<I>(a.crd[p]));
      pos_.push_back(static_cast<I>(crd_.size()));
    }
    take(a);
    Options o = options_of(0);
    const I error = run(analysis, o, nullptr, nullptr, 0);
    if (error != 0 && structural_rank(a) < a.rows) refuse_singular(a);
    check(error, "analysis");
    stored_ = static_cast<std::int64_t>(o[17]);
    fresh_ = true;
  }
  void factorize(const Matrix<T>& a) override {
    take(a);
    Options o = options_of(0);
    I error = run(numeric, o, nullptr, nullptr, 0);
    if (o[13] > 0 && !fresh_) {  // its scaling was that of other values
      analyse(a);
      o = options_of(0);
      error = run(numeric, o, nullptr, nullptr, 0);
    }
    fresh_ = false;
    if (error == singular) {
      if (kind_ == Direct::cholesky)
        throw IndefiniteError({.what = "the matrix is not positive definite: PARDISO met a pivot that is not positive",
                               .expected = "positive pivots",
                               .fix = "method='lu', or assume='symmetric'"});
      throw SingularError({.what = "the matrix is singular: PARDISO met a pivot of 0",
                           .expected = "a matrix of full rank",
                           .fix = "lsmr() gives a solution of least squares"});
    }
    check(error, "factorization");
    pivots_ = {}, det_ = {};
    if (o[13] > 0) pivots_.noise = std::pow(10.0, -static_cast<double>(o_[9]));
    std::vector<T> factors(static_cast<std::size_t>(n_)), matrix(factors.size());
    I wrong = 0;
    diagonal_(handle_.data(), factors.data(), matrix.data(), &one_, &wrong);
    check(wrong, "diagonal");
    // 0 stands for a pivot of two rows.
    bool first = true;
    for (const T v : factors)
      if (v != T{}) count_pivot(pivots_, v, first), multiply(det_, v), first = false;
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    // What was factorized is a^T; of a Hermitian matrix, a.
    const bool general = kind_ == Direct::lu;
    const bool conjugated = is_complex_v<T> && turn == (general ? Turn::adjoint : Turn::transposed);
    std::vector<T> right(b, b + static_cast<std::int64_t>(n_) * k);
    if (conjugated)
      for (T& v : right) v = conjugate(v);
    const I error = run(substitution, options_of(general && turn == Turn::none ? 2 : 0), right.data(), x, k);
    check(error, "substitution");
    if (conjugated)
      for (std::int64_t i = 0; i < n_ * k; ++i) x[i] = conjugate(x[i]);
  }
  Pivots pivots() const override { return pivots_; }
  std::optional<LogDet> logdet() const override {
    if (kind_ == Direct::cholesky) return det_;
    return {};  // its scaling and exchanges are not told
  }
  std::string words() const override {
    const char* what = kind_ == Direct::cholesky ? "Cholesky" : kind_ == Direct::ldlt ? "L D L^H" : "LU";
    return std::string("PARDISO's ") + what + ", " + std::to_string(stored_) + " elements in its factors" +
           (pivots_.noise > 0 ? ", some pivots moved" : "");
  }

 private:
  using Options = std::array<I, 64>;

  void take(const Matrix<T>& a) {
    values_.clear();
    for (std::int64_t j = 0; j < a.columns; ++j) {
      std::int32_t p = a.pos[j];
      if (kind_ != Direct::lu) {
        while (p < a.pos[j + 1] && a.crd[p] < j) ++p;
        if (p == a.pos[j + 1] || a.crd[p] != j) values_.push_back(T{});
      }
      for (; p < a.pos[j + 1]; ++p) values_.push_back(kind_ == Direct::lu ? a.values[p] : conjugate(a.values[p]));
    }
  }
  Options options_of(I transposed) const {
    Options o = o_;
    o[11] = transposed;
    return o;
  }
  template <class O> I run(I phase, O&& o, T* b, T* x, std::int64_t k) const {
    const std::lock_guard hold(mutex_);
    const mkl::OneThread alone(library_);
    const I sides = static_cast<I>(k), silent = 0;
    I error = 0;
    call_(handle_.data(), &one_, &one_, &type_, &phase, &n_, values_.data(), pos_.data(), crd_.data(), nullptr, &sides,
          o.data(), &silent, b, x, &error);
    return error;
  }
  void forget() {
    if (n_ > 0) run(release, options_of(0), nullptr, nullptr, 0);
    handle_ = {};
  }
  static void check(I error, const char* what) {
    if (error == 0) return;
    if (error == out_of_memory) throw std::bad_alloc();
    throw RuntimeFailure(std::string("PARDISO's ") + what + " failed with " + std::to_string(error));
  }

  Direct kind_;
  const mkl::Library& library_;
  Call* call_ = nullptr;
  GetDiagonal* diagonal_ = nullptr;
  I type_ = 0, n_ = 0, one_ = 1;
  Options o_ = {};
  mutable std::array<void*, 64> handle_ = {};  ///< MKL's own state, which solving changes too
  mutable std::mutex mutex_;
  std::vector<I> pos_, crd_;
  std::vector<T> values_;
  bool fresh_ = false;  ///< the analysis saw these values
  std::int64_t stored_ = 0;
  Pivots pivots_;
  LogDet det_;
};

}  // namespace

template <class T> FactorsPtr<T> make_pardiso(Direct kind) {
  if (library().wide()) return std::make_shared<Pardiso<T, std::int64_t>>(kind);
  return std::make_shared<Pardiso<T, std::int32_t>>(kind);
}
template FactorsPtr<double> make_pardiso(Direct);
template FactorsPtr<std::complex<double>> make_pardiso(Direct);

}  // namespace strata::solving
