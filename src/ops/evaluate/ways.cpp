#include "ops/evaluate/ways.h"

#include "ops/direct/direct.h"
#include "ops/evaluate/block_product.h"
#include "ops/evaluate/conversion.h"
#include "ops/evaluate/dense_plan.h"
#include "ops/evaluate/matrix_sum.h"
#include "ops/evaluate/pattern.h"
#include "ops/reference/reference.h"
#include "plan/trace.h"
#include "strata/settings.h"

namespace strata::evaluation {
namespace {

using Why = std::string&;
using Text = std::optional<std::string>;
using Result = std::optional<Tensor>;

/// A way that says the same however it serves: `as` looks whether it does.
template <class F> Text fixed(const Request& r, Why why, const F& as, const char* text) {
  return as(r.assignment, r.operands(), r.options(), why) ? Text(text) : std::nullopt;
}

Result by_plan(const Request& r, Why why) {
  auto found = dense_plan(r, why);
  if (!found) return std::nullopt;
  if (planning::Trace::on()) planning::Trace::add("a plan: " + found->plan.kernel_name(), found->plan.show());
  Tensor result = run_plan(found->plan, found->operands, found->to);
  if (found->lasting)
    r.found = Remembered{std::move(found->plan), std::move(found->names), types_of(found->operands), {}, found->factor};
  return result;
}

Text explain_by_plan(const Request& r, Why why) {
  const auto found = dense_plan(r, why);
  if (!found) return std::nullopt;
  const std::string scaled = found->factor.to_complex() == 1.0
                                 ? ""
                                 : ", its sums multiplied by " + found->factor.to_string() + " as they are stored";
  return " serves" + scaled + called(found->names, r.assignment.name) + ":\n" + indented(found->plan.explain());
}

Result in_pattern(const Request& r, Why why) {
  auto product = product_in_pattern(r.assignment, r.operands(), r.options(), why);
  if (!product) return std::nullopt;
  if (planning::Trace::on()) planning::Trace::add("in the pattern of the sparse operand", product->plan.show());
  Tensor result = run_in_pattern(product->plan, product->operands, product->alpha);
  if (product->lasting)
    r.found = Remembered{std::move(product->plan), std::move(product->names), types_of(product->operands),
                         product->alpha, Scalar::of(std::int64_t{1})};
  return result;
}

Text explain_in_pattern(const Request& r, Why why) {
  const auto product = product_in_pattern(r.assignment, r.operands(), r.options(), why);
  if (!product) return std::nullopt;
  return " serves" + (r.options().mask ? "" : called(product->names, r.assignment.name)) + ":\n" +
         indented(product->plan.explain());
}

Text explain_generated(const Request& r, Why why) {
  const auto text = direct::explain(r.assignment, r.operands(), r.options(), why);
  return text ? Text(" serves:\n" + indented(*text)) : std::nullopt;
}

const Way table[] = {
    {"a plan", by_plan, explain_by_plan, true},
    {"a plan in the pattern of the sparse operand", in_pattern, explain_in_pattern},
    {"a conversion", [](const Request& r, Why why) { return converted(r.assignment, r.operands(), r.options(), why); },
     [](const Request& r, Why why) { return fixed(r, why, as_conversion, " serves: there is nothing to compute\n"); }},
    {"rows times matrices",
     [](const Request& r, Why why) { return block_product(r.assignment, r.operands(), r.options(), why); },
     [](const Request& r, Why why) {
       return fixed(r, why, as_block_product, ", by hand-written loops, serves: rows with the same matrix together\n");
     }},
    {"a sum of matrices",
     [](const Request& r, Why why) { return matrix_sum(r.assignment, r.operands(), r.options(), why); },
     [](const Request& r, Why why) {
       return fixed(r, why, as_matrix_sum,
                    ", by hand-written loops, serves: two at a time, a vector of either at a time\n");
     }},
    {"generated code for the whole expression",
     [](const Request& r, Why why) { return direct::evaluate(r.assignment, r.operands(), r.options(), why); },
     explain_generated},
    {"the general path",
     [](const Request& r, Why) { return Result(reference(r.assignment, r.operands(), r.options())); },
     [](const Request&, Why) { return Text(" serves: right for every expression, some 0.4 us a product\n"); }},
};

}  // namespace

std::span<const Way> ways(const EvaluateOptions& options) {
  const std::span<const Way> all = table;
  return options.general ? all.last(1) : all;
}

Request::Request(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
                 const Destination& destination, const Einsum* e)
    : assignment(a), given(operands), einsum(e), to(destination), dtypes(a, operands, options) {
  options_ = dtypes.options();
  if (to.out) options_.format.reset();
}

const std::map<std::string, Tensor>& Request::operands() const {
  if (!dtypes.asked()) return given;
  if (!cast_) cast_ = dtypes.cast(given);
  return *cast_;
}

Tensor by_first_way(const Request& r) {
  if (r.options().schedule && !r.options().general)
    return delivered(direct::evaluate_scheduled(r.assignment, r.operands(), r.options()), r.to);
  std::string why;
  for (const Way& way : ways(r.options()))
    if (auto result = way.result(r, why)) return way.delivers ? *std::move(result) : delivered(*result, r.to);
  throw InternalError("the general path refused: " + why);
}

const char* hand_written_refusal(const Assignment& a, const EvaluateOptions& options) {
  if (a.accumulate || options.mask || options.schedule || options.semiring != Semiring::plus_times)
    return "there is a mask, a schedule, a semiring or something to add to";
  const std::string& engine = settings().engine;
  return engine == "jit" || engine == "interpreter" ? "settings().engine asks for generated code" : nullptr;
}

std::vector<TensorType> types_of(std::span<const Tensor> operands) {
  std::vector<TensorType> out;
  for (const auto& t : operands) out.push_back(t.type());
  return out;
}

std::string indented(const std::string& text) {
  std::string out, line;
  for (char c : text) {
    line += c;
    if (c != '\n') continue;
    out += "    " + line;
    line.clear();
  }
  return line.empty() ? out : out + "    " + line + "\n";
}

std::string called(const std::vector<std::string>& names, const std::string& result) {
  std::string out;
  for (std::size_t k = 0; k <= names.size(); ++k) {
    const std::string &own = k < names.size() ? names[k] : result, plan = operand_name(k);
    if (own != plan) out += (out.empty() ? " (where " : ", ") + plan + " is " + own;
  }
  return out.empty() ? out : out + ")";
}

}  // namespace strata::evaluation
