// Expressions that compute nothing: conversions.
#include "ops/evaluate/conversion.h"

#include <algorithm>

#include "ops/evaluate/ways.h"
#include "plan/trace.h"
#include "strata/ops.h"

namespace strata::evaluation {

std::optional<Conversion> as_conversion(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                        const EvaluateOptions& options, std::string& why) {
  const auto no = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (a.accumulate || a.value.op() != Operator::access) return no("it is not one operand as it is");
  if (options.mask || options.semiring != Semiring::plus_times) return no("there is a mask or a semiring");
  const Tensor& t = operands.at(a.value.node().name);
  if (options.result_dtype && *options.result_dtype != t.dtype()) return no("the result has another dtype");
  Conversion c{a.value.node().name, {}, wanted_format(a, operands, options)};
  const auto& indices = a.value.node().indices;
  if (indices.size() != a.indices.size()) return no("an index occurs twice, or is new");
  for (const std::string& name : a.indices) {
    const auto at = std::find_if(indices.begin(), indices.end(),
                                 [&](const AffineIndex& i) { return i.is_plain() && i.terms[0].index == name; });
    if (at == indices.end()) return no("an index is not plain");
    c.order.push_back(static_cast<int>(at - indices.begin()));
  }
  return c;
}

std::optional<Tensor> converted(const Assignment& a, const std::map<std::string, Tensor>& operands,
                                const EvaluateOptions& options, std::string& why) {
  const auto c = as_conversion(a, operands, options, why);
  if (!c) return std::nullopt;
  planning::Trace::add("a conversion: " + a.to_string(), "to " + c->format.to_string() + "\n");
  const Tensor source = operands.at(c->operand).transpose(c->order);
  Tensor result = convert(source, c->format, {.zeros = Zeros::keep});
  // What a conversion may share with its source is here a result, which its owner may write to.
  std::vector<Part> parts;
  for (int k = 0; k < result.num_parts(); ++k) {
    parts.push_back(result.part(k));
    for (int s = 0; s < source.num_parts(); ++s)
      if (parts.back().values.data == source.part(s).values.data)
        parts.back().values = parts.back().values.cast(result.dtype());
  }
  return make_from_parts(result.type(), std::move(parts));
}

}  // namespace strata::evaluation
