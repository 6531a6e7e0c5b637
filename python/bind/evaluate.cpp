// The general path: whole expressions over any formats.
#include "evaluate.h"
#include "arguments.h"

#include <algorithm>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "expr/depth.h"
#include "format/recognise.h"
#include "plan/memory.h"
#include "plan/product.h"

namespace strata::bind {

Semiring to_semiring(nb::handle h) {
  if (h.is_none()) return Semiring::plus_times;
  if (nb::isinstance<Semiring>(h)) return held<Semiring>(h);
  if (nb::isinstance<nb::str>(h)) return parse_semiring(nb::cast<std::string>(h));
  throw ExpressionError({.what = "no semiring",
                         .expected = "a name, 'add; multiply; zero', or a strata.Semiring",
                         .got = Py_TYPE(h.ptr())->tp_name});
}

namespace {

double to_double(nb::handle h) { return to_scalar(h, DType::f64, "the additive identity").to_complex().real(); }

/// The keywords that evaluate() and einsum() share.
struct Given {
  nb::handle format, semiring, mask;
  bool complement_mask;
  nb::handle dtype, compute_dtype;
};
EvaluateOptions options_of(const Given& given, int rank) {
  const auto& [format, semiring, mask, complement_mask, dtype, compute_dtype] = given;
  EvaluateOptions o;
  if (!format.is_none()) o.format = to_format(format, rank);
  o.semiring = to_semiring(semiring);
  if (!mask.is_none()) o.mask = to_operand(mask);
  o.complement_mask = complement_mask;
  o.dtype = to_optional_dtype(dtype);
  o.compute_dtype = to_optional_dtype(compute_dtype);
  return o;
}

/// What an assignment reads, in order; of '+=' the result last.
std::vector<std::string> needed(const Assignment& a) {
  auto out = a.value.operands();
  if (a.accumulate && std::find(out.begin(), out.end(), a.name) == out.end()) out.push_back(a.name);
  return out;
}

std::string name_of_operand(nb::handle name) {
  if (PyUnicode_Check(name.ptr())) return std::string(utf8_of(name));
  throw ExpressionError({.what = "the name of an operand is no text",
                         .expected = "a dict from names to tensors",
                         .got = Py_TYPE(name.ptr())->tp_name});
}

/// The same without indices whose values are meant, as no operand has their names.
std::vector<std::string> needed(const Assignment& a, const nb::dict& given) {
  auto out = needed(a);
  for (const auto& i : index_values(a))
    if (!given.contains(i.c_str())) std::erase(out, i);
  return out;
}

/// Each operand given once by its name, and none that the expression lacks.
void check_names(const std::string& spec, const std::vector<std::string>& names, const nb::dict& given) {
  bool right = true;
  for (const auto& n : names) right = right && given.contains(n.c_str());
  for (auto [name, value] : given)
    right = right && std::find(names.begin(), names.end(), name_of_operand(name)) != names.end();
  if (right) return;
  std::string all, got;
  for (auto [name, value] : given) got += (got.empty() ? "" : ", ") + name_of_operand(name) + "=";
  for (auto n = names.begin(); n != names.end(); ++n)
    if (std::find(names.begin(), n, *n) == n) all += (all.empty() ? "" : ", ") + *n + "=";
  throw ExpressionError({.what = "'" + spec + "' needs its operands by name",
                         .expected = all.empty() ? "none" : all,
                         .got = got.empty() ? "none" : got});
}

struct Named {
  std::map<std::string, Tensor> tensors;
  std::vector<nb::handle> given;
  explicit Named(const nb::dict& operands) {
    for (auto [name, value] : operands) {
      tensors.emplace(name_of_operand(name), to_operand(value));
      given.push_back(value);
    }
  }
};

}  // namespace

nb::object result_of(const Tensor& t, Package package) {
  // (is_row_major(t) without an allocation.)
  const Format& f = t.format();
  bool row_major = planning::is_plain_dense(t.type()) && t.type().strides.empty();
  for (int l = 0; row_major && l < f.num_levels(); ++l) row_major = plain_dim(f, l) == l;
  if (row_major) return dense_result(t, package);
  return t.format().is_all_dense() && t.format().is_identity() ? dense_result(to_dense(t), package) : nb::cast(t);
}

PlanOperand plan_operand(nb::handle h) {
  return nb::isinstance<PlanOperand>(h) ? held<PlanOperand>(h) : PlanOperand(to_operand(h));
}
PlanOperands plan_operands(const nb::dict& operands) {
  std::map<std::string, PlanOperand> out;
  for (auto [name, value] : operands) out.emplace(name_of_operand(name), plan_operand(value));
  return PlanOperands(std::move(out));
}

void bind_evaluate(nb::module_& m) {
  nb::class_<Semiring>(
      m, "Semiring",
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
          [](Semiring* self, nb::handle add, nb::handle multiply, nb::handle zero, const nb::kwargs& unknown) {
            const char* const call = "Semiring(add, multiply, zero)";
            refuse_unknown(unknown, call);
            require(add, "add", call);
            require(multiply, "multiply", call);
            require(zero, "zero", call);
            new (self) Semiring(to_text(add, "add", call), to_text(multiply, "multiply", call), to_double(zero));
          },
          nb::arg("add").none() = nb::ellipsis(), nb::arg("multiply").none() = nb::ellipsis(),
          nb::arg("zero").none() = nb::ellipsis(), nb::arg("unknown"),
          nb::sig("def __init__(self, add: str, multiply: str, zero: object) -> None"))
      .def("__eq__", [](const Semiring& a, const Semiring& b) { return a == b; })
      .def("__eq__", [](const Semiring&, nb::handle) { return nb::borrow(Py_NotImplemented); })
      .def("__hash__", [](const Semiring& s) { return std::hash<std::string>{}(s.to_string()); })
      .def("__str__", &Semiring::to_string)
      .def("__repr__", [](const Semiring& s) { return "<strata.Semiring " + s.to_string() + ">"; });
  nb::class_<PlanOperand>(
      m, "TensorType",
      "What planning looks at of a tensor that need not exist: st.plan(), st.explain() and st.show() take it for "
      "one.\n\n"
      "    TensorType('CSR', (10**9, 10**9), 'float64', nse=10**10)\n\n"
      "format : a Format or its text\nshape : of the tensor\ndtype : of its values\n"
      "nse : how many elements it stores, about; 16 a row where not given\n"
      "pos_dtype, crd_dtype : int32 or int64; the narrowest that hold what there is where not given\n"
      "fill : the value of absent elements\n\nFormatError, DTypeError, TensorError.")
      .def(
          "__init__",
          [](PlanOperand* self, nb::handle format, nb::handle shape, nb::handle dtype, nb::handle nse,
             nb::handle pos_dtype, nb::handle crd_dtype, nb::handle fill) {
            const Shape extents = to_shape(shape);
            const auto elements = nse.is_none() ? std::nullopt : std::optional(nb::cast<std::int64_t>(nse));
            const Format f = to_format(format, static_cast<int>(extents.size()));
            TensorType type = tensor_type(f.to_string(), extents, to_dtype(dtype), elements.value_or(0));
            type.format = f;
            if (!pos_dtype.is_none()) type.pos_dtype = to_dtype(pos_dtype);
            if (!crd_dtype.is_none()) type.crd_dtype = to_dtype(crd_dtype);
            if (!fill.is_none()) type.fill = to_scalar(fill, type.dtype, "the fill");
            new (self) PlanOperand(std::move(type), elements);
          },
          nb::arg("format"), nb::arg("shape"), nb::arg("dtype") = "float64", nb::kw_only(), nb::arg("nse") = nb::none(),
          nb::arg("pos_dtype") = nb::none(), nb::arg("crd_dtype") = nb::none(), nb::arg("fill") = nb::none())
      .def_prop_ro(
          "format", [](const PlanOperand& o) { return o.type.format; }, "How the elements are stored.")
      .def_prop_ro(
          "shape", [](const PlanOperand& o) { return from_shape(o.type.shape); }, "The extent of each dimension.")
      .def_prop_ro(
          "dtype", [](const PlanOperand& o) { return from_dtype(o.type.dtype); }, "The dtype of the values.")
      .def_prop_ro(
          "nse", [](const PlanOperand& o) { return o.nse; }, "About how many elements are stored; None: 16 a row.")
      .def("__repr__", [](const PlanOperand& o) {
        return "<strata.TensorType " + o.type.to_string() + (o.nse ? ", nse " + std::to_string(*o.nse) : "") + ">";
      });
  m.def(
      "plan",
      [](const std::string& spec, nb::handle operands, nb::handle format, nb::handle semiring, nb::handle mask,
         bool complement_mask, nb::handle dtype, nb::handle compute_dtype, nb::handle schedule) {
        nb::dict named;
        Assignment a;
        if (nb::isinstance<nb::dict>(operands)) {
          named = nb::borrow<nb::dict>(operands);
          a = parse_assignment(spec);
          check_names(spec, needed(a, named), named);
        } else {
          std::vector<int> ranks;
          for (nb::handle h : operands) {
            const std::string name = operand_name(ranks.size());
            named[name.c_str()] = h;
            ranks.push_back(static_cast<int>(plan_operand(h).type.shape.size()));
          }
          a = to_assignment(parse_einsum(spec, ranks));
        }
        const PlanOperands given = plan_operands(named);
        EvaluateOptions options = options_of({format, semiring, mask, complement_mask, dtype, compute_dtype},
                                             static_cast<int>(a.indices.size()));
        options.schedule = to_schedule(schedule);
        NoGil no_gil;
        return make_plan(a, given, options);
      },
      nb::arg("spec"), nb::arg("operands"), nb::kw_only(), nb::arg("format") = nb::none(),
      nb::arg("semiring") = nb::none(), nb::arg("mask") = nb::none(), nb::arg("complement_mask") = false,
      nb::arg("dtype") = nb::none(), nb::arg("compute_dtype") = nb::none(), nb::arg("schedule") = nb::none(),
      "Plans index notation over {name: operand}, or an einsum over a sequence of them: tensors, arrays or types.");
  m.def("programs_made", &planning::programs_made,
        "How many times an expression was planned since the process began: what is remembered does not count.");
  m.def(
      "evaluate",
      [](const std::string& spec, nb::dict operands, nb::handle out, nb::handle format, nb::handle semiring,
         nb::handle mask, bool complement_mask, nb::handle dtype, nb::handle compute_dtype, nb::handle schedule,
         bool general) {
        const Assignment a = parse_assignment(spec);
        check_names(spec, needed(a, operands), operands);
        const Named named(operands);
        EvaluateOptions options = options_of({format, semiring, mask, complement_mask, dtype, compute_dtype},
                                             static_cast<int>(a.indices.size()));
        options.schedule = to_schedule(schedule);
        options.general = general;
        nb::object target = nb::borrow(out);
        if (target.is_none() && a.accumulate) {  // '+=' writes into the array that it adds to
          const nb::object held = operands[a.name.c_str()];
          if (!is_tensor(held) && nb::hasattr(held, "__setitem__") && nb::hasattr(held, "shape")) target = held;
        }
        if (!target.is_none()) {
          const Tensor written = to_output(target);
          NoGil no_gil;
          evaluate_into(a, named.tensors, written, options);
        }
        if (!target.is_none()) return target;
        Tensor result;
        {
          NoGil no_gil;
          result = evaluate(a, named.tensors, options);
        }
        return result_of(result, package_of(named.given));
      },
      nb::arg("spec"), nb::arg("operands"), nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("format") = nb::none(),
      nb::arg("semiring") = nb::none(), nb::arg("mask") = nb::none(), nb::arg("complement_mask") = false,
      nb::arg("dtype") = nb::none(), nb::arg("compute_dtype") = nb::none(), nb::arg("schedule") = nb::none(),
      nb::arg("general") = false, "Index notation over {name: tensor}; `general`: by the general path alone.");
  m.def(
      "einsum",
      [](const std::string& spec, nb::args operands, nb::handle out, nb::handle alpha, nb::handle beta,
         nb::handle format, nb::handle semiring, nb::handle mask, bool complement_mask, nb::handle dtype,
         nb::handle compute_dtype, nb::handle schedule) -> nb::object {
        std::vector<Tensor> list;
        std::vector<int> ranks;
        std::vector<nb::handle> given;
        for (nb::handle h : operands) {
          list.push_back(to_operand(h));
          ranks.push_back(list.back().rank());
          given.push_back(h);
        }
        const Einsum e = parse_einsum(spec, ranks);
        EvaluateOptions options = options_of({format, semiring, mask, complement_mask, dtype, compute_dtype},
                                             static_cast<int>(e.output.size()));
        options.schedule = to_schedule(schedule);
        const Scalar a = to_scalar(alpha), b = beta.is_none() ? Scalar::of(std::int64_t{0}) : to_scalar(beta);
        if (!out.is_none()) {
          const Tensor written = to_output(out);
          NoGil no_gil;
          evaluate_into(e, list, written, options, a, b);
        }
        if (!out.is_none()) return nb::borrow(out);
        if (!b.is_zero())
          throw PlanError({.what = "beta scales what out holds, and there is no out",
                           .expected = "out=array, or no beta",
                           .fix = "give out="});
        Tensor result;
        {
          NoGil no_gil;
          result = evaluate(e, list, options, a);
        }
        return result_of(result, package_of(given));
      },
      nb::arg("spec"), nb::arg("operands"), nb::kw_only(), nb::arg("out") = nb::none(), nb::arg("alpha") = 1,
      nb::arg("beta") = nb::none(), nb::arg("format") = nb::none(), nb::arg("semiring") = nb::none(),
      nb::arg("mask") = nb::none(), nb::arg("complement_mask") = false, nb::arg("dtype") = nb::none(),
      nb::arg("compute_dtype") = nb::none(), nb::arg("schedule") = nb::none(),
      "NumPy's einsum over sparse and dense operands.");
  const auto define_text = [&m](const char* name, auto text_of, const char* doc) {
    m.def(
        name,
        [text_of](const std::string& spec, nb::dict operands, nb::handle format, nb::handle semiring, nb::handle mask,
                  bool complement_mask, nb::handle dtype, nb::handle compute_dtype, nb::handle schedule) {
          const Assignment a = parse_assignment(spec);
          check_names(spec, needed(a, operands), operands);
          const PlanOperands named = plan_operands(operands);
          EvaluateOptions options = options_of({format, semiring, mask, complement_mask, dtype, compute_dtype},
                                               static_cast<int>(a.indices.size()));
          options.schedule = to_schedule(schedule);
          std::string text;
          {
            NoGil no_gil;
            text = text_of(a, named, options);
          }
          return nb::module_::import_("strata._text").attr("Text")(text);
        },
        nb::arg("spec"), nb::arg("operands"), nb::kw_only(), nb::arg("format") = nb::none(),
        nb::arg("semiring") = nb::none(), nb::arg("mask") = nb::none(), nb::arg("complement_mask") = false,
        nb::arg("dtype") = nb::none(), nb::arg("compute_dtype") = nb::none(), nb::arg("schedule") = nb::none(), doc);
  };
  define_text(
      "explain", [](const auto& a, const auto& t, const auto& o) { return explain(a, t, o); },
      "Which way an expression goes, and why its result has its format.");
  define_text(
      "show", [](const auto& a, const auto& t, const auto& o) { return show(a, t, o); },
      "What is generated for an expression: loops, loop IR and C text of each step.");
  m.def(
      "operands_by_name",
      [](const std::string& spec, nb::dict operands) {
        std::vector<std::string> names;
        static_cast<void>(parse_index_notation(spec, names));
        check_names(spec, names, operands);
        nb::list out;
        for (const auto& n : names) out.append(operands[n.c_str()]);
        return nb::tuple(out);
      },
      nb::arg("spec"), nb::arg("operands"), "The operands of one product in order of appearance. ExpressionError.");
  m.def(
      "expression_operands",
      [](const std::string& spec) {
        nb::list out;
        for (const auto& name : needed(parse_assignment(spec), nb::dict())) out.append(name);
        return out;
      },
      nb::arg("spec"),
      "The operands that an assignment names, in order; of '+=' the result last. What may be an index is none. "
      "ExpressionError.");
  m.def(
      "print_assignment", [](const std::string& spec) { return parse_assignment(spec).to_string(); }, nb::arg("spec"),
      "An assignment as it is printed. ExpressionError.");
  m.def(
      "result_format",
      [](const std::string& spec, nb::dict operands) {
        std::map<std::string, TensorType> types;
        const PlanOperands given = plan_operands(operands);
        for (const auto& [name, operand] : given.by_name()) types.emplace(name, operand.type);
        const Assignment a = parse_assignment(spec);
        check_names(spec, needed(a, operands), operands);
        const ResultFormat r = on_a_large_stack(stack_for(a.value.depth()), [&] { return result_format(a, types); });
        return nb::make_tuple(r.format, r.why);
      },
      nb::arg("spec"), nb::arg("operands"), "The format that the result gets, and why. ExpressionError.");
}

}  // namespace strata::bind
