// Expressions that compute nothing: conversions.
#include "plan/expression/conversion.h"

#include <algorithm>

#include "plan/expression/ways.h"
#include "plan/lazy_convert.h"
#include "strata/convert.h"

namespace strata::evaluation {

std::optional<Conversion> as_conversion(const Assignment& a, const Operands& operands, const Asked& options,
                                        std::string& why) {
  const auto no = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (a.accumulate || a.value.op() != Operator::access) return no("it is not one operand as it is");
  if (options.mask || options.semiring != Semiring::plus_times) return no("there is a mask or a semiring");
  const Lazy& t = operands.at(a.value.node().name);
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

namespace {

/// What a conversion may share with its source is here a result, which its owner may write to.
Tensor with_own_memory(const Tensor& source, const Tensor& result) {
  std::vector<Part> parts;
  for (int k = 0; k < result.num_parts(); ++k) {
    parts.push_back(result.part(k));
    for (int s = 0; s < source.num_parts(); ++s)
      if (parts.back().values.data == source.part(s).values.data)
        parts.back().values = parts.back().values.cast(result.dtype());
  }
  return make_from_parts(result.type(), std::move(parts));
}

}  // namespace

std::optional<Lazy> converted(const Assignment& a, const Operands& operands, const Asked& options, std::string& why) {
  const auto c = as_conversion(a, operands, options, why);
  if (!c) return std::nullopt;
  const Lazy& t = operands.at(c->operand);
  TensorType from = t.type();
  for (std::size_t d = 0; d < c->order.size(); ++d) from.shape[d] = t.shape()[static_cast<std::size_t>(c->order[d])];
  TensorType type = converted_type(from, t.stats().stored, c->format);
  auto stats = planning::stats_for(type, t.stats().stored);
  Lazy::Step step{
      .inputs = {t},
      .make =
          [order = c->order, format = c->format](Lazy::Inputs& in) {
            const Tensor source = in[0].transpose(order);
            return with_own_memory(source, convert(source, format, {.zeros = Zeros::keep}));
          },
      .code = [text = a.to_string(),
               format = c->format] { return std::pair("a conversion: " + text, "to " + format.to_string() + "\n"); },
      .work = t.stats().stored};
  return Lazy::made(std::move(type), std::move(stats), std::move(step));
}

}  // namespace strata::evaluation
