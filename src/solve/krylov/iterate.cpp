// From a method's belief to a result that was put into the equation.
#include <array>
#include <cstdio>
#include <mutex>

#include "solve/krylov/krylov.h"
#include "solve/matrix.h"
#include "strata/ops.h"

namespace strata {
namespace {

constexpr std::array<const char*, 6> names = {"CG", "MINRES", "BiCGSTAB", "GMRES", "LSQR", "LSMR"};

std::string figure(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", x);
  return text;
}

/// y = a x, or a^H x, by a planned kernel.
LinearOperator::Apply product(const Tensor& a, bool turned) {
  const std::int64_t in = a.shape()[turned ? 0 : 1], stride = 1;
  const std::array<TensorType, 2> types{a.type(),
                                        borrow_dense(Buffer::allocate(a.dtype(), in), {in}, {&stride, 1}).type()};
  const Plan plan = make_plan(matmul_einsum(2, 1, {.transpose_a = turned, .conjugate_a = turned}), types);
  const Scalar one = Scalar::one(a.dtype()), zero = Scalar::zero(a.dtype());
  return [=](const Tensor& x, const Tensor& y) { plan.run(std::array{a, x}, y, one, zero); };
}

}  // namespace

namespace solving {
namespace {

template <class T> void fill(const Tensor& from, const Vector<T>& to, const char* what) {
  const bool column = from.rank() == 2 && from.shape()[1] == 1;
  if (from.rank() < 1 || from.shape()[0] != to.n || !(from.rank() == 1 || column))
    throw TensorError({.what = std::string(what) + " does not go with the matrix",
                       .expected = "a vector of " + std::to_string(to.n),
                       .got = from.type().to_string()});
  if (is_complex(from.dtype()) && !is_complex_v<T>)
    throw DTypeError({.what = std::string("a complex ") + what + " of a real operator",
                      .expected = "an operator made for complex vectors: as_operator(a, DType::c128)"});
  const Sides<T> values = sides_of<T>(from, 1, !column);
  std::copy(values.values.begin(), values.values.end(), to.data);
}

template <class T> double largest_of(const Vector<T>& v) {
  double found = 0;
  for (std::int64_t i = 0; i < v.n; ++i) {
    const double size = magnitude(v.data[i]);
    if (!(size <= found)) found = size;  // NaN stays
    if (std::isnan(found)) break;
  }
  return found;
}

template <class T>
KrylovResult iterate(Krylov method, const LinearOperator& a, const Tensor& b, const KrylovOptions& options,
                     const std::optional<Tensor>& x0);

/// Right-hand sides whose squares leave the range of float64 are solved as a multiple of themselves by a power of two,
/// which rounds nothing.
template <class T>
KrylovResult iterate_scaled(Krylov method, const LinearOperator& a, const Vector<T>& b, const KrylovOptions& options,
                            const Vector<T>* x0, int exponent) {
  const auto scaled = [](const T* from, const Vector<T>& to, int by) {
    for (std::int64_t i = 0; i < to.n; ++i) {
      if constexpr (is_complex_v<T>) to.data[i] = {std::ldexp(from[i].real(), by), std::ldexp(from[i].imag(), by)};
      else to.data[i] = std::ldexp(from[i], by);
    }
  };
  Vector<T> right(b.n), x(a.columns);
  scaled(b.data, right, -exponent);
  if (x0) scaled(x0->data, x, -exponent);
  KrylovOptions other = options;
  other.atol = std::ldexp(options.atol, -exponent);
  if (options.callback)
    other.callback = [&](std::int64_t iteration, double residual, const Tensor& now) {
      const Vector<T> own(a.columns);
      scaled(static_cast<const T*>(now.part().values.data), own, exponent);
      options.callback(iteration, std::ldexp(residual, exponent), own.tensor);
    };
  KrylovResult result = iterate<T>(method, a, right.tensor, other, x0 ? std::optional<Tensor>(x.tensor) : std::nullopt);
  Vector<T> own(a.columns);
  scaled(static_cast<const T*>(result.x.part().values.data), own, exponent);
  result.x = own.tensor;
  result.info.residual = std::ldexp(result.info.residual, exponent);
  result.info.normal = std::ldexp(result.info.normal, exponent);
  if (!std::isfinite(largest_of(own))) result.info.converged = false, result.info.stopped = "the solution overflows";
  return result;
}

template <class T>
KrylovResult iterate(Krylov method, const LinearOperator& a, const Tensor& b, const KrylovOptions& options,
                     const std::optional<Tensor>& x0) {
  const bool least = method == Krylov::lsqr || method == Krylov::lsmr;
  const char* name = names[static_cast<std::size_t>(method)];
  Vector<T> right(a.rows), x(a.columns), r(a.rows), normal;
  fill(b, right, "right-hand side");
  if (x0) fill(*x0, x, "start");
  if (least) normal = Vector<T>(a.columns);
  KrylovRun<T> run{a, options, right, x, r};
  run.norm_b = norm(right);
  run.target = std::max(options.rtol * run.norm_b, options.atol);
  run.limit = options.max_iterations >= 0 ? options.max_iterations : 10 * a.columns;
  const double target = run.target;
  KrylovResult result;
  SolveInfo& info = result.info;
  info.method =
      std::string(name) + (a.name.empty() ? "" : " of " + a.name) +
      (options.preconditioner && !options.preconditioner->name.empty() ? " with " + options.preconditioner->name : "");
  if (!(run.norm_b > 1e-140 && std::isfinite(run.norm_b))) {
    const double largest = largest_of(right);
    if (!std::isfinite(largest))
      throw SolveError(
          {.what = "the right-hand side holds a value that is no finite number", .expected = "finite numbers"});
    if (largest > 0) return iterate_scaled<T>(method, a, right, options, x0 ? &x : nullptr, std::ilogb(largest));
  }
  double before = 0;
  for (int turn = 0;; ++turn) {
    run.product(x, r);
    add_to<T>(right, Wide<T>(-1), r);
    info.residual = norm(r);
    info.relative = run.norm_b > 0 ? info.residual / run.norm_b : info.residual;
    double measure = info.residual, whole = info.residual;
    if (least) {
      run.adjoint(r, normal);
      if (options.damp > 0) {
        add<T>(Wide<T>(-options.damp * options.damp), x, normal);
        whole = std::hypot(whole, options.damp * norm(x));
      }
      info.normal = measure = norm(normal);
      info.converged = turn > 0 ? is_least(run, whole, info.normal, norm(x)) : info.normal == 0;
    } else {
      info.converged = info.residual <= target;
    }
    if (info.converged) break;
    if (!std::isfinite(info.residual)) info.stopped = "the residual is no finite number any more";
    else if (run.iterations >= run.limit) info.stopped = std::to_string(run.limit) + " iterations were not enough";
    else if (run.indefinite) info.stopped = run.broke;
    // Rounding made the method believe more than there is: it goes on from what there is, while that helps.
    else if (turn > 0 && !(measure < 0.5 * before))
      info.stopped = run.broke.empty() ? "rounding does not allow a smaller residual" : run.broke;
    if (!info.stopped.empty()) break;
    before = measure;
    run.broke.clear();
    run.target = turn == 0 ? target : 0.5 * target;
    switch (method) {
      case Krylov::cg: conjugate_gradients(run); break;
      case Krylov::minres: minimal_residuals(run); break;
      case Krylov::bicgstab: stabilized_biconjugate_gradients(run); break;
      case Krylov::gmres: generalized_minimal_residuals(run); break;
      case Krylov::lsqr: lsqr(run); break;
      case Krylov::lsmr: lsmr(run); break;
    }
  }
  info.iterations = run.iterations;
  if (run.indefinite && !info.converged)
    throw IndefiniteError({.what = "CG found that the matrix is not positive definite, in iteration " +
                                   std::to_string(run.iterations + 1),
                           .expected = "p^H a p > 0 for every direction p",
                           .got = "a residual of " + figure(info.relative) + " |b| by then",
                           .fix = "minres, bicgstab or gmres"});
  result.x = x.tensor;
  return result;
}

}  // namespace
}  // namespace solving

KrylovResult solve_iteratively(Krylov method, const LinearOperator& a, const Tensor& b, const KrylovOptions& options,
                               const std::optional<Tensor>& x0) {
  const bool least = method == Krylov::lsqr || method == Krylov::lsmr;
  const std::string name = names[static_cast<std::size_t>(method)];
  if (!least && a.rows != a.columns)
    throw TensorError({.what = name + " solves with square matrices",
                       .expected = "as many rows as columns",
                       .got = std::to_string(a.rows) + " x " + std::to_string(a.columns),
                       .fix = "lsqr or lsmr"});
  if (least && !a.adjoint)
    throw TensorError(
        {.what = name + " multiplies by the adjoint too", .expected = "an operator that has it (rmatvec)"});
  if (least && options.preconditioner)
    throw Unsupported(
        {.what = name + " takes no preconditioner here", .expected = "a matrix whose columns are scaled"});
  const DType dtype = solving::solved_in(a.dtype);
  if (const auto& m = options.preconditioner; m && (m->rows != a.rows || m->columns != a.columns || m->dtype != dtype))
    throw TensorError(
        {.what = "the preconditioner does not go with the matrix",
         .expected = std::to_string(a.rows) + " x " + std::to_string(a.columns) + ", " + std::string(name_of(dtype)),
         .got = std::to_string(m->rows) + " x " + std::to_string(m->columns) + ", " + std::string(name_of(m->dtype))});
  return solving::with_scalar(dtype, [&]<class T>(T) { return solving::iterate<T>(method, a, b, options, x0); });
}

LinearOperator as_operator(const Tensor& given, std::optional<DType> asked) {
  if (given.rank() != 2)
    throw TensorError(
        {.what = "an operator is a matrix", .expected = "two dimensions", .got = given.type().to_string()});
  LinearOperator out;
  out.dtype = solving::solved_in(asked.value_or(given.dtype()));
  out.rows = given.shape()[0], out.columns = given.shape()[1];
  out.name = given.format().name().empty() ? given.format().to_string() : given.format().name();
  // Once, and not in every product.
  const Tensor a =
      given.dtype() == out.dtype ? given : convert(given, given.format(), {.dtype = out.dtype, .zeros = Zeros::keep});
  out.apply = product(a, false);
  // Planned when it is first asked for: CG never does.
  struct Later {
    std::once_flag once;
    LinearOperator::Apply apply;
  };
  auto adjoint = std::make_shared<Later>();
  out.adjoint = [a, adjoint](const Tensor& x, const Tensor& y) {
    std::call_once(adjoint->once, [&] { adjoint->apply = product(a, true); });
    adjoint->apply(x, y);
  };
  return out;
}

}  // namespace strata
