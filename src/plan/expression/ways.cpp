#include "plan/expression/ways.h"

#include <algorithm>

#include "plan/expression/block_product.h"
#include "plan/expression/conversion.h"
#include "plan/expression/dense_plan.h"
#include "plan/expression/facts.h"
#include "plan/expression/matrix_sum.h"
#include "plan/plan_impl.h"
#include "plan/rewrite/direct.h"
#include "reference/reference.h"
#include "strata/settings.h"

namespace strata::evaluation {
namespace {

using Why = std::string&;
using Result = std::optional<Explained>;

/// A way that says the same however it serves.
Result saying(const char* text, std::optional<Lazy> result) {
  if (!result) return std::nullopt;
  return Explained{*std::move(result), [text] { return text; }};
}

/// Innermost iterations of a product: of its sparse operand's slots, or of everything.
double work_of(const Einsum& e, std::span<const Lazy> operands) {
  std::vector<double> extents(static_cast<std::size_t>(e.num_indices), 1);
  for (std::size_t k = 0; k < operands.size(); ++k)
    for (std::size_t d = 0; d < e.operands[k].size(); ++d) {
      auto& n = extents[static_cast<std::size_t>(e.operands[k][d])];
      n = std::max(n, static_cast<double>(operands[k].shape()[d]));
    }
  double out = 1;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].format().is_all_dense()) continue;
    out = operands[k].stats().slots;
    for (const int i : e.operands[k]) extents[static_cast<std::size_t>(i)] = 1;
  }
  for (const double n : extents) out *= n;
  return out;
}

constexpr const char *written_kernel = "a written kernel", *rows_times_matrices = "rows times matrices",
                     *sum_of_matrices = "a sum of matrices", *generated_code = "generated code";

Result by_kernel(const Request& r, Why why) {
  auto found = dense_plan(r, why);
  if (!found) return std::nullopt;
  // What is made on the way may be stored otherwise than was planned.
  const bool as_given = std::ranges::all_of(found->operands, [](const Lazy& t) { return t.position() >= 0; });
  const auto run = [plan = found->plan, factor = found->factor, adds = found->adds, as_given, rows = found->long_rows](
                       Lazy::Inputs& in, Destination to) -> std::optional<Tensor> {
    if (rows && planning::has_long_rows(in[rows->operand], rows->in_output)) return std::nullopt;
    to = times(to, factor);
    if (adds) to.beta = Scalar::of(std::int64_t{1});
    return run_plan(as_given ? plan : planning::fitted(plan, in), in, to);
  };
  Lazy::Step step{.inputs = found->operands,
                  .make = [run](Lazy::Inputs& in) { return run(in, {}); },
                  .deliver = run,
                  .code = [plan = found->plan] { return std::pair("a kernel: " + plan.kernel_name(), plan.show()); },
                  .work = work_of(found->einsum, found->operands)};
  if (found->long_rows) step.otherwise = r.by_ways_behind(written_kernel);
  if (as_given && !found->adds && found->factor.to_complex() == 1.0 && !found->long_rows) step.kernel = found->plan;
  const TensorType type = found->plan.output_type();
  r.by_types = found->lasting;
  r.way = found->plan.kernel_name();
  const auto text = [plan = found->plan, factor = found->factor, names = found->names, result = r.assignment.name,
                     rows = found->long_rows] {
    const std::string scaled =
        factor.to_complex() == 1.0 ? "" : ", its sums multiplied by " + factor.to_string() + " as they are stored";
    const std::string guard = !rows ? ""
                                    : "guard: at most " + std::to_string(planning::long_sum) + " elements of " +
                                          names[rows->operand] +
                                          " meet at one place of the result; otherwise by generated code, which keeps "
                                          "the digits of their sums\n";
    return " serves" + scaled + called(names, result) + ":\n" + indented(plan.explain() + guard);
  };
  return Explained{Lazy::made(type, planning::stats_for(type, 0), std::move(step)), text};
}

Result generated(const Request& r, Why why) {
  auto found = direct::plan(r.assignment, r.operands(), r.options(), r.by_ways_behind(generated_code), why);
  if (found) found->text = [text = std::move(found->text)] { return " serves:\n" + indented(text()); };
  return found;
}

