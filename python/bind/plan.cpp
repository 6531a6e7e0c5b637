// einsum, plans, and users' kernels.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "backend/stack.h"
#include "bind.h"
#include "evaluate.h"
#include "plan/memory.h"
#include "strata/evaluate.h"
#include "strata/ops.h"

namespace strata::bind {
namespace {

constexpr std::size_t roomy = std::size_t{4} << 20;  ///< bytes of stack, for any expression

/// {name: format}, all of one dtype.
std::map<std::string, SymbolicOperand> symbolic_operands(nb::dict operands, nb::handle dtype) {
  std::map<std::string, SymbolicOperand> out;
  for (auto [name, format] : operands)
    out[str_of(nb::borrow(name))] = {.format = str_of(nb::borrow(format)), .dtype = to_dtype(dtype)};
  return out;
}

std::optional<std::string> format_of_mask(nb::handle mask) {
  return mask.is_none() ? std::nullopt : std::optional(str_of(nb::borrow(mask)));
}

nb::object text(const std::string& s) { return nb::module_::import_("strata._text").attr("Text")(s); }

std::vector<Tensor> to_operands(nb::args args) {
  std::vector<Tensor> out;
  for (nb::handle h : args) out.push_back(to_operand(h));
  return out;
}

std::vector<nb::handle> handles(nb::args args) {
  std::vector<nb::handle> out;
  for (nb::handle h : args) out.push_back(h);
  return out;
}

/// Runs into `out` where one is given, otherwise into a fresh array of the package of the dense operands.
nb::object run_plan(const Plan& plan, std::span<const Tensor> operands, nb::handle out, nb::handle alpha,
                    nb::handle beta, Package package) {
  const Scalar a = to_scalar(alpha);
  if (!out.is_none()) {
    const bool in_pattern = !plan.output_type().format.is_all_dense() && nb::isinstance<Tensor>(out);
    const Tensor target = in_pattern ? held<Tensor>(out) : to_output(out);
    const Scalar b = beta.is_none() ? Scalar::of(0.0) : to_scalar(beta);
    {
      NoGil no_gil;
      plan.run(operands, target, a, b);
    }
    return nb::borrow(out);
  }
  if (!beta.is_none() && !to_scalar(beta).is_zero())
    throw PlanError({.what = "beta scales what out holds, and there is no out",
                     .expected = "out=array, or no beta",
                     .fix = "give out="});
  Tensor result;
  {
    NoGil no_gil;
    result = plan.run(operands, a);
  }
  return result_of(result, package);
}

nb::object run_reusing(const Plan& plan, std::span<const Tensor> operands, nb::handle out, nb::handle alpha,
                       nb::handle beta, nb::handle reuse) {
  if (!out.is_none() || !beta.is_none())
    throw PlanError(
        {.what = "a result that reuses a pattern is a fresh tensor", .expected = "reuse=, or out= and beta="});
  if (!is_tensor(reuse))
    throw PlanError({.what = "reuse takes an earlier result",
                     .expected = "a sparse tensor that run() gave",
                     .got = Py_TYPE(reuse.ptr())->tp_name});
  const Scalar a = to_scalar(alpha);
  const Tensor previous = to_operand(reuse);
  Tensor result;
  {
    NoGil no_gil;
    result = plan.run_in_pattern_of(previous, operands, a);
  }
  return nb::cast(result);
}

/// A Python function as a kernel: gets sparse operands as tensors, dense ones and the output as NumPy arrays over their
/// memory.
UserKernel user_kernel(const std::string& name, const std::string& expression, nb::handle formats, nb::handle dtype,
                       nb::object function) {
  UserKernel k;
  k.name = name;
  k.expression = expression;
  for (nb::handle f : formats) k.formats.push_back(to_format(f));
  k.dtype = to_optional_dtype(dtype);
  std::shared_ptr<void> held = keep_alive(std::move(function));
  k.run = [held](std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) {
    Gil gil;
    nb::list args;
    auto as_array = [](const Tensor& t) {
      nb::object tensor = nb::cast(t);
      if (!t.format().is_all_dense()) return tensor;
      nb::object array = tensor.attr("_dense")(numpy_has(t.dtype()) ? "numpy" : "torch");
      return array.is_none() ? tensor : array;
    };
    for (const auto& t : operands) args.append(as_array(t));
    nb::dict options;
    options["out"] = as_array(out);
    options["alpha"] = from_scalar(alpha);
    options["beta"] = from_scalar(beta);
    nb::handle(static_cast<PyObject*>(held.get()))(*nb::tuple(args), **options);
  };
  return k;
}

}  // namespace

void bind_plan(nb::module_& m) {
  nb::class_<Plan>(
      m, "Plan", nb::is_weak_referenceable(),
      "A chosen way to compute an expression for operands of given types. Immutable, shareable between threads.")
      .def(
          "run",
          [](const Plan& p, nb::args operands, nb::handle out, nb::handle alpha, nb::handle beta, nb::handle reuse) {
            const auto given = to_operands(operands);
            if (!reuse.is_none()) return run_reusing(p, given, out, alpha, beta, reuse);
            return run_plan(p, given, out, alpha, beta, package_of(handles(operands)));
          },
          nb::arg("operands"), nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("alpha") = 1,
          nb::arg("beta") = nb::none(), nb::arg("reuse") = nb::none(),
          "alpha * expression + beta * out on operands whose types match the plan's (PlanError otherwise), in the "
          "order "
          "in which the expression names them. Without `out` the result is a fresh array, or a tensor where it is "
          "sparse.\n\n"
          "out : an array to write into; where the result is sparse, a tensor of its type with the same elements, such "
          "as "
          "an earlier result, whose values are written\n"
          "reuse : an earlier sparse result, whose pattern the new one shares: operands of the same patterns have "
          "other "
          "values. PlanError where the pattern differs.")
      .def(
          "explain", [](const Plan& p) { return text(p.explain()); },
          "Every candidate in the order tried, with the reason it was refused or chosen.")
      .def(
          "show", [](const Plan& p) { return text(p.show()); },
          "Loops, loop IR and C text, as far as this plan has them.")
      .def_prop_ro("kernel_name", &Plan::kernel_name, "The kernel that was chosen, as explain() calls it.")
      .def_prop_ro(
          "expression", [](const Plan& p) { return p.expression(); }, "What it computes, in index notation.")
      .def_prop_ro(
          "output_shape", [](const Plan& p) { return from_shape(p.output_type().shape); }, "The shape of the result.")
      .def_prop_ro(
          "output_dtype", [](const Plan& p) { return from_dtype(p.output_type().dtype); }, "The dtype of the result.")
      .def("__repr__", [](const Plan& p) { return "<strata.Plan " + p.expression() + " by " + p.kernel_name() + ">"; });

  m.def(
      "show_expression",
      [](const std::string& expression, nb::dict operands, std::int64_t extent, nb::handle dtype, bool code,
         nb::handle semiring, nb::handle mask, bool complement_mask, nb::handle schedule) {
        const auto symbolic = symbolic_operands(operands, dtype);
        const SymbolicOptions options{to_semiring(semiring), format_of_mask(mask), complement_mask,
                                      to_schedule(schedule)};
        NoGil no_gil;
        return on_a_large_stack(roomy, [&] { return show_expression(expression, symbolic, extent, code, options); });
      },
      nb::arg("expression"), nb::arg("operands"), nb::arg("extent") = 1000, nb::arg("dtype") = "float64",
      nb::arg("code") = true, nb::kw_only(), nb::arg("semiring") = nb::none(), nb::arg("mask") = nb::none(),
      nb::arg("complement_mask") = false, nb::arg("schedule") = nb::none(),
      "What would be generated for index notation: loops, loop IR and C text. `operands`: {name: "
      "format}, the result's too; others are dense. `mask`: its format. "
      "ExpressionError, FormatError, ScheduleError, Unsupported.");
  m.def(
      "emit_expression",
      [](const std::string& expression, nb::dict operands, std::int64_t extent, nb::handle dtype, nb::handle semiring,
         nb::handle mask, bool complement_mask, const std::string& name, bool main) {
        const auto symbolic = symbolic_operands(operands, dtype);
        const SymbolicOptions options{to_semiring(semiring), format_of_mask(mask), complement_mask, {}};
        const EmitOptions emit{name, main};
        NoGil no_gil;
        return on_a_large_stack(roomy, [&] { return emit_expression(expression, symbolic, extent, options, emit); });
      },
      nb::arg("expression"), nb::arg("operands"), nb::arg("extent") = 1000, nb::arg("dtype") = "float64", nb::kw_only(),
      nb::arg("semiring") = nb::none(), nb::arg("mask") = nb::none(), nb::arg("complement_mask") = false,
      nb::arg("name") = "kernel", nb::arg("main") = false,
      "The one kernel of an expression, as a C11 file that needs nothing of Strata. `name`: of its function; `main`: "
      "with "
      "a main() that calls it on a tiny input and returns 0 where the result is right. "
      "ExpressionError, FormatError, Unsupported.");
  m.def(
      "index_notation_operands",
      [](const std::string& spec) {
        std::vector<std::string> names;
        static_cast<void>(parse_index_notation(spec, names));
        return names;
      },
      nb::arg("spec"), "The operands that index notation names, in order. ExpressionError.");
  m.def(
      "register_kernel",
      [](const std::string& name, const std::string& expression, nb::handle formats, nb::object run, nb::handle dtype) {
        if (!PyCallable_Check(run.ptr()))
          throw PlanError({.what = "a kernel must be callable",
                           .expected = "run(*operands, out, alpha, beta)",
                           .got = Py_TYPE(run.ptr())->tp_name});
        register_kernel(user_kernel(name, expression, formats, dtype, std::move(run)));
      },
      nb::arg("name"), nb::arg("expression"), nb::arg("formats"), nb::arg("run"), nb::arg("dtype") = nb::none(),
      "Registers a kernel of your own: asked first for `expression` over operands of exactly these formats (structure, "
      "not name).\n\n"
      "    def spmv(A, x, *, out, alpha, beta): out[:] = alpha * (A.to_scipy() @ x) + (beta * out if beta else 0)\n"
      "    register_kernel('mine', 'ij,j->i', ['CSR', 'dense(1)'], spmv)");
  m.def("plans_made", &planning::plans_made,
        "How many times a kernel was chosen since the process began: what the cache of plans knew does not count.");
  m.def("unregister_kernel", &unregister_kernel, nb::arg("name"),
        "Removes a registered kernel; False where there is none of this name.");
}

}  // namespace strata::bind
