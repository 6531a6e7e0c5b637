// Cholesky of a sparse matrix by SuiteSparse's CHOLMOD: supernodes by the BLAS where that pays, plain columns
// elsewhere; ordered by minimum degree, or by METIS where that fills less. (Chen, Davis, Hager, Rajamanickam,
// "Algorithm 887", ACM TOMS 2008.)
#include <cstddef>
#include <mutex>
#include <new>

#include "solve/direct/found/suitesparse.h"
#include "solve/factors.h"

namespace strata::solving {
namespace {

// CHOLMOD's structures as versions 3 to 5 have them.
struct CholmodSparse {
  std::size_t rows, columns, most;
  const void *p, *i, *counts, *x, *z;
  int symmetric, index, kind, precision, sorted, packed;
};
struct CholmodDense {
  std::size_t rows, columns, most, leading;
  void *x, *z;
  int kind, precision;
};
struct CholmodFactor {
  std::size_t n, minor;  ///< minor: the column where it failed, or n
  const int *order, *counts, *inverse;
  std::size_t most;
  const int *p, *i;
  const void *x, *z, *nz, *next, *before;
  std::size_t supernodes, size_s, size_x, largest_c, largest_e;
  const int *super, *pi, *px, *s;
  int ordering, is_ll, is_super, is_monotonic, index, kind, precision, gpu;
};
constexpr int lower_triangle = -1, real = 1, complex = 2, system_a = 0;
/// Of cholmod_common, of which the rest is CHOLMOD's own: where defaults are found by which it is recognised, and what
/// is set. It has 2,664 bytes in version 3.
constexpr std::size_t at_supernodal_switch = 40, at_supernodal = 48, at_final_ll = 60, at_print = 144, room = 1 << 16;

struct Calls {
  int (*start)(void*);
  int (*finish)(void*);
  CholmodFactor* (*analyze)(CholmodSparse*, void*);
  int (*factorize)(CholmodSparse*, CholmodFactor*, void*);
  CholmodDense* (*solve)(int, CholmodFactor*, CholmodDense*, void*);
  int (*free_factor)(CholmodFactor**, void*);
  int (*free_dense)(CholmodDense**, void*);
};

Calls calls() {
  const FoundLibrary& library = suitesparse(SuiteSparse::cholmod);
  const auto find = [&]<class F>(F*& f, const char* name) {
    f = library.function<F>(name);
    if (!f) refuse_found("CHOLMOD", library.path() + " lacks " + name, "install another SuiteSparse");
  };
  Calls c{};
  find(c.start, "cholmod_start"), find(c.finish, "cholmod_finish"), find(c.analyze, "cholmod_analyze"),
      find(c.factorize, "cholmod_factorize"), find(c.solve, "cholmod_solve"),
      find(c.free_factor, "cholmod_free_factor"), find(c.free_dense, "cholmod_free_dense");
  return c;
}

template <class T> class CholmodCholesky final : public Factors<T> {
  static constexpr int kind = is_complex_v<T> ? complex : real;

 public:
  CholmodCholesky() : calls_(calls()) {
    const auto setting = [&]<class V>(std::size_t at, V) -> V& { return *reinterpret_cast<V*>(common() + at); };
    if (!calls_.start(common()) || setting(at_supernodal_switch, 0.0) != 40 || setting(at_supernodal, 0) != 1 ||
        setting(at_print, 0) != 3)
      refuse_found("CHOLMOD", suitesparse(SuiteSparse::cholmod).path() + " is of a version that is not known here",
                   "install SuiteSparse 5 to 7");
    setting(at_print, 0) = 0;
    setting(at_final_ll, 0) = 1;  // L L^H, which notices pivots that are not positive
  }
  ~CholmodCholesky() override {
    if (l_) calls_.free_factor(&l_, common());
    calls_.finish(common());
  }
  CholmodCholesky(const CholmodCholesky&) = delete;
  CholmodCholesky& operator=(const CholmodCholesky&) = delete;

  void analyse(const Matrix<T>& a) override {
    if (l_) calls_.free_factor(&l_, common());
    CholmodSparse m = shown(a);
    l_ = calls_.analyze(&m, common());
    if (!l_) fail("analyze");
  }
  void factorize(const Matrix<T>& a) override {
    CholmodSparse m = shown(a);
    if (!calls_.factorize(&m, l_, common())) fail("factorize");
    if (l_->minor < l_->n)
      throw IndefiniteError({.what = "the matrix is not positive definite: pivot " + std::to_string(l_->minor + 1) +
                                     " of " + std::to_string(l_->n) + " (row " + std::to_string(l_->order[l_->minor]) +
                                     ") is not positive",
                             .expected = "positive pivots",
                             .fix = "method='lu', or assume='symmetric'"});
    if (l_->index != 0 || l_->kind != kind || !l_->is_ll) fail("factorize (an unknown kind of factor)");
    // The diagonal of L.
    pivots_ = {}, det_ = {}, stored_ = 0;
    bool first = true;
    const auto* x = static_cast<const T*>(l_->x);
    const auto pivot = [&](T v) {
      const T square = v * v;
      count_pivot(pivots_, square, first);
      multiply(det_, square);
      first = false;
    };
    if (l_->is_super)
      for (std::size_t s = 0; s < l_->supernodes; ++s) {
        const std::int64_t height = l_->pi[s + 1] - l_->pi[s], width = l_->super[s + 1] - l_->super[s];
        for (std::int64_t j = 0; j < width; ++j) pivot(x[l_->px[s] + j * (height + 1)]);
        stored_ += width * height - width * (width - 1) / 2;
      }
    else
      for (std::size_t j = 0; j < l_->n; ++j) {
        pivot(x[l_->p[j]]);
        stored_ += static_cast<const int*>(l_->nz)[j];
      }
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    const auto n = static_cast<std::int64_t>(l_->n);
    const bool turned = turn == Turn::transposed && is_complex_v<T>;  // conj(a) x = b
    std::vector<T> right(b, b + n * k);
    if (turned)
      for (T& v : right) v = conjugate(v);
    CholmodDense side{l_->n, static_cast<std::size_t>(k), right.size(), l_->n, right.data(), nullptr, kind, 0};
    CholmodDense* found;
    {
      const std::lock_guard hold(mutex_);  // CHOLMOD's workspace is one
      found = calls_.solve(system_a, l_, &side, common());
      if (!found) fail("solve");
    }
    const auto* from = static_cast<const T*>(found->x);
    for (std::int64_t c = 0; c < k; ++c)
      for (std::int64_t i = 0; i < n; ++i) {
        const T v = from[c * static_cast<std::int64_t>(found->leading) + i];
        x[c * n + i] = turned ? conjugate(v) : v;
      }
    const std::lock_guard hold(mutex_);
    calls_.free_dense(&found, common());
  }
  Pivots pivots() const override { return pivots_; }
  std::optional<LogDet> logdet() const override { return det_; }
  std::string words() const override {
    return std::string("CHOLMOD's Cholesky") + (l_ && l_->is_super ? " by supernodes" : "") + ", " +
           std::to_string(stored_) + " elements in L";
  }

 private:
  char* common() const { return reinterpret_cast<char*>(common_.get()); }
  /// The lower triangle is read, whatever stands above it.
  static CholmodSparse shown(const Matrix<T>& a) {
    const auto n = static_cast<std::size_t>(a.rows);
    return {n,        n,       static_cast<std::size_t>(a.stored()),
            a.pos,    a.crd,   nullptr,
            a.values, nullptr, lower_triangle,
            0,        kind,    0,
            1,        1};
  }
  [[noreturn]] static void fail(const char* routine) {
    throw RuntimeFailure(std::string("CHOLMOD's ") + routine + " failed: out of memory, or of indices of 32 bits");
  }

  const Calls calls_;
  /// Aligned for what CHOLMOD keeps in it.
  std::unique_ptr<std::max_align_t[]> common_ = std::make_unique<std::max_align_t[]>(room / sizeof(std::max_align_t));
  CholmodFactor* l_ = nullptr;
  mutable std::mutex mutex_;
  std::int64_t stored_ = 0;
  Pivots pivots_;
  LogDet det_;
};

}  // namespace

template <class T> FactorsPtr<T> make_cholmod() { return std::make_shared<CholmodCholesky<T>>(); }
template FactorsPtr<double> make_cholmod();
template FactorsPtr<std::complex<double>> make_cholmod();

}  // namespace strata::solving
