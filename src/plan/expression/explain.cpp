// What explain() and show() say of a plan.
#include <cstdio>

#include "expr/depth.h"
#include "plan/expression/planning.h"

namespace strata {

std::string evaluation::heading(const Assignment& a, const Operands& operands, const Dtypes& dtypes) {
  const Asked& options = dtypes.options();
  std::map<std::string, TensorType> types;
  for (const auto& [name, t] : operands) types.emplace(name, t.type()).first->second.dtype = dtypes.of(name, t.dtype());
  std::string out = a.to_string() + "\n";
  for (const auto& name : a.value.operands()) out += "  " + name + "  " + types.at(name).to_string() + "\n";
  const ResultFormat inferred = planning::result_format(a, types, options);
  const Format format = options.format.value_or(inferred.format);
  const std::string name = format.name();
  out += "result  " +
         (format.is_all_dense() ? "dense"
          : name.empty()        ? format.to_string()
                                : name) +
         ": " + (options.format ? "as asked for" : inferred.why) + "\n";
  if (options.semiring != Semiring::plus_times) out += "semiring  " + options.semiring.to_string() + "\n";
  if (options.mask)
    out += std::string("mask  ") + (options.complement_mask ? "complement of " : "") +
           options.mask->type().to_string() + "\n";
  return out;
}

/// "1.5e+10", "12".
static std::string about(double n) {
  char text[32];
  std::snprintf(text, sizeof text, n < 1e6 ? "%.0f" : "%.1e", n);
  return text;
}
static std::string bytes(double n) {
  const char* const units[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t u = 0;
  for (; n >= 1000 && u + 1 < std::size(units); ++u) n /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, n < 10 && u > 0 ? "%.1f %s" : "%.0f %s", n, units[u]);
  return text;
}

std::string evaluation::cost(const planning::Program& program, double bytes_of_operands) {
  const planning::Lazy& result = program.result();
  return "about " + about(program.work()) + " innermost iterations; operands of " + bytes(bytes_of_operands) +
         ", a result of " + bytes(planning::bytes_of(result.type(), result.stats())) + "\n" + program.reuse();
}

std::string explain(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options) {
  return make_plan(a, operands, options).explain();
}

std::string show(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options) {
  return make_plan(a, operands, options).show();
}

}  // namespace strata
