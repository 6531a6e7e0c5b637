// From a matrix to a factorization, and from right-hand sides to solutions that were put into their equations.
#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <shared_mutex>

#include "backend/pool.h"
#include "backend/steps.h"
#include "base/suggest.h"
#include "solve/background.h"
#include "solve/condition.h"
#include "solve/factors.h"
#include "solve/look.h"
#include "solve/norms.h"
#include "solve/who_factorizes.h"
#include "strata/ops.h"

namespace strata {

namespace {

constexpr std::array<std::string_view, 10> names = {"auto",   "diagonal", "lower", "upper", "tridiagonal",
                                                    "banded", "cholesky", "ldlt",  "lu",    "qr"};

/// A number as messages show it.
std::string figure(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}
std::string shape_text(const Shape& s) {
  std::string out;
  for (const auto e : s) out += (out.empty() ? "" : " x ") + std::to_string(e);
  return out;
}

}  // namespace

Direct parse_direct(std::string_view name) {
  for (std::size_t k = 0; k < names.size(); ++k)
    if (name == names[k]) return static_cast<Direct>(k);
  std::string all;
  for (const auto n : names) all += (all.empty() ? "" : ", ") + std::string(n);
  const std::string_view near = closest(name, names);
  throw PlanError({.what = "no direct method '" + std::string(name) + "'",
                   .expected = all,
                   .got = std::string(name),
                   .fix = near.empty() ? "" : "write '" + std::string(near) + "'"});
}
DirectLibrary parse_direct_library(std::string_view name) {
  constexpr auto words = solving::library_words;
  for (std::size_t k = 0; k < words.size(); ++k)
    if (name == words[k]) return static_cast<DirectLibrary>(k);
  const std::string_view near = closest(name, words);
  throw PlanError({.what = "no library '" + std::string(name) + "' factorizes",
                   .expected = "eigen, pardiso, cholmod, umfpack",
                   .got = std::string(name),
                   .fix = near.empty() ? "" : "write '" + std::string(near) + "'"});
}
std::string_view name_of(Direct method) { return names[static_cast<std::size_t>(method)]; }

struct Factorization::Impl {
  virtual ~Impl() = default;
  virtual void factorize() = 0;
  virtual void reset(const Tensor& a) = 0;
  virtual void refactorize(const Tensor& a) = 0;
  virtual Tensor solve(const Tensor& b, Turn turn, SolveInfo* info) const = 0;
  virtual std::string method() const = 0;
  virtual std::pair<std::complex<double>, double> logdet() const = 0;
  virtual std::map<std::string, Tensor> factors() const = 0;

