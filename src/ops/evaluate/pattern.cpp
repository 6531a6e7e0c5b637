#include "ops/evaluate/pattern.h"

#include <algorithm>
#include <set>

#include "ops/evaluate/contract.h"
#include "strata/plan.h"
#include "strata/settings.h"

namespace strata::evaluation {
namespace {

/// An assignment as an einsum with a factor in front, as far as it is one.
struct Flat {
  Einsum einsum;
  std::vector<std::string> names;  ///< of the operands
  std::complex<double> factor = 1;
  bool scaled = false;
  std::set<int> summed;
};

/// A product under sums, of plain accesses (or their conjugates) and numbers.
std::optional<Flat> flatten(const Assignment& a) {
  Flat out;
  std::map<std::string, int> numbers;
  const auto number = [&](const std::string& name) {
    const auto [it, fresh] = numbers.try_emplace(name, out.einsum.num_indices);
    if (fresh) {
      ++out.einsum.num_indices;
      out.einsum.names.push_back(name);
    }
    return it->second;
  };
  for (const auto& i : a.indices) out.einsum.output.push_back(number(i));
  Expression body = a.value;
  while (body.op() == Operator::sum) {
    if (!body.node().implicit || !out.summed.insert(number(body.node().name)).second) return std::nullopt;
    body = body.argument();
  }
  for (const Expression& f : factors_of(body)) {
    const bool conjugate = f.op() == Operator::conjugate;
    const Expression& e = conjugate ? f.argument() : f;
    if (e.op() == Operator::constant && !conjugate) {
      out.factor *= e.node().is_integer ? static_cast<double>(e.node().integer) : e.node().value;
      out.scaled = true;
      continue;
    }
    if (e.op() != Operator::access) return std::nullopt;
    std::vector<int> indices;
    for (const auto& i : e.node().indices) {
      if (!i.is_plain()) return std::nullopt;
      indices.push_back(number(i.terms[0].index));
    }
    out.names.push_back(e.node().name);
    out.einsum.operands.push_back(std::move(indices));
    out.einsum.conjugate.push_back(conjugate);
  }
  return out;
}

/// Do all summed indices stand in the same factors? Otherwise sums that come first may cost less than one nest of all.
bool one_sum(const Flat& f) {
  for (const auto& indices : f.einsum.operands) {
    std::size_t here = 0;
    for (int i : f.summed) here += std::find(indices.begin(), indices.end(), i) != indices.end();
    if (here != 0 && here != f.summed.size()) return false;
  }
  return true;
}

}  // namespace

std::optional<Tensor> product_in_pattern(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                         const EvaluateOptions& options) {
  if (a.accumulate || a.indices.empty() || options.mask || options.semiring != Semiring::plus_times) return {};
  std::optional<Flat> flat = flatten(a);
  if (!flat || flat->names.empty() || !one_sum(*flat)) return {};
  Einsum& e = flat->einsum;

  std::vector<Tensor> list;
  std::vector<TensorType> types;
  std::map<std::string, TensorType> by_name;
  std::map<std::string, Shape> shapes;
  std::size_t walked = flat->names.size(), sparse = 0;
  DType dtype = operands.at(flat->names[0]).dtype();
  for (std::size_t k = 0; k < flat->names.size(); ++k) {
    const Tensor& t = operands.at(flat->names[k]);
    if (e.operands[k].size() != t.shape().size()) return {};  // the general path says what is wrong
    if (!t.format().is_all_dense()) {
      walked = k;
      ++sparse;
    }
    dtype = promote(dtype, t.dtype());
    list.push_back(t);
    types.push_back(t.type());
    by_name.emplace(flat->names[k], t.type());
    shapes[flat->names[k]] = t.shape();
  }
  if (sparse != 1 || !types[walked].fill.is_zero()) return {};
  const bool continuous = dtype == DType::f64 || dtype == DType::f32 || is_complex(dtype);
  if (flat->scaled && !continuous) return {};
  if (is_complex(dtype) && options.dtype && !is_complex(*options.dtype)) return {};
  if (dtype == DType::boolean && options.dtype) return {};  // "or", and only then a number

  // The result's format must be the operand's own, its dimensions in the output's order.
  const auto& own = e.operands[walked];
  const auto extents = index_extents(a, shapes);
  if (own.size() != e.output.size()) return {};
  std::vector<int> perm;
  for (int i : e.output) {
    const auto at = std::find(own.begin(), own.end(), i);
    if (at == own.end()) return {};
    perm.push_back(static_cast<int>(at - own.begin()));
    if (types[walked].shape[static_cast<std::size_t>(perm.back())] != extents.at(e.names[static_cast<std::size_t>(i)]))
      return {};
  }
  const Format format = types[walked].format.transpose(perm);
  if (!((options.format ? *options.format : result_format(a, by_name, options).format) == format)) return {};

  PlanOptions how;
  how.pattern = true;
  how.output_dtype = options.dtype;  // sums in the operands' own dtype, as the general path
  if (options.dtype && *options.dtype != dtype) {
    const bool narrow = is_float(dtype) && size_of(dtype) < 4;
    how.compute_dtype = narrow ? DType::f32 : dtype;
  }
  try {
    const Plan plan = make_plan(e, types, how);
    if (plan.kernel_name() == "interpreted" && settings().engine != "interpreter") return {};
    const bool real = flat->factor.imag() == 0;
    return plan.run(list, real ? Scalar::of(flat->factor.real()) : Scalar::of(flat->factor));
  } catch (const Unsupported&) {
    return {};
  }
}

}  // namespace strata::evaluation
