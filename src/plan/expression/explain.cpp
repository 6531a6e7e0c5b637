// Which way an expression goes, and what is generated for it.
#include <cstdio>

#include "expr/depth.h"
#include "plan/expression/dtypes.h"
#include "plan/expression/front.h"
#include "plan/expression/planning.h"
#include "plan/expression/ways.h"
#include "plan/rewrite/direct.h"
#include "plan/rewrite/index_values.h"
#include "plan/rewrite/mask.h"
#include "plan/rewrite/padded.h"
#include "plan/rewrite/steps.h"
#include "strata/plan.h"

namespace strata {
namespace {

/// The first way that serves, behind those that do not.
std::string ways(const evaluation::Request& request) {
  std::string out, why;
  for (const evaluation::Way& way : evaluation::ways(request.options())) {
    if (const auto text = way.explain(request, why)) return out + "  " + way.name + *text;
    out += std::string("  ") + way.name + ": no, " + why + "\n";
  }
  return out;
}

}  // namespace

static std::string explain_here(const Assignment& a, const evaluation::Operands& given,
                                const evaluation::Asked& asked) {
  evaluation::Asked own = asked;
  const evaluation::Dtypes dtypes(a, given, own);
  const evaluation::Asked& options = dtypes.options();
  std::map<std::string, TensorType> types;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : given) {
    types.emplace(name, t.type()).first->second.dtype = dtypes.of(name, t.dtype());
    shapes.emplace(name, t.shape());
  }
  static_cast<void>(index_extents(a, shapes));
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
  own.format = format;
  const evaluation::Request request(a, given, own);
  if (options.schedule && !options.general) return out + direct::explain_scheduled(a, request.operands(), options);
  return out + "ways, in the order tried\n" + ways(request);
}

std::string direct::explained(const Assignment& a, const Operands& operands, const Asked& asked) {
  if (const auto whole = evaluation::with_index_values(a, operands))
    return explained(whole->assignment, whole->operands, asked);
  return on_a_large_stack(stack_for(a.value.depth()), [&] {
    evaluation::check_names(a, operands);
    const auto inside = evaluation::with_padding(a, operands, asked);
    return inside ? a.to_string() + "\npadded first, and then\n" +
                        explain_here(inside->assignment, inside->operands, inside->options)
                  : explain_here(a, operands, asked);
  });
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

std::string evaluation::explained(const Assignment& a, const Planned& planned) {
  auto seen = see(planned.given, planned.question.has_mask);
  double read = 0;
  for (const auto& [name, t] : seen.operands) read += planning::bytes_of(t.type(), t.stats());
  const planning::Lazy& result = planned.program->result();
  return direct::explained(a, seen.operands, with_true_mask(asked_of(planned.question, std::move(seen.mask)))) +
         "about " + about(planned.program->work()) + " innermost iterations; operands of " + bytes(read) +
         ", a result of " + bytes(planning::bytes_of(result.type(), result.stats())) + "\n" + planned.program->reuse();
}

std::string explain(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options) {
  return on_a_large_stack(stack_for(a.value.depth()), [&] {
    evaluation::check_names(a, operands.by_name());
    return evaluation::explained(
        a, evaluation::plan_for(a, evaluation::question_of(a, options), evaluation::describe(operands, options.mask)));
  });
}

std::string show(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options) {
  return on_a_large_stack(2 * stack_for(a.value.depth()), [&] {
    evaluation::check_names(a, operands.by_name());
    return evaluation::plan_for(a, evaluation::question_of(a, options), evaluation::describe(operands, options.mask))
        .program->code();
  });
}

}  // namespace strata
