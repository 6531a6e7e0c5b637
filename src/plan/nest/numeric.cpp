// The numeric phase of a unit: its values over the pattern of an earlier result.
#include "plan/nest/run.h"

namespace strata::direct {

std::vector<int> LoopNest::result_variables() const {
  std::vector<int> out;
  for (int v = 0; v < input().num_vars; ++v)
    if (!input().summed[static_cast<std::size_t>(v)]) out.push_back(v);
  return out;
}

std::string LoopNest::no_numeric_phase(const Format& wanted) const {
  if (o_.along >= 0) return "the result is gathered by diagonals";
  if (o_.dense_result) return "the result is dense at first";
  if (o_.blocks || o_.dense_tail > 0) return "the result is in blocks";
  if (!(format(result_variables().size()) == wanted)) return "the result is converted at the end";
  return {};
}

std::optional<Tensor> run_unit_in_pattern_of(const Tensor& earlier, const Unit& unit, const Order& order,
                                             std::span<const Tensor> operands) {
  if (order.pattern >= 0) return std::nullopt;
  return Run(unit, order, operands).run_in_pattern_of(earlier);
}

std::string no_numeric_phase(const Unit& unit, const Order& order, const Format& wanted) {
  if (order.pattern >= 0) return "the result has the pattern of an operand";  // whose storage loops may not walk
  return LoopNest(unit, order).no_numeric_phase(wanted);
}

}  // namespace strata::direct
