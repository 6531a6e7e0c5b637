// LU of a sparse matrix by SuiteSparse's UMFPACK: rows scaled, columns ordered for the matrix's own symmetry, dense
// fronts by the BLAS. (Davis, "Algorithm 832", ACM TOMS 2004.)
#include <new>

#include "solve/direct/found/suitesparse.h"
#include "solve/factors.h"
#include "solve/look.h"

namespace strata::solving {
namespace {

/// umfpack_di_* and umfpack_zi_*, which have two more pointers for imaginary parts that are stored apart: null here,
/// for numbers in pairs. Places in `control` and `info`, and values of results, are those of umfpack.h, the same since
/// version 4.
constexpr int of_control = 20, of_info = 90;
constexpr int refinement_steps = 7;                                     // in control
constexpr int lnz = 43, unz = 44, smallest = 71, largest = 72;          // in info
constexpr int ok = 0, singular = 1, out_of_memory = -1;                 // results
constexpr int system_a = 0, system_adjoint = 1, system_transposed = 2;  // to solve with

template <class T> struct Umfpack;
template <> struct Umfpack<double> {
  static constexpr const char* head = "umfpack_di_";
  using Symbolic = int(int, int, const int*, const int*, const double*, void**, const double*, double*);
  using Numeric = int(const int*, const int*, const double*, void*, void**, const double*, double*);
  using Solve = int(int, const int*, const int*, const double*, double*, const double*, void*, const double*, double*);
  using Determinant = int(double*, double*, void*, double*);
};
template <> struct Umfpack<std::complex<double>> {
  static constexpr const char* head = "umfpack_zi_";
  using Symbolic = int(int, int, const int*, const int*, const double*, const double*, void**, const double*, double*);
  using Numeric = int(const int*, const int*, const double*, const double*, void*, void**, const double*, double*);
  using Solve = int(int, const int*, const int*, const double*, const double*, double*, double*, const double*,
                    const double*, void*, const double*, double*);
  using Determinant = int(double*, double*, double*, void*, double*);
};

template <class T> class UmfpackLu final : public Factors<T> {
  using Calls = Umfpack<T>;
  static constexpr bool pairs = is_complex_v<T>;

 public:
  UmfpackLu() : library_(suitesparse(SuiteSparse::umfpack)) {
    find("defaults", defaults_), find("symbolic", symbolic_), find("numeric", numeric_), find("solve", solve_),
        find("free_symbolic", free_symbolic_), find("free_numeric", free_numeric_),
        find("get_determinant", determinant_);
    defaults_(control_);
    control_[refinement_steps] = 0;  // done, and looked at, by who calls
  }
  ~UmfpackLu() override {
    if (order_) free_symbolic_(&order_);
    if (lu_) free_numeric_(&lu_);
  }
  UmfpackLu(const UmfpackLu&) = delete;
  UmfpackLu& operator=(const UmfpackLu&) = delete;

  void analyse(const Matrix<T>& a) override {
    if (order_) free_symbolic_(&order_);
    order_ = nullptr;
    const double* values = reinterpret_cast<const double*>(a.values);
    const int n = static_cast<int>(a.rows);
    int result;
    if constexpr (pairs) result = symbolic_(n, n, a.pos, a.crd, values, nullptr, &order_, control_, info_);
    else result = symbolic_(n, n, a.pos, a.crd, values, &order_, control_, info_);
    check(result, "symbolic", a);
  }
  void factorize(const Matrix<T>& a) override {
    if (lu_) free_numeric_(&lu_);
    lu_ = nullptr;
    n_ = a.rows;
    const double* values = reinterpret_cast<const double*>(a.values);
    int result;
    if constexpr (pairs) result = numeric_(a.pos, a.crd, values, nullptr, order_, &lu_, control_, info_);
    else result = numeric_(a.pos, a.crd, values, order_, &lu_, control_, info_);
    check(result, "numeric", a);
    stored_l_ = static_cast<std::int64_t>(info_[lnz]), stored_u_ = static_cast<std::int64_t>(info_[unz]);
    pivots_ = {.smallest = info_[smallest], .largest = info_[largest]};
  }
  void solve(const T* b, T* x, std::int64_t k, Turn turn) const override {
    const int system = turn == Turn::none ? system_a : turn == Turn::adjoint ? system_adjoint : system_transposed;
    double told[of_info];
    for (std::int64_t c = 0; c < k; ++c, b += n_, x += n_) {
      auto* to = reinterpret_cast<double*>(x);
      const auto* from = reinterpret_cast<const double*>(b);
      int result;
      if constexpr (pairs)
        result = solve_(system, nullptr, nullptr, nullptr, nullptr, to, nullptr, from, nullptr, lu_, control_, told);
      else result = solve_(system, nullptr, nullptr, nullptr, to, from, lu_, control_, told);
      if (result == out_of_memory) throw std::bad_alloc();
      if (result != ok && result != singular) fail("solve", result);
    }
  }
  Pivots pivots() const override { return pivots_; }
  std::optional<LogDet> logdet() const override {
    double mantissa[2] = {}, exponent = 0, told[of_info];
    int result;
    if constexpr (pairs) result = determinant_(mantissa, nullptr, &exponent, lu_, told);
    else result = determinant_(mantissa, &exponent, lu_, told);
    if (result == out_of_memory) throw std::bad_alloc();
    LogDet d;
    multiply(d, std::complex<double>(mantissa[0], mantissa[1]));
    d.log += exponent * std::log(10.0);
    return d;
  }
  std::string words() const override {
    return "UMFPACK's LU, " + std::to_string(stored_l_) + " elements in L and " + std::to_string(stored_u_) + " in U";
  }

 private:
  template <class F> void find(const char* name, F*& f) {
    f = library_.function<F>(std::string(Calls::head) + name);
    if (!f) refuse_found("UMFPACK", library_.path() + " lacks " + Calls::head + name, "install another SuiteSparse");
  }
  [[noreturn]] static void fail(const char* routine, int result) {
    throw RuntimeFailure(std::string("UMFPACK's ") + routine + " failed with " + std::to_string(result));
  }
  static void check(int result, const char* routine, const Matrix<T>& a) {
    if (result == ok) return;
    if (result == out_of_memory) throw std::bad_alloc();
    if (result != singular) fail(routine, result);
    refuse_singular(a);
  }

  const FoundLibrary& library_;
  void (*defaults_)(double*) = nullptr;
  typename Calls::Symbolic* symbolic_ = nullptr;
  typename Calls::Numeric* numeric_ = nullptr;
  typename Calls::Solve* solve_ = nullptr;
  typename Calls::Determinant* determinant_ = nullptr;
  void (*free_symbolic_)(void**) = nullptr;
  void (*free_numeric_)(void**) = nullptr;
  double control_[of_control] = {}, info_[of_info] = {};
  void *order_ = nullptr, *lu_ = nullptr;
  std::int64_t n_ = 0, stored_l_ = 0, stored_u_ = 0;
  Pivots pivots_;
};

}  // namespace

template <class T> FactorsPtr<T> make_umfpack() { return std::make_shared<UmfpackLu<T>>(); }
template FactorsPtr<double> make_umfpack();
template FactorsPtr<std::complex<double>> make_umfpack();

}  // namespace strata::solving
