// The general path: whole expressions over any formats.
#include "evaluate.h"

#include <algorithm>

namespace strata::bind {
namespace {

bool is_sparse(const Tensor& t) { return !t.format().is_all_dense(); }

EvaluateOptions options_of(nb::handle format, nb::handle semiring, nb::handle mask, bool complement_mask,
                           nb::handle dtype, int rank) {
  EvaluateOptions o;
  if (!format.is_none()) o.format = to_format(format, rank);
  if (!semiring.is_none()) o.semiring = parse_semiring(nb::cast<std::string>(semiring));
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
