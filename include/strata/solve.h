#pragma once
// Linear systems a x = b of matrices in any format: factorizations, and iterations over whatever can be multiplied.
#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "strata/tensor.h"

namespace strata {

/// How a system is solved directly. What is named is believed: of a triangle or a band only that is read, of a
/// Hermitian matrix only the lower triangle.
enum class Direct : std::uint8_t {
  automatic,    ///< by the structure of the matrix, which is looked at
  diagonal,     ///< divides
  lower,        ///< substitution
  upper,        ///< substitution
  tridiagonal,  ///< banded, of one diagonal on either side
  banded,       ///< LU with partial pivoting inside the band
  cholesky,     ///< Hermitian and positive definite; ordered by minimum degree (AMD) where it is sparse
  ldlt,         ///< Hermitian, L D L^H without pivoting: refused where that loses too many digits
  lu,           ///< any square matrix; ordered by columns (COLAMD) where it is sparse
  qr,           ///< least squares where there are more rows than columns, the smallest solution where there are fewer
};
/// "auto", "diagonal", "lower", ...; PlanError for others, with a suggestion.
Direct parse_direct(std::string_view name);
std::string_view name_of(Direct method);

/// Who factorizes a sparse matrix: what is built in, or a library that is looked for when it is named, and never
/// linked. Where it is not found, Unsupported says how to get it.
enum class DirectLibrary : std::uint8_t {
  built_in,  ///< Eigen
  pardiso,   ///< MKL's: Cholesky, L D L^H with pivots of 1 and 2 rows, LU
  cholmod,   ///< SuiteSparse's Cholesky
  umfpack,   ///< SuiteSparse's LU
};
/// "eigen", "pardiso", "cholmod", "umfpack"; PlanError for others, with a suggestion.
DirectLibrary parse_direct_library(std::string_view name);

struct DirectOptions {
  Direct method = Direct::automatic;
  DirectLibrary library = DirectLibrary::built_in;
  bool unit_diagonal = false;       ///< triangles: the diagonal is 1, whatever is stored
  std::optional<DType> dtype = {};  ///< to compute in: f32, f64, c64 or c128 (default: the matrix's, f64 of integers)
};

/// How good a solution is, and how it was found.
struct SolveInfo {
  std::string method;           ///< "Cholesky of CSR, 2 600 elements in L", "CG of CSR with Jacobi"
  std::int64_t iterations = 0;  ///< of iterative refinement, or of the method
  double residual = 0;          ///< |b - a x|, computed from x; the largest of all right-hand sides
  double relative = 0;          ///< the same over |b|
  double normal = 0;            ///< least squares: |a^H (b - a x)|
  bool converged = false;
  std::string stopped;  ///< why it ended, where it did not converge
};

/// What solve() solves with: the matrix, its transpose, or its conjugate transpose.
enum class Turn : std::uint8_t { none, transposed, adjoint };

/// A matrix, or a batch of them (leading dimensions), made ready to solve with. Copies share it.
///
///     Factorization f(a);         // looks at the structure, chooses a method and an order of elimination
///     f.factorize();
///     Tensor x = f.solve(b);      // as often as wanted
///     f.reset(other);             // other values in the same places: the order is kept
///     f.factorize();
///
/// SingularError, IndefiniteError; Unsupported where the method needs Eigen and the build has none.
class Factorization {
 public:
  explicit Factorization(const Tensor& a, const DirectOptions& options = {});
  void factorize();
  /// The same shape and dtype. Where other places are stored, or what was looked at is no longer so, it starts anew.
  void reset(const Tensor& a);
  /// Both at once, as far as other threads that solve with it can see.
  void refactorize(const Tensor& a);
  /// b of one or two dimensions (several right-hand sides), dense or sparse; of a batch with its leading dimensions
  /// too. The result is dense and row-major. Each solution is put into its equation, refined where it is not as good as
  /// the dtype allows, and refused (SolveError) where it does not solve it.
  Tensor solve(const Tensor& b, Turn turn = Turn::none, SolveInfo* info = nullptr) const;

  const Shape& shape() const;
  DType dtype() const;         ///< computed in
  Direct kind() const;         ///< chosen (after factorize(): used)
  std::string method() const;  ///< in words
  bool is_factorized() const;
  std::int64_t analyses() const;  ///< how many times the structure was looked at anew
  /// The determinant's phase (sign) and the logarithm of its magnitude; Unsupported for QR and batches.
  std::pair<std::complex<double>, double> logdet() const;
  /// Factors as tensors, permutations as vectors of i64: a[rows][:, columns] = L U (LU), a[rows][:, rows] = L L^H
  /// (Cholesky) or L diag(D) L^H, a[:, columns] = Q R of which R is here.
  std::map<std::string, Tensor> factors() const;

  struct Impl;

 private:
  std::shared_ptr<Impl> impl_;
};

/// The solution of a x = b.
Tensor solve(const Tensor& a, const Tensor& b, const DirectOptions& options = {}, SolveInfo* info = nullptr);
/// Is Eigen in this build? Without it there are no dense methods, no Cholesky, LDLT, LU and QR.
bool has_factorizations();

/// Whatever can be multiplied by a vector: y = a x. Both are dense, contiguous, of the same dtype; y is written.
struct LinearOperator {
  using Apply = std::function<void(const Tensor& x, const Tensor& y)>;
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::f64;
  Apply apply, adjoint = {};  ///< adjoint: y = a^H x, for LSQR and LSMR
  std::string name = {};
};
/// A matrix of any format, multiplied by planned kernels.
LinearOperator as_operator(const Tensor& a, std::optional<DType> dtype = {});

/// Preconditioners: operators that approximate the inverse. SingularError where a pivot is 0.
LinearOperator jacobi(const Tensor& a, std::optional<DType> dtype = {});  ///< the diagonal
/// Blocks of size x size along the diagonal.
LinearOperator block_jacobi(const Tensor& a, std::int64_t size, std::optional<DType> dtype = {});
LinearOperator ilu0(const Tensor& a, std::optional<DType> dtype = {});  ///< LU in the matrix's own pattern
/// Cholesky in the pattern of the lower triangle. IndefiniteError where a pivot is not positive.
LinearOperator ic0(const Tensor& a, std::optional<DType> dtype = {});

enum class Krylov : std::uint8_t { cg, minres, bicgstab, gmres, lsqr, lsmr };

struct KrylovOptions {
  double rtol = 1e-5, atol = 0;      ///< until |b - a x| <= max(rtol |b|, atol)
  double btol = 1e-6;                ///< LSQR and LSMR: as their papers' ATOL (here rtol) and BTOL
  std::int64_t max_iterations = -1;  ///< default: 10 n
  std::int64_t restart = 30;         ///< GMRES: vectors that are kept
  double damp = 0;                   ///< LSQR and LSMR: minimizes |b - a x|^2 + damp^2 |x|^2
  std::optional<LinearOperator> preconditioner = {};
  /// After every iteration, with the residual as the method knows it. (GMRES knows x after a restart only.)
  std::function<void(std::int64_t iteration, double residual, const Tensor& x)> callback = {};
};
struct KrylovResult {
  Tensor x;
  SolveInfo info;
};
/// Iterates from x0 (or 0). What is told as converged was put into the equation. Sums are the same with any number of
/// threads. Other methods than LSQR and LSMR need a square matrix; CG one that is Hermitian and positive definite,
/// MINRES a Hermitian one.
KrylovResult solve_iteratively(Krylov method, const LinearOperator& a, const Tensor& b,
                               const KrylovOptions& options = {}, const std::optional<Tensor>& x0 = {});

}  // namespace strata
