// The general path: whole expressions over any formats.
#include "evaluate.h"

#include <algorithm>

namespace strata::bind {
namespace {

bool is_sparse(const Tensor& t) { return !t.format().is_all_dense(); }

/// A Semiring, or a text.
Semiring to_semiring(nb::handle h) {
  if (nb::isinstance<Semiring>(h)) return nb::cast<Semiring>(h);
  if (nb::isinstance<nb::str>(h)) return parse_semiring(nb::cast<std::string>(h));
  throw ExpressionError({.what = "no semiring",
                         .expected = "a name, 'add; multiply; zero', or a strata.Semiring",
                         .got = Py_TYPE(h.ptr())->tp_name});
}

double to_double(nb::handle h) { return to_scalar(h, DType::f64, "the additive identity").to_complex().real(); }

EvaluateOptions options_of(nb::handle format, nb::handle semiring, nb::handle mask, bool complement_mask,
                           nb::handle dtype, int rank) {
  EvaluateOptions o;
  if (!format.is_none()) o.format = to_format(format, rank);
  if (!semiring.is_none()) o.semiring = to_semiring(semiring);
  if (!mask.is_none()) o.mask = to_operand(mask);
  o.complement_mask = complement_mask;
  o.dtype = to_optional_dtype(dtype);
  return o;
}

nb::object result_of(const Tensor& t, Package package) {
  return t.format().is_all_dense() && t.format().is_identity() ? dense_result(to_dense(t), package) : nb::cast(t);
}

}  // namespace

nb::object evaluate_einsum(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options,
                           Package package) {
  Tensor out;
  {
    NoGil no_gil;
    out = evaluate(e, operands, options);
  }
  return result_of(out, package);
}

bool needs_general_path(std::span<const Tensor> operands) {
  return std::count_if(operands.begin(), operands.end(), is_sparse) > 1;
}

void bind_evaluate(nb::module_& m) {
  nb::class_<Semiring>(m, "Semiring",
                       "What *, + and sums mean in evaluate() and einsum(), by expressions of the scalars a and b.\n\n"
                       "    Semiring(add='min(a, b)', multiply='a + b', zero=float('inf'))      # min-plus\n"
                       "    Semiring(add='max(a, b)', multiply='min(a, b)', zero=float('-inf'))  # widest paths\n\n"
                       "add : commutative and associative, which each evaluation checks on samples of the values at "
                       "hand\nmultiply : with the operators and functions of index notation\nzero : the identity of add, "
                       "which absent elements stand for; with it every product is zero (inf of integers is the largest "
                       "one)\n\nExpressions compute in the dtype of the operands. Products of three factors or more may be "
                       "taken in any order where the samples let them. ExpressionError; in an evaluation DTypeError too.")
      .def(
          "__init__",
          [](Semiring* self, const std::string& add, const std::string& multiply, nb::handle zero) {
            new (self) Semiring(add, multiply, to_double(zero));
          },
          nb::arg("add"), nb::arg("multiply"), nb::arg("zero"))
      .def("__eq__", [](const Semiring& a, const Semiring& b) { return a == b; })
      .def("__eq__", [](const Semiring&, nb::handle) { return nb::borrow(Py_NotImplemented); })
      .def("__hash__", [](const Semiring& s) { return std::hash<std::string>{}(s.to_string()); })
      .def("__str__", &Semiring::to_string)
      .def("__repr__", [](const Semiring& s) { return "<strata.Semiring " + s.to_string() + ">"; });
  m.def(
      "evaluate",
      [](const std::string& spec, nb::dict operands, nb::handle format, nb::handle semiring, nb::handle mask,
         nb::handle dtype, bool complement_mask) {
        const Assignment a = parse_assignment(spec);
        std::map<std::string, Tensor> named;
        std::vector<nb::handle> given;
        for (auto [name, value] : operands) {
          named.emplace(nb::cast<std::string>(name), to_operand(value));
          given.push_back(value);
        }
        const EvaluateOptions options = options_of(format, semiring, mask, complement_mask, dtype, static_cast<int>(a.indices.size()));
        Tensor out;
        {
          NoGil no_gil;
          out = evaluate(a, named, options);
        }
        return result_of(out, package_of(given));
      },
      nb::arg("spec"), nb::arg("operands"), nb::arg("format") = nb::none(), nb::arg("semiring") = nb::none(),
      nb::arg("mask") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("complement_mask") = false,
      "The general path for index notation; `operands`: {name: tensor}. ExpressionError, DTypeError, TensorError.");
  m.def(
      "evaluate_einsum",
      [](const std::string& spec, nb::args operands, nb::handle format, nb::handle semiring, nb::handle mask,
         nb::handle dtype, bool complement_mask) {
        std::vector<Tensor> list;
        std::vector<int> ranks;
        std::vector<nb::handle> given;
        for (nb::handle h : operands) {
          list.push_back(to_operand(h));
          ranks.push_back(list.back().rank());
          given.push_back(h);
        }
        const Einsum e = parse_einsum(spec, ranks);
        return evaluate_einsum(e, list, options_of(format, semiring, mask, complement_mask, dtype, static_cast<int>(e.output.size())),
                               package_of(given));
      },
      nb::arg("spec"), nb::arg("operands"), nb::kw_only(), nb::arg("format") = nb::none(),
      nb::arg("semiring") = nb::none(), nb::arg("mask") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("complement_mask") = false,
      "The general path for an einsum. ExpressionError, DTypeError, TensorError.");
  m.def(
      "plan_serves",
      [](const std::string& spec, nb::dict operands) {
        std::map<std::string, TensorType> types;
        int sparse = 0;
        for (auto [name, value] : operands) {
          const Tensor t = to_operand(value);
          sparse += is_sparse(t);
          types.emplace(nb::cast<std::string>(name), t.type());
        }
        if (sparse > 1) return false;
        const Assignment a = parse_assignment(spec);
        const auto names = a.value.operands();
        if (a.accumulate || std::any_of(names.begin(), names.end(), [&](const auto& n) { return !types.contains(n); }))
          return false;
        std::vector<std::string> unused;
        try {
          static_cast<void>(parse_index_notation(spec, unused));
        } catch (const Error&) {
          return false;
        }
        return result_format(a, types).format.is_all_dense();
      },
      nb::arg("spec"), nb::arg("operands"),
      "Is this one product with at most one sparse operand and a dense result? Then a plan serves it.");
  m.def(
      "expression_operands",
      [](const std::string& spec) {
        const Assignment a = parse_assignment(spec);
        nb::list out;
        for (const auto& name : a.value.operands()) out.append(name);
        if (a.accumulate) out.append(a.name);
        return out;
      },
      nb::arg("spec"), "The operands that an assignment names, in order; of '+=' the result last. ExpressionError.");
  m.def(
      "print_assignment", [](const std::string& spec) { return parse_assignment(spec).to_string(); }, nb::arg("spec"),
      "An assignment as it is printed. ExpressionError.");
  m.def(
      "result_format",
      [](const std::string& spec, nb::dict operands) {
        std::map<std::string, TensorType> types;
        for (auto [name, value] : operands) types.emplace(nb::cast<std::string>(name), to_operand(value).type());
        const Assignment a = parse_assignment(spec);
        for (const auto& n : a.value.operands())
          if (!types.contains(n))
            throw ExpressionError({.what = "no operand '" + n + "'",
                                   .expected = "a tensor of this name",
                                   .got = "none",
                                   .fix = "give " + n + "="});
        const ResultFormat r = result_format(a, types);
        return nb::make_tuple(r.format, r.why);
      },
      nb::arg("spec"), nb::arg("operands"), "The format that the result gets, and why. ExpressionError.");
}

}  // namespace strata::bind
