// Linear systems: factorizations, operators, iterations.
#include "strata/solve.h"

#include <array>

#include "bind.h"

namespace strata::bind {
namespace {

nb::tuple from_info(const SolveInfo& i) {
  return nb::make_tuple(i.method, i.iterations, i.residual, i.relative, i.normal, i.converged, i.stopped);
}

Turn to_turn(int turn) { return turn == 2 ? Turn::adjoint : turn == 1 ? Turn::transposed : Turn::none; }

Krylov to_krylov(std::string_view name) {
  constexpr std::array<std::string_view, 6> names = {"cg", "minres", "bicgstab", "gmres", "lsqr", "lsmr"};
  for (std::size_t k = 0; k < names.size(); ++k)
    if (names[k] == name) return static_cast<Krylov>(k);
  throw PlanError({.what = "no iterative method '" + std::string(name) + "'"});
}

/// A contiguous vector of ours as a NumPy array over the same memory.
nb::object as_array(const Tensor& x) {
  const Part& p = x.part();
  return to_numpy(p.values, x.shape(), {}, p.values_offset);
}

/// y = f(x) by a Python function.
LinearOperator::Apply python_product(nb::object function) {
  const std::shared_ptr<void> held = keep_alive(std::move(function));
  return [held](const Tensor& x, const Tensor& y) {
    const Gil gil;
    if (!gil) throw RuntimeFailure("Python is shutting down");
    const nb::object result = nb::handle(static_cast<PyObject*>(held.get()))(as_array(x));
    Tensor given = to_operand(result);
    if (given.rank() == 2 && (given.shape()[0] == 1 || given.shape()[1] == 1)) {  // a matrix of one row or column
      const nb::object flat = numpy().attr("ravel")(result);
      given = to_operand(flat);
    }
    if (given.shape() != y.shape())
      throw TensorError({.what = "an operator gave a result of another shape",
                         .expected = "a vector of " + std::to_string(y.shape()[0]),
                         .got = given.type().to_string()});
    if (is_complex(given.dtype()) && !is_complex(y.dtype()))
      throw DTypeError({.what = "an operator gave complex values",
                        .expected = std::string(name_of(y.dtype())),
                        .got = std::string(name_of(given.dtype())),
                        .fix = "give the operator dtype=complex128"});
    const Tensor plain =
        to_dense(given.dtype() == y.dtype() ? given : convert(given, given.format(), {.dtype = y.dtype()}));
    const Part &from = plain.part(), &to = y.part();
    const auto width = static_cast<std::int64_t>(size_of(y.dtype()));
    const std::int64_t n = y.shape()[0], stride = n > 1 ? from.strides[0] : 1;
    for (std::int64_t i = 0; i < n; ++i)
      std::memcpy(static_cast<char*>(to.values.data) + (to.values_offset + i) * width,
                  static_cast<const char*>(from.values.data) + (from.values_offset + i * stride) * width,
                  static_cast<std::size_t>(width));
  };
}

nb::object apply(const LinearOperator& a, const LinearOperator::Apply& f, std::int64_t in, std::int64_t out,
                 nb::handle given) {
  Tensor x = to_operand(given);
  if (x.shape() != Shape{in})
    throw TensorError(
        {.what = "an operator takes a vector", .expected = "shape " + std::to_string(in), .got = x.type().to_string()});
  const std::int64_t stride = 1;
  const Tensor y = borrow_dense(Buffer::zeros(a.dtype, out), {out}, {&stride, 1});
  {
    NoGil no_gil;
    const Tensor own = borrow_dense(Buffer::allocate(a.dtype, in), {in}, {&stride, 1});
    const Tensor dense = to_dense(x.dtype() == a.dtype ? x : convert(x, x.format(), {.dtype = a.dtype}));
    const Part& p = dense.part();
    const auto width = static_cast<std::int64_t>(size_of(a.dtype));
    const std::int64_t step = in > 1 ? p.strides[0] : 1;
    for (std::int64_t i = 0; i < in; ++i)
      std::memcpy(static_cast<char*>(own.part().values.data) + i * width,
                  static_cast<const char*>(p.values.data) + (p.values_offset + i * step) * width,
                  static_cast<std::size_t>(width));
    f(own, y);
  }
  return dense_result(y, Package::numpy);
}

/// A member that takes another matrix, without the GIL; the copy shares its state and keeps it alive.
auto given_another(void (Factorization::*take)(const Tensor&)) {
  return [take](Factorization& f, nb::handle a) {
    const Tensor t = to_operand(a);
    Factorization same = f;
    NoGil no_gil;
    (same.*take)(t);
  };
}

void bind_factorization(nb::module_& m) {
  nb::class_<Factorization>(m, "Factorization",
                            "A matrix made ready to solve with: the state of strata.Solve, lu and others.")
      .def(
          "__init__",
          [](Factorization* self, nb::handle a, const std::string& method, bool unit_diagonal, nb::handle dtype,
             const std::string& library) {
            const Tensor t = to_operand(a);
            const DirectOptions options{parse_direct(method), parse_direct_library(library), unit_diagonal,
                                        to_optional_dtype(dtype)};
            NoGil no_gil;
            new (self) Factorization(t, options);
          },
          nb::arg("a"), nb::arg("method") = "auto", nb::arg("unit_diagonal") = false, nb::arg("dtype") = nb::none(),
          nb::arg("library") = "eigen")
      .def(
          "factorize",
          [](Factorization& f) {
            Factorization same = f;  // shares its state
            NoGil no_gil;
            same.factorize();
          },
          "SingularError, IndefiniteError.")
      .def("reset", given_another(&Factorization::reset), nb::arg("a"), "Other values; PlanError for another shape.")
      .def("refactorize", given_another(&Factorization::refactorize), nb::arg("a"),
           "Both, in one step for other threads.")
      .def(
          "solve",
          [](const Factorization& f, nb::handle b, int turn) {
            const Tensor t = to_operand(b);
            const std::array<nb::handle, 1> given{b};
            const Package package = package_of(given);
            const Factorization same = f;
            SolveInfo info;
            Tensor x;
            {
              NoGil no_gil;
              x = same.solve(t, to_turn(turn), &info);
            }
            return nb::make_tuple(dense_result(x, package), from_info(info));
          },
          nb::arg("b"), nb::arg("turn") = 0, "(solution, facts).")
      .def("logdet",
           [](const Factorization& f) {
             const auto [phase, log] = f.logdet();
             return nb::make_tuple(phase.real(), phase.imag(), log);
           })
      .def("factors",
           [](const Factorization& f) {
             nb::dict out;
             for (const auto& [name, t] : f.factors())
               out[name.c_str()] = t.rank() == 1 ? dense_result(t, Package::numpy) : nb::cast(t);
             return out;
           })
      .def_prop_ro("method", &Factorization::method)
      .def_prop_ro("kind", [](const Factorization& f) { return std::string(name_of(f.kind())); })
      .def_prop_ro("shape", [](const Factorization& f) { return from_shape(f.shape()); })
      .def_prop_ro("dtype", [](const Factorization& f) { return from_dtype(f.dtype()); })
      .def_prop_ro("is_factorized", &Factorization::is_factorized)
      .def_prop_ro("analyses", &Factorization::analyses);
}

void bind_operators(nb::module_& m) {
  nb::class_<LinearOperator>(m, "Operator",
                             "What iterations multiply by: a matrix, a Python function, a preconditioner.")
      .def(
          "matvec", [](const LinearOperator& a, nb::handle x) { return apply(a, a.apply, a.columns, a.rows, x); },
          nb::arg("x"))
      .def(
          "rmatvec",
          [](const LinearOperator& a, nb::handle x) {
            if (!a.adjoint) throw Unsupported({.what = "this operator has no adjoint"});
            return apply(a, a.adjoint, a.rows, a.columns, x);
          },
          nb::arg("x"))
      .def_prop_ro("shape", [](const LinearOperator& a) { return nb::make_tuple(a.rows, a.columns); })
      .def_prop_ro("dtype", [](const LinearOperator& a) { return from_dtype(a.dtype); })
      .def_ro("name", &LinearOperator::name);
  m.def(
      "operator_of",
      [](nb::handle a, nb::handle dtype) {
        const Tensor t = to_operand(a);
        const auto as = to_optional_dtype(dtype);
        NoGil no_gil;
        return as_operator(t, as);
      },
      nb::arg("a"), nb::arg("dtype") = nb::none());
  m.def(
      "operator_of_calls",
      [](std::int64_t rows, std::int64_t columns, nb::handle dtype, nb::object matvec, nb::object rmatvec,
         const std::string& name) {
        LinearOperator a;
        a.rows = rows, a.columns = columns, a.dtype = to_dtype(dtype), a.name = name;
        a.apply = python_product(std::move(matvec));
        if (!rmatvec.is_none()) a.adjoint = python_product(std::move(rmatvec));
        return a;
      },
      nb::arg("rows"), nb::arg("columns"), nb::arg("dtype"), nb::arg("matvec"), nb::arg("rmatvec").none(),
      nb::arg("name"));
  m.def(
      "preconditioner",
      [](const std::string& kind, nb::handle a, std::int64_t size, nb::handle dtype) {
        const Tensor t = to_operand(a);
        const auto as = to_optional_dtype(dtype);
        NoGil no_gil;
        if (kind == "jacobi") return jacobi(t, as);
        if (kind == "block-jacobi") return block_jacobi(t, size, as);
        if (kind == "ilu0") return ilu0(t, as);
        return ic0(t, as);
      },
      nb::arg("kind"), nb::arg("a"), nb::arg("size"), nb::arg("dtype") = nb::none());
  m.def(
      "krylov",
      [](const std::string& method, const LinearOperator& a, nb::handle b, nb::handle x0, double rtol, double atol,
         double btol, std::int64_t max_iterations, std::int64_t restart, double damp, nb::handle preconditioner,
         nb::object callback) {
        const Krylov which = to_krylov(method);
        KrylovOptions o{.rtol = rtol,
                        .atol = atol,
                        .btol = btol,
                        .max_iterations = max_iterations,
                        .restart = restart,
                        .damp = damp};
        if (!preconditioner.is_none()) o.preconditioner = nb::cast<LinearOperator>(preconditioner);
        if (!callback.is_none()) {
          const std::shared_ptr<void> held = keep_alive(std::move(callback));
          o.callback = [held](std::int64_t iteration, double residual, const Tensor& x) {
            const Gil gil;
            if (gil) nb::handle(static_cast<PyObject*>(held.get()))(iteration, residual, as_array(x));
          };
        }
        const Tensor right = to_operand(b);
        const std::optional<Tensor> start = x0.is_none() ? std::nullopt : std::optional(to_operand(x0));
        const std::array<nb::handle, 1> given{b};
        const Package package = package_of(given);
        const LinearOperator own = a;
        KrylovResult result;
        {
          NoGil no_gil;
          result = solve_iteratively(which, own, right, o, start);
        }
        return nb::make_tuple(dense_result(result.x, package), from_info(result.info));
      },
      nb::arg("method"), nb::arg("a"), nb::arg("b"), nb::arg("x0").none(), nb::arg("rtol"), nb::arg("atol"),
      nb::arg("btol"), nb::arg("max_iterations"), nb::arg("restart"), nb::arg("damp"), nb::arg("preconditioner").none(),
      nb::arg("callback").none(), "(solution, facts).");
}

}  // namespace

void bind_solve(nb::module_& m) {
  bind_factorization(m);
  bind_operators(m);
  m.def("has_factorizations", &has_factorizations, "Was this build made with Eigen?");
}

}  // namespace strata::bind