Result general(const Request& r, Why) {
  std::map<std::string, TensorType> types;
  Lazy::Step step;
  std::vector<std::string> names;
  for (const auto& [name, t] : r.operands()) {
    types.emplace(name, t.type());
    names.push_back(name);
    step.inputs.push_back(t);
  }
  if (r.options().mask) step.inputs.push_back(*r.options().mask);
  TensorType type = type_of_result(r.assignment, types, r.options());
  Asked asked = r.options();
  asked.format = type.format;
  step.make = [a = r.assignment, names, asked](Lazy::Inputs& in) {
    std::map<std::string, Tensor> operands;
    for (std::size_t k = 0; k < names.size(); ++k) operands.emplace(names[k], in[k]);
    return reference(a, operands, planning::options_of(asked, asked.mask ? std::optional(in.back()) : std::nullopt));
  };
  step.code = [text = r.assignment.to_string()] {
    return std::pair(std::string("the general path (nothing is generated)"), text + "\n");
  };
  double stored = 0;
  for (const auto& [name, t] : r.operands()) {
    stored = std::max(stored, t.stats().stored);
    step.work += t.stats().stored;
  }
  auto stats = planning::stats_for(type, stored);
  return saying(" serves: right for every expression, some 0.4 us a product\n",
                Lazy::made(std::move(type), std::move(stats), std::move(step)));
}

const Way table[] = {
    {written_kernel, by_kernel},
    {"a conversion",
     [](const Request& r, Why why) {
       return saying(" serves: there is nothing to compute\n", converted(r.assignment, r.operands(), r.options(), why));
     }},
    {rows_times_matrices,
     [](const Request& r, Why why) {
       return saying(
           ", by hand-written loops, serves: rows with the same matrix together\n",
           block_product(r.assignment, r.operands(), r.options(), r.by_ways_behind(rows_times_matrices), why));
     }},
    {sum_of_matrices,
     [](const Request& r, Why why) {
       return saying(", by hand-written loops, serves: two at a time, a vector of either at a time\n",
                     matrix_sum(r.assignment, r.operands(), r.options(), r.by_ways_behind(sum_of_matrices), why));
     }},
    {generated_code, generated},
    {"the general path", general},
};

std::size_t position(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(table, name, &Way::name) - std::begin(table));
}

/// By the first of these that serves.
Explained by_first(const Request& r, std::span<const Way> candidates) {
  std::string refused = "ways, in the order tried\n";
  for (const Way& way : candidates) {
    std::string why;
    if (auto result = way.plan(r, why)) {
      if (r.way.empty()) r.way = way.name;
      result->text = [before = refused + "  " + way.name, text = std::move(result->text)] { return before + text(); };
      return *std::move(result);
    }
    const auto line = std::min(why.find('\n'), why.size());  // further ones stand below it
    refused += std::string("  ") + way.name + ": no, " + why.substr(0, line) + "\n" +
               indented(why.substr(std::min(line + 1, why.size())));
  }
  throw InternalError("the general path refused: " + refused);
}

}  // namespace

Request::Request(const Assignment& a, const Operands& operands, const Asked& asked, const Destination::Outline& target)
    : assignment(a), given(operands), to(target), dtypes(a, operands, asked) {
  options_ = dtypes.options();
  if (to.dtype) options_.format.reset();
}

const Operands& Request::operands() const {
  if (!dtypes.asked()) return given;
  if (!cast_) cast_ = dtypes.cast(given);
  return *cast_;
}

std::function<Lazy()> Request::by_ways_behind(std::string_view name) const {
  return [a = assignment, operands = operands(), asked = options(),
          rest = std::span<const Way>(table).subspan(position(name) + 1)] {
    return by_first(Request(a, operands, asked), rest).lazy;
  };
}

Explained by_first_way(const Request& r) {
  const std::span<const Way> all = table;
  if (r.options().general) return by_first(r, all.last(1));
  if (r.options().schedule) return direct::planned_as_scheduled(r.assignment, r.operands(), r.options());
  if (r.options().generated) return by_first(r, all.subspan(position(generated_code)));
  return by_first(r, all);
}

const char* hand_written_refusal(const Assignment& a, const Asked& options) {
  if (a.accumulate || options.mask || options.schedule || options.semiring != Semiring::plus_times)
    return "there is a mask, a schedule, a semiring or something to add to";
  const std::string& engine = settings().engine;
  return engine == "jit" || engine == "interpreter" ? "settings().engine asks for generated code" : nullptr;
}

std::vector<TensorType> types_of(std::span<const Lazy> operands) {
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
