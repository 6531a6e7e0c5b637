// Products with a dense result that a kernel is written for.
#include "plan/expression/dense_plan.h"

#include <algorithm>

#include "base/checked.h"
#include "convert/convert_elements.h"
#include "plan/plan_impl.h"
#include "plan/rewrite/direct.h"

namespace strata::evaluation {
namespace {

constexpr std::int64_t long_sum = 1 << 16;  ///< elements; what shorter ones lose nobody sees

/// Why no plan serves, by what is asked for alone; empty where one may.
std::string refusal(const Einsum& e, std::span<const TensorType> operands, const Asked& options, const Format& result) {
  if (options.general) return "the general path is asked for";
  if (options.semiring != Semiring::plus_times) return "the semiring is " + options.semiring.to_string();
  if (options.mask) return "there is a mask";
  if (options.schedule) return "there is a schedule";
  const auto sparse =
      std::count_if(operands.begin(), operands.end(), [](const auto& t) { return !t.format.is_all_dense(); });
  if (sparse > 1) return std::to_string(sparse) + " operands are sparse";
  if (e.operands.size() == 1 && e.output.empty() && operands[0].dtype == DType::f64 &&
      checked_product(operands[0].shape).value_or(long_sum) >= long_sum)
    return "it is a long sum: loops that keep its digits serve";
  if (!(result == conversion::dense_format(static_cast<int>(e.output.size()))))
    return "the result is in " + result.to_string();
  return {};
}

PlanOptions plan_options(std::span<const TensorType> operands, const Asked& options, const Destination::Outline& to) {
  PlanOptions how{.compute_dtype = options.compute_dtype, .output_dtype = options.result_dtype};
  if (!to.dtype && !options.result_dtype) return how;
  DType product = operands.empty() ? DType::f64 : operands[0].dtype;
  for (const auto& t : operands) product = promote(product, t.dtype);
  if (options.result_dtype && !how.compute_dtype) how.compute_dtype = planning::accumulator(product);
  if (to.dtype) {  // it decides what is computed in, unless one was asked for
    check_kind(options.result_dtype.value_or(product), *to.dtype);
    how.output_dtype = to.dtype;
  }
  return how;
}

/// Types in the dtype that is computed in, by name.
std::map<std::string, TensorType> types_of(const Request& r) {
  std::map<std::string, TensorType> out;
  for (const auto& [name, t] : r.given) {
    TensorType type = t.type();
    type.dtype = r.dtypes.of(name, type.dtype);
    out.emplace(name, std::move(type));
  }
  return out;
}

Format wanted_format(const Request& r, const std::map<std::string, TensorType>& types) {
  if (r.to.dtype) return conversion::dense_format(static_cast<int>(r.assignment.indices.size()));
  return r.options().format ? *r.options().format : result_format(r.assignment, types, r.options()).format;
}

/// Operands of a product as a plan takes them.
std::vector<Lazy> loaded(const Dtypes& dtypes, std::span<const std::string> names, std::vector<Lazy> operands) {
  if (operands.empty()) return operands;
  DType product = operands[0].dtype();
  for (const Lazy& t : operands) product = promote(product, t.dtype());
  for (std::size_t k = 0; k < operands.size(); ++k) operands[k] = dtypes.loaded(names[k], operands[k], product);
  return operands;
}

}  // namespace

std::optional<DensePlan> dense_plan(const Request& r, std::string& why) {
  const auto no = [&](std::string reason) {
    why = std::move(reason);
    return std::nullopt;
  };
  const bool in_place = r.to.adds_in_place;
  if (r.assignment.accumulate && !in_place) return no("it adds to what is there");
  const auto types = types_of(r);
  std::vector<std::string> names;
  Scalar factor = Scalar::of(std::int64_t{1});
  const auto e =
      r.dtypes.asked() ? as_einsum(r.assignment, types, names) : as_scaled_einsum(r.assignment, types, names, factor);
  if (!e) return no("it is not one product of tensors");
  std::vector<Lazy> own;
  for (const auto& n : names) own.push_back(r.given.at(n));
  std::vector<Lazy> operands = loaded(r.dtypes, names, own);
  const std::vector<TensorType> list = types_of(operands);
  const Asked options = r.dtypes.plan_options();
  why = refusal(*e, list, options, wanted_format(r, types));
  if (!why.empty()) return std::nullopt;
  // Where a result is not scaled on its way into fresh memory, a product of many may go pair by pair.
  if (names.size() > 2 && (r.to.dtype || !r.to.scales) && direct::pays_in_pairs(r.assignment, r.given))
    return no("pair by pair it takes less than half of the multiply-adds");
  try {
    auto kernel = planning::kernel_plan(*e, list, plan_options(list, options, r.to), why);
    if (!kernel) return std::nullopt;
    DensePlan found{.plan = std::move(kernel->plan),
                    .long_rows = std::move(kernel->long_rows),
                    .einsum = *e,
                    .names = std::move(names),
                    .operands = std::move(operands),
                    .factor = factor,
                    .adds = in_place};
    found.lasting =
        !in_place && own.size() <= 2 &&
        std::ranges::equal(own, found.operands, [](const Lazy& a, const Lazy& b) { return a.same_object(b); });
    return found;
  } catch (const Unsupported& problem) { return no(problem.problem().what); }
}

}  // namespace strata::evaluation
