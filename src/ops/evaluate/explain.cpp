// Which way an expression goes, and what is generated for it.
#include "expr/depth.h"
#include "ops/direct/direct.h"
#include "ops/evaluate/dtypes.h"
#include "ops/evaluate/front.h"
#include "ops/evaluate/index_values.h"
#include "ops/evaluate/mask.h"
#include "ops/evaluate/padded.h"
#include "ops/evaluate/ways.h"
#include "plan/trace.h"
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

static std::string explain_here(const Assignment& a, const std::map<std::string, Tensor>& given,
                                const EvaluateOptions& asked) {
  EvaluateOptions own = evaluation::with_true_mask(asked);
  const evaluation::Dtypes dtypes(a, given, own);
  const EvaluateOptions& options = dtypes.options();
  std::map<std::string, TensorType> types;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : given) {
    types.emplace(name, t.type()).first->second.dtype = dtypes.of(name, t.dtype());
    shapes.emplace(name, t.shape());
  }
  static_cast<void>(index_extents(a, shapes));
  std::string out = a.to_string() + "\n";
  for (const auto& name : a.value.operands()) out += "  " + name + "  " + types.at(name).to_string() + "\n";
  const ResultFormat inferred = result_format(a, types, options);
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

std::string explain(const Assignment& a, const std::map<std::string, Tensor>& operands,
                    const EvaluateOptions& options) {
  if (const auto whole = evaluation::with_index_values(a, operands))
    return explain(whole->assignment, whole->operands, options);
  return on_a_large_stack(stack_for(a.value.depth()), [&] {
    evaluation::check_names(a, operands);
    const auto inside = evaluation::with_padding(a, operands, options);
    return inside ? a.to_string() + "\npadded first, and then\n" +
                        explain_here(inside->assignment, inside->operands, inside->options)
                  : explain_here(a, operands, options);
  });
}

std::string show(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  return on_a_large_stack(2 * stack_for(a.value.depth()), [&] {  // as a whole: a trace belongs to one thread
    const planning::Trace trace;
    static_cast<void>(evaluate(a, operands, options));
    return trace.text();
  });
}

}  // namespace strata
