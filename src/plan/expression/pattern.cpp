#include "plan/expression/pattern.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/pool.h"
#include "base/checked.h"
#include "expr/chain.h"
#include "plan/expression/dtypes.h"
#include "plan/nest/flat.h"
#include "plan/rewrite/ones.h"
#include "strata/plan.h"
#include "strata/settings.h"
#include "tensor/is_fill.h"
#include "tensor/values.h"

namespace strata::evaluation {
namespace {

/// Do all summed indices stand in the same factors? Otherwise sums that come first may cost less than one nest of all.
bool one_sum(const ScaledEinsum& f) {
  for (const auto& indices : f.einsum.operands) {
    std::size_t here = 0;
    for (int i : f.summed) here += std::find(indices.begin(), indices.end(), i) != indices.end();
    if (here != 0 && here != f.summed.size()) return false;
  }
  return true;
}

/// Dense operands under a sparse mask are a product with ones in its pattern.
bool times_mask(Assignment& a, Operands& operands, const Asked& options) {
  if (!direct::is_factor(options, a.indices.size())) return false;
  std::optional<DType> dtype;
  for (const auto& name : a.value.operands()) {
    const Lazy& t = operands.at(name);
    if (!t.format().is_all_dense()) return false;
    dtype = dtype ? promote(*dtype, t.dtype()) : t.dtype();
  }
  if (!dtype || !(is_float(*dtype) || is_complex(*dtype))) return false;
  std::vector<std::string> reduced;
  Expression body = a.value;
  while (body.op() == Operator::sum) {  // floats: however it is written
    reduced.push_back(body.node().name);
    body = body.argument();
  }
  body = direct::mask_as_factor(*options.mask, *dtype, a.indices, operands) * body;
  for (auto i = reduced.rbegin(); i != reduced.rend(); ++i) body = Expression::reduce(Operator::sum, *i, body, true);
  a.value = body;
  return true;
}

/// Rows times numbers, where rows are short: generated code has one loop over all slots for that.
bool scales_short_rows(const ScaledEinsum& f, const Lazy& t, std::size_t walked) {
  const Format& format = t.format();
  if (!f.summed.empty() || format.num_levels() != 2 || format.num_parts() != 1 ||
      format.level(1).kind != LevelKind::compressed)
    return false;
  const ExprNode& rows = format.spec().exprs[static_cast<std::size_t>(format.level(0).expr)];
  if (rows.op != ExprNode::dim || f.names.size() < 2 ||
      t.nse() >= direct::short_row * t.shape()[static_cast<std::size_t>(rows.a)])
    return false;
  const int outer = f.einsum.operands[walked][static_cast<std::size_t>(rows.a)];
  for (std::size_t k = 0; k < f.names.size(); ++k)
    if (k != walked && std::ranges::any_of(f.einsum.operands[k], [&](int i) { return i != outer; })) return false;
  return true;
}

}  // namespace

std::optional<PatternProduct> product_in_pattern(const Assignment& given, const Operands& named, const Asked& options,
                                                 std::string& why) {
  const auto refuse = [&](const char* text) {
    why = text;
    return std::nullopt;
  };
  if (given.accumulate) return refuse("it adds to what is there");
  if (given.indices.empty()) return refuse("the result is a number");
  if (options.semiring != Semiring::plus_times) return refuse("it is over a semiring");
  Assignment a = given;
  Operands operands = named;
  if (options.mask && !times_mask(a, operands, options)) return refuse("there is a mask");
  bool floats = true;
  for (const auto& name : a.value.operands()) {
    const DType t = operands.at(name).dtype();
    floats = floats && (is_float(t) || is_complex(t));
  }
  std::optional<ScaledEinsum> flat = flatten(a, floats);
  if (!flat || flat->names.empty()) return refuse("it is not one product");
  if (!one_sum(*flat)) return refuse("its sums stand in different factors");
  Einsum& e = flat->einsum;

  std::vector<Lazy> list;
  std::vector<TensorType> types;
  std::map<std::string, TensorType> by_name;
  std::map<std::string, Shape> shapes;
  std::size_t walked = flat->names.size(), sparse = 0;
  DType dtype = operands.at(flat->names[0]).dtype();
  for (std::size_t k = 0; k < flat->names.size(); ++k) {
    const Lazy& t = operands.at(flat->names[k]);
    if (e.operands[k].size() != t.shape().size()) return refuse("ranks differ");  // the general path says it properly
    if (!t.format().is_all_dense()) {
      walked = k;
      ++sparse;
    }
    // A number meets one operand, not the product: False * 0.5 is a float64.
    if (flat->scaled && !is_float(t.dtype()) && !is_complex(t.dtype())) return refuse("it scales integers");
    dtype = promote(dtype, t.dtype());
    list.push_back(t);
    types.push_back(t.type());
    by_name.emplace(flat->names[k], t.type());
    shapes[flat->names[k]] = t.shape();
  }
  if (sparse != 1) return refuse(sparse ? "several operands are sparse" : "no operand is sparse");
  if (!types[walked].fill.is_zero()) return refuse("its fill is not 0");
  const bool continuous = dtype == DType::f64 || dtype == DType::f32 || is_complex(dtype);
  if (flat->scaled && !continuous) return refuse("it is scaled, and of integers");
  if (flat->complex && !is_complex(dtype)) return refuse("a complex number scales real ones");
  if (is_complex(dtype) && options.result_dtype && !is_complex(*options.result_dtype))
    return refuse("complex numbers become real ones");
  if (dtype == DType::boolean && options.result_dtype)
    return refuse("booleans become numbers");  // "or", and only then a number

  // The result's format must be the operand's own, its dimensions in the output's order.
  const auto& own = e.operands[walked];
  const auto extents = index_extents(a, shapes);
  if (own.size() != e.output.size()) return refuse("the result has not the indices of the sparse operand");
  std::vector<int> perm;
  for (int i : e.output) {
    const auto at = std::find(own.begin(), own.end(), i);
    if (at == own.end()) return refuse("the result has not the indices of the sparse operand");
    perm.push_back(static_cast<int>(at - own.begin()));
    if (types[walked].shape[static_cast<std::size_t>(perm.back())] != extents.at(e.names[static_cast<std::size_t>(i)]))
      return refuse("an extent of 1 is stretched");
  }
  const Format format = types[walked].format.transpose(perm);
  if (!(options.format ? *options.format == format
                       : result_format(a, by_name, options).format == planning::with_room(format)))
    return refuse("the result is in another format");

  const Lazy before = std::exchange(list[walked], added(list[walked], dtype));
  types[walked] = list[walked].type();
  PlanOptions how;
  how.pattern = true;
  how.output_dtype = options.result_dtype;  // sums in the operands' own dtype, as the general path
  if (options.result_dtype && *options.result_dtype != dtype) {
    const bool narrow = is_float(dtype) && size_of(dtype) < 4;
    how.compute_dtype = narrow ? DType::f32 : dtype;
  }
  try {
    Plan plan = make_plan(e, types, how);
    if (plan.kernel_name() == "interpreted" && settings().engine != "interpreter")
      return refuse("there is no compiler");
    if (!options.mask && scales_short_rows(*flat, list[walked], walked))
      return refuse("it scales short rows, for which one loop over all slots is faster");
    const bool real = flat->factor.imag() == 0, as_given = list[walked].same_object(before);
    return PatternProduct{.plan = std::move(plan),
                          .einsum = e,
                          .names = std::move(flat->names),
                          .operands = std::move(list),
                          .alpha = real ? Scalar::of(flat->factor.real()) : Scalar::of(flat->factor),
                          .lasting = as_given && !options.mask && !flat->summed.empty()};
  } catch (const Unsupported& problem) {
    why = problem.problem().what;
    return std::nullopt;
  }
}

Tensor run_in_pattern(const Plan& plan, std::span<const Tensor> operands, const Scalar& alpha) {
  Tensor out = plan.run(operands, alpha);
  if (!out.format().can_hold_fill() || !(is_float(out.dtype()) || is_complex(out.dtype()))) return out;
  // Fill-in has no sign: -1 * 0 is 0 there, as where nothing is stored. So do loops of ours leave it, unless they are
  // rounded to less.
  const bool ours = plan.kernel_name() == "compiled" || plan.kernel_name() == "interpreted";
  const bool same = std::ranges::all_of(operands, [&](const Tensor& t) { return t.dtype() == out.dtype(); });
  if (ours && same && size_of(out.dtype()) >= 4) return out;
  for (int k = 0; k < out.num_parts(); ++k) {
    const Buffer& values = out.part(k).values;
    with_width(size_of(values.dtype), [&]<class T>(T) {
      const IsFill<T> is_zero(Scalar::zero(values.dtype));
      T* const v = static_cast<T*>(values.data);
      constexpr std::int64_t chunk = 1 << 16;
      parallel_for(ceil_div(values.size, chunk), [&](std::int64_t c) {
        for (std::int64_t i = c * chunk, end = std::min(values.size, i + chunk); i < end; ++i)
          v[i] = is_zero(v[i]) ? T{} : v[i];
      });
    });
  }
  return out;
}

}  // namespace strata::evaluation