  mutable std::shared_mutex lock;  ///< solutions beside each other, and nothing beside a factorization
  Shape shape;
  DType dtype = DType::f64;
  Direct kind = Direct::automatic;
  bool ready = false;
  std::int64_t analyses = 0;
};

namespace solving {
namespace {

/// How good the solution of one right-hand side is.
struct Quality {
  double residual = 0, right = 0, normal = 0;  ///< |b - a x|, |b|, |a^H (b - a x)|
  double backward = 0;                         ///< how far a and b are, relatively, from a system that x solves exactly
};

/// Only the part of a matrix that the method was told to read.
template <class T> Matrix<T> part_of(const Matrix<T>& a, Direct kind, bool unit_diagonal) {
  std::int64_t low = a.rows, high = a.columns;  // j - i from -low to high
  if (kind == Direct::diagonal) low = high = 0;
  else if (kind == Direct::tridiagonal) low = high = 1;
  else if (kind == Direct::lower) high = 0;
  else if (kind == Direct::upper) low = 0;
  const bool hermitian = kind == Direct::cholesky || kind == Direct::ldlt;
  auto own = std::make_shared<MatrixArrays<T>>();
  if (a.is_dense()) {
    own->values.assign(a.values, a.values + a.rows * a.columns);
    for (std::int64_t i = 0; i < a.rows; ++i)
      for (std::int64_t j = 0; j < a.columns; ++j) {
        T& v = own->values[static_cast<std::size_t>(i * a.columns + j)];
        if (i - j > low || j - i > high) v = T{};
        if (hermitian && j > i) v = conjugate(own->values[static_cast<std::size_t>(j * a.columns + i)]);
        if (i == j && unit_diagonal) v = T{1};
      }
    return {a.rows, a.columns, nullptr, nullptr, own->values.data(), own};
  }
  if (hermitian) {  // mirrored
    const Matrix<T> upper = adjoint_of(a);
    own->pos.push_back(0);
    for (std::int64_t j = 0; j < a.columns; ++j) {
      for (std::int32_t p = upper.pos[j]; p < upper.pos[j + 1] && upper.crd[p] < j; ++p)
        own->crd.push_back(upper.crd[p]), own->values.push_back(upper.values[p]);
      for (std::int32_t p = a.pos[j]; p < a.pos[j + 1]; ++p)
        if (a.crd[p] >= j) own->crd.push_back(a.crd[p]), own->values.push_back(a.values[p]);
      own->pos.push_back(static_cast<std::int32_t>(own->crd.size()));
    }
  } else {
    own->pos.push_back(0);
    for (std::int64_t j = 0; j < a.columns; ++j) {
      bool diagonal = !unit_diagonal;
      const auto one = [&] {
        own->crd.push_back(static_cast<std::int32_t>(j)), own->values.push_back(T{1}), diagonal = true;
      };
      for (std::int32_t p = a.pos[j]; p < a.pos[j + 1]; ++p) {
        const std::int64_t i = a.crd[p];
        if (i - j > low || j - i > high || (unit_diagonal && i == j)) continue;
        if (!diagonal && i > j) one();
        own->crd.push_back(a.crd[p]), own->values.push_back(a.values[p]);
      }
      if (!diagonal) one();
      own->pos.push_back(static_cast<std::int32_t>(own->crd.size()));
    }
  }
  return {a.rows, a.columns, own->pos.data(), own->crd.data(), own->values.data(), own};
}

/// A matrix that is singular to working precision.
struct Singular : SingularError {
  using SingularError::SingularError;
};
/// Where pivots differ by much, or some were moved: is the matrix singular for all that can be told?
template <class T> void check_pivots(const Matrix<T>& a, const Factors<T>& factors) {
  const Pivots p = factors.pivots();
  const double n = static_cast<double>(a.rows);
  if (p.noise == 0 && !(p.smallest < p.largest * std::min(1e-3, 1e3 * n * epsilon<T>))) return;
  const double c = condition(a, factors), most = 0.25 / std::max(epsilon<T>, p.noise);
  if (c < most) return;
  if (p.noise > 0)
    throw SingularError({.what = "the matrix is singular, or needs other exchanges of rows: pivots that were too small "
                                 "were moved, and its condition is at least " +
                                 figure(c),
                         .expected = "less than " + figure(most) + " where pivots were moved",
                         .got = factors.words(),
                         .fix = "another library=, or none; lsmr() gives a solution of least squares"});
  throw Singular({.what = "the matrix is singular to working precision: its condition is at least " + figure(c),
                  .expected = "less than " + figure(most) + " in " + std::string(name_of(dtype_of<T>())),
                  .got = "pivots from " + figure(p.smallest) + " to " + figure(p.largest),
                  .fix = "lsmr() gives a solution of least squares"});
}

/// One matrix of the batch.
template <class T> struct One {
  Matrix<T> a;  ///< what is solved: the parts that the method reads
  FactorsPtr<T> factors;
  Norms norms;
  Direct kind = Direct::automatic;
  bool analysed = false, swapped = false;  ///< swapped: the adjoint of a wide matrix was factorized
};

template <class T> class TypedFactorization final : public Factorization::Impl {
 public:
  TypedFactorization(const Tensor& a, const DirectOptions& options) : options_(options) {
    dtype = dtype_of<T>();
    look(a);
  }

  void reset(const Tensor& a) override {
    const std::unique_lock hold(lock);
    replace(a);
  }
  void factorize() override {
    const std::unique_lock hold(lock);
    eliminate();
  }
  void refactorize(const Tensor& a) override {
    const std::unique_lock hold(lock);
    replace(a);
    eliminate();
  }

  // With the lock held.
  void replace(const Tensor& a) {
    if (a.shape() != shape)
      throw PlanError({.what = "another matrix has the shape of the first",
                       .expected = shape_text(shape),
                       .got = shape_text(a.shape())});
    look(a);
  }

  void eliminate() {
    ready = false;
    const auto work = [options = options_](One<T>& one) {
      if (one.a.rows == 0 || one.a.columns == 0) return;
      const Matrix<T> a = one.swapped ? adjoint_of(one.a) : one.a;
      for (;;) {
        try {
          if (!one.analysed) one.factors->analyse(a), one.analysed = true;
          one.factors->factorize(a);
          if (a.rows == a.columns) check_pivots(a, *one.factors);
          break;
        } catch (const Singular&) {
          throw;  // another method would find the same
        } catch (const SolveError&) {
          const auto next =
              options.method == Direct::automatic ? instead_of(one.kind, a.is_dense(), options.library) : std::nullopt;
          if (!next) throw;
          one.kind = *next, one.factors = make_factors(*next, a, options), one.analysed = false;
        }
      }
      one.norms = norms_of(one.a);
    };
    if (all_.size() == 1) {
      // The thread works on a copy: it may outlive this call.
      const auto one = std::make_shared<One<T>>(all_[0]);
      if (one->a.stored() < 20'000) work(*one);
      else {
        all_[0].factors = make_factors(all_[0].kind, all_[0].a, options_), all_[0].analysed = false;
        in_background([one, work] { work(*one); });
      }
      all_[0] = *one;
    } else {
      const std::int64_t chunk = 16, count = static_cast<std::int64_t>(all_.size());
      parallel_for((count + chunk - 1) / chunk, [&](std::int64_t c) {
        for (std::int64_t k = c * chunk; k < std::min(count, (c + 1) * chunk); ++k)
          work(all_[static_cast<std::size_t>(k)]);
      });
    }
    kind = all_.empty() ? options_.method : all_[0].kind;
    ready = true;
  }

  Tensor solve(const Tensor& b, Turn turn, SolveInfo* info) const override {
    const std::shared_lock hold(lock);
    if (!ready) throw PlanError({.what = "nothing is factorized yet", .expected = "factorize() before solve()"});
    const std::size_t rank = shape.size();
    const std::int64_t rows = shape[rank - 2], columns = shape[rank - 1];
    const std::int64_t right = turn == Turn::none ? rows : columns, left = turn == Turn::none ? columns : rows;
    Shape vectors(shape.begin(), shape.end() - 2), expected = vectors;
    expected.push_back(right);
    const bool vector = b.shape() == expected;
    if (!vector && !(b.shape().size() == rank && std::equal(expected.begin(), expected.end(), b.shape().begin())))
      throw TensorError({.what = "the right-hand side does not go with the matrix",
                         .expected = "shape " + shape_text(expected) + ", or " + shape_text(expected) + " x k",
                         .got = shape_text(b.shape())});
    Shape out = vectors;
    out.push_back(left);
    if (!vector) out.push_back(b.shape().back());
    if constexpr (!is_complex_v<T>) {
      if (is_complex(b.dtype())) return solve_complex(b, turn, info, vector, out);
    }
    Sides<T> sides = sides_of<T>(b, static_cast<std::int64_t>(all_.size()), vector);
    Sides<T> x = solve_sides(sides, left, turn, info);
    return tensor_of(x, out);
  }

  std::string method() const override {
    const std::shared_lock hold(lock);
    if (all_.empty()) return "nothing to solve";
    std::string text = ready ? all_[0].factors->words() : std::string(name_of(kind));
    if (!all_[0].a.is_dense() && shape.size() == 2) text += ", of " + from_;
    if (shape.size() > 2) text += ", " + std::to_string(all_.size()) + " matrices of " + from_;
    return text;
  }
  std::pair<std::complex<double>, double> logdet() const override {
    const std::shared_lock hold(lock);
    if (!ready) throw PlanError({.what = "nothing is factorized yet", .expected = "factorize() before logdet()"});
    const auto d = shape.size() == 2 ? all_[0].factors->logdet() : std::nullopt;
    if (!d)
      throw Unsupported(
          {.what = "no determinant of " + std::string(shape.size() == 2 ? "this factorization" : "a batch"),
           .expected = "one square matrix, factorized by another method than QR, and not by PARDISO's LU or L D L^H"});
    return {d->phase, d->log};
  }
  std::map<std::string, Tensor> factors() const override {
    const std::shared_lock hold(lock);
    if (!ready) throw PlanError({.what = "nothing is factorized yet", .expected = "factorize() before factors()"});
    if (shape.size() != 2) throw Unsupported({.what = "no factors of a batch", .expected = "one matrix"});
    std::map<std::string, Tensor> out;
    all_[0].factors->list(out);
    return out;
  }

 private:
  void look(const Tensor& a) {
    auto matrices = matrices_of<T>(a);
    // Of a batch all are solved in one way.
    Look all;
    std::int64_t stored = 0;
    std::vector<Look> looks;
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      const Look one = look_at(matrices[k]);
      if (one.bad_row >= 0)
        throw SolveError({.what = "the matrix holds a value that is no finite number, in row " +
                                  std::to_string(one.bad_row) + ", column " + std::to_string(one.bad_column),
                          .expected = "finite numbers"});
      if (k == 0) all = one;
      all.lower = std::max(all.lower, one.lower), all.upper = std::max(all.upper, one.upper);
      all.hermitian &= one.hermitian, all.positive_diagonal &= one.positive_diagonal;
      stored = std::max(stored, matrices[k].stored());
    }
    shape = a.shape();
    const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
    Direct next = options_.method;
    if (next == Direct::automatic)
      next = matrices.empty() ? Direct::diagonal : choose(all, rows, columns, stored, matrices[0].is_dense());
    if (options_.library != DirectLibrary::built_in && !matrices.empty())
      next = method_of_library(all, options_, matrices[0].is_dense());
    if (rows != columns && next != Direct::qr)
      throw TensorError({.what = std::string(name_of(next)) + " solves with square matrices",
                         .expected = "as many rows as columns",
                         .got = shape_text(a.shape()),
                         .fix = "method='qr', lsqr() or lsmr() give least squares"});
    std::vector<One<T>> fresh_ones(matrices.size());
    bool kept = !matrices.empty() && matrices.size() == all_.size();
    for (std::size_t k = 0; k < matrices.size(); ++k) {
      One<T>& one = fresh_ones[k];
      one.kind = next;
      const bool named =
          options_.method != Direct::automatic && next != Direct::lu && next != Direct::qr && next != Direct::banded;
      one.a = named || options_.unit_diagonal ? part_of(matrices[k], next, options_.unit_diagonal) : matrices[k];
      one.swapped = next == Direct::qr && rows < columns;
      kept = kept && planned_ == next && same_places(one.a, all_[k].a) && bands_ == std::pair(all.lower, all.upper);
    }
    if (kept)
      for (std::size_t k = 0; k < fresh_ones.size(); ++k) {
        fresh_ones[k].factors = all_[k].factors;
        fresh_ones[k].analysed = all_[k].analysed;
        fresh_ones[k].kind = all_[k].kind;
      }
    else {
      for (auto& one : fresh_ones) one.factors = make_factors(next, one.a, options_);
      ++analyses;
    }
    all_ = std::move(fresh_ones);
    from_ = a.format().name().empty() ? a.format().to_string() : a.format().name();
    planned_ = kind = next;
    bands_ = {all.lower, all.upper};
    ready = false;
  }

  Sides<T> solve_sides(Sides<T>& b, std::int64_t left, Turn turn, SolveInfo* info) const {
    Sides<T> x;
    x.batches = b.batches, x.rows = left, x.columns = b.columns;
    x.values.resize(static_cast<std::size_t>(x.batches * x.rows * x.columns));
    for (std::size_t i = 0; i < b.values.size(); ++i)
      if (!is_finite(b.values[i]))
        throw SolveError({.what = "the right-hand side holds a value that is no finite number",
                          .expected = "finite numbers",
                          .got = Scalar::of(b.values[i]).to_string()});
    // The same pieces with any number of threads: a solution depends on nothing but its own right-hand side.
    constexpr std::int64_t together = 8;
    const std::int64_t pieces = (b.columns + together - 1) / together;
    std::vector<Quality> quality(static_cast<std::size_t>(b.batches * b.columns));
    std::vector<std::int64_t> refined(static_cast<std::size_t>(b.batches * pieces), 0);
    parallel_for(b.batches * pieces, [&](std::int64_t c) {
      const std::int64_t batch = c / pieces, first = c % pieces * together,
                         count = std::min(together, b.columns - first);
      refined[static_cast<std::size_t>(c)] =
          solve_piece(all_[static_cast<std::size_t>(batch)], b.column(batch, first), x.column(batch, first), count,
                      turn, quality.data() + batch * b.columns + first);
    });
    SolveInfo told;
    double worst = 0;
    for (const Quality& q : quality) {
      told.residual = std::max(told.residual, q.residual), told.normal = std::max(told.normal, q.normal);
      told.relative = std::max(told.relative, q.right > 0 ? q.residual / q.right : q.residual);
      worst = std::isnan(q.backward) || q.backward > worst ? q.backward : worst;
      if (std::isnan(worst)) break;
    }
    for (const auto n : refined) told.iterations = std::max(told.iterations, n);
    told.converged = worst <= std::sqrt(epsilon<T>);
    if (!told.converged)
      throw SolveError({.what = "the solution does not solve the system: relative to the matrix, the solution and the "
                                "right-hand side it leaves " +
                                figure(worst),
                        .expected = "at most " + figure(std::sqrt(epsilon<T>)),
                        .got = "|b - a x| of " + figure(told.residual) + ", by " + all_[0].factors->words(),
                        .fix = turn == Turn::none ? "method='qr', or a larger dtype" : "a larger dtype"});
    if (info) *info = told;
    return x;
  }

  /// Solves, looks, and refines where the dtype allows better. How many times it refined.
  static std::int64_t solve_piece(const One<T>& one, const T* b, T* x, std::int64_t k, Turn turn, Quality* quality) {
    const std::int64_t right = turn == Turn::none ? one.a.rows : one.a.columns,
                       left = turn == Turn::none ? one.a.columns : one.a.rows;
    if (right == 0 || left == 0) return 0;
    // Of a wide matrix the adjoint was factorized.
    Turn inner = turn;
    if (one.swapped) inner = turn == Turn::none ? Turn::adjoint : Turn::none;
    const auto solve_with = [&](const T* from, T* to, std::int64_t columns) {
      if (one.swapped && turn == Turn::transposed) {  // a^T = conj(a^H)
        std::vector<T> turned(from, from + right * columns);
        for (T& v : turned) v = conjugate(v);
        one.factors->solve(turned.data(), to, columns, Turn::none);
        for (std::int64_t i = 0; i < left * columns; ++i) to[i] = conjugate(to[i]);
      } else {
        one.factors->solve(from, to, columns, inner);
      }
    };
    solve_with(b, x, k);
    std::int64_t refinements = 0;
    thread_local std::vector<T> kept;
    std::vector<T> r = std::move(kept), step;
    r.resize(static_cast<std::size_t>(right));
    const bool over = right > left;  // least squares
    for (std::int64_t c = 0; c < k; ++c) {
      const T* bc = b + c * right;
      T* xc = x + c * left;
      Quality q = look_at_solution(one, turn, bc, xc, r.data(), over);
      for (int turns = 0; turns < 3 && !(q.backward <= 16 * epsilon<T>) && !over && std::isfinite(q.backward);
           ++turns) {
        step.resize(static_cast<std::size_t>(left));
        solve_with(r.data(), step.data(), 1);
        for (std::int64_t i = 0; i < left; ++i) step[static_cast<std::size_t>(i)] += xc[i];
        std::vector<T> other(r.size());
        const Quality better = look_at_solution(one, turn, bc, step.data(), other.data(), over);
        if (!(better.backward < q.backward)) break;
        const bool much = better.backward < 0.5 * q.backward;
        std::copy(step.begin(), step.end(), xc);
        q = better, r = std::move(other);
        refinements = std::max<std::int64_t>(refinements, turns + 1);
        if (!much) break;
      }
      quality[c] = q;
    }
    kept = std::move(r);
    return refinements;
  }

  static Quality look_at_solution(const One<T>& one, Turn turn, const T* b, const T* x, T* r, bool over) {
    const std::int64_t right = turn == Turn::none ? one.a.rows : one.a.columns,
                       left = turn == Turn::none ? one.a.columns : one.a.rows;
    std::copy(b, b + right, r);
    subtract_product(one.a, turn, x, r);
    const double norm = turn == Turn::none ? one.norms.rows : one.norms.columns;
    Quality q;
    q.residual = length(r, right), q.right = length(b, right);
    if (!over) {
      const double scale = norm * largest_of(x, left) + largest_of(b, right), left_over = largest_of(r, right);
      q.backward = left_over == 0 ? 0 : left_over / scale;
      if (std::isinf(scale)) q.backward = left_over / norm / largest_of(x, left);  // the product alone is too large
      if (!std::isfinite(q.residual) && std::isfinite(q.right)) q.backward = q.residual;
      return q;
    }
    // What is left must be orthogonal to the columns.
    std::vector<T> normal(static_cast<std::size_t>(left), T{}), conjugated;
    const T* rest = r;
    if (turn == Turn::transposed && is_complex_v<T>) {  // the adjoint of a^T is conj(a)
      conjugated.assign(r, r + right);
      for (T& v : conjugated) v = conjugate(v);
      rest = conjugated.data();
    }
    subtract_product(one.a, turn == Turn::none ? Turn::adjoint : Turn::none, rest, normal.data());
    q.normal = length(normal.data(), left);
    const double scale = std::max(one.norms.rows, one.norms.columns) *
                         std::max(q.residual, 1e3 * std::sqrt(epsilon<T>) * (norm * length(x, left) + q.right));
    q.backward = q.normal == 0 ? 0 : q.normal / scale;
    return q;
  }

  /// Complex right-hand sides of a real matrix: real parts beside imaginary parts.
  Tensor solve_complex(const Tensor& b, Turn turn, SolveInfo* info, bool vector, const Shape& out) const {
    using C = std::complex<T>;
    Sides<C> all = sides_of<C>(b, static_cast<std::int64_t>(all_.size()), vector);
    Sides<T> parts;
    parts.batches = all.batches, parts.rows = all.rows, parts.columns = 2 * all.columns;
    parts.values.resize(2 * all.values.size());
    for (std::int64_t k = 0; k < all.batches; ++k)
      for (std::int64_t c = 0; c < all.columns; ++c)
        for (std::int64_t i = 0; i < all.rows; ++i) {
          parts.column(k, 2 * c)[i] = all.column(k, c)[i].real();
          parts.column(k, 2 * c + 1)[i] = all.column(k, c)[i].imag();
        }
    Sides<T> x = solve_sides(parts, out[shape.size() - 2], turn, info);
    Sides<C> joined;
    joined.batches = x.batches, joined.rows = x.rows, joined.columns = all.columns;
    joined.values.resize(x.values.size() / 2);
    for (std::int64_t k = 0; k < x.batches; ++k)
      for (std::int64_t c = 0; c < all.columns; ++c)
        for (std::int64_t i = 0; i < x.rows; ++i)
          joined.column(k, c)[i] = {x.column(k, 2 * c)[i], x.column(k, 2 * c + 1)[i]};
    return tensor_of(joined, out);
  }

  DirectOptions options_;
  std::vector<One<T>> all_;
  std::string from_;
  Direct planned_ = Direct::automatic;
  std::pair<std::int64_t, std::int64_t> bands_;
};

}  // namespace
}  // namespace solving

Factorization::Factorization(const Tensor& a, const DirectOptions& options) {
  const DType dtype = solving::solved_in(options.dtype.value_or(a.dtype()));
  solving::with_scalar(dtype,
                       [&]<class T>(T) { impl_ = std::make_shared<solving::TypedFactorization<T>>(a, options); });
}

void Factorization::factorize() { impl_->factorize(); }
void Factorization::reset(const Tensor& a) { impl_->reset(a); }
void Factorization::refactorize(const Tensor& a) { impl_->refactorize(a); }
Tensor Factorization::solve(const Tensor& b, Turn turn, SolveInfo* info) const {
  Tensor x = impl_->solve(b, turn, info);
  if (info) info->method = impl_->method();
  return x;
}
const Shape& Factorization::shape() const { return impl_->shape; }
DType Factorization::dtype() const { return impl_->dtype; }
Direct Factorization::kind() const { return impl_->kind; }
std::string Factorization::method() const { return impl_->method(); }
bool Factorization::is_factorized() const { return impl_->ready; }
std::int64_t Factorization::analyses() const { return impl_->analyses; }
std::pair<std::complex<double>, double> Factorization::logdet() const { return impl_->logdet(); }
std::map<std::string, Tensor> Factorization::factors() const { return impl_->factors(); }

Tensor solve(const Tensor& a, const Tensor& b, const DirectOptions& options, SolveInfo* info) {
  DirectOptions all = options;
  if (!all.dtype) all.dtype = promote(solving::solved_in(a.dtype()), solving::solved_in(b.dtype()));
  Factorization f(a, all);
  f.factorize();
  return f.solve(b, Turn::none, info);
}

}  // namespace strata
