#include "compiler/lower.h"

#include "compiler/nest.h"

namespace strata {

std::optional<LoweredProduct> lower(const LowerInput& input, std::string& why) {
  const auto graph = compiler::make_graph(input, why);  // what becomes known where
  if (!graph) return std::nullopt;
  const auto schedule = compiler::make_schedule(*graph);  // which nest we chose
  if (schedule.wide_output) {
    // Memory holds sums in the dtype of the accumulators: lower again for the temporary that stands in for the output.
    LowerInput wide = input;
    wide.output.dtype = input.compute;
    wide.output.strides.clear();
    wide.output.format = parse_format("dense", static_cast<int>(input.output.shape.size()));
    auto lowered = lower(wide, why);
    if (lowered) lowered->wide_output = true;
    return lowered;
  }
  LoweredProduct lowered = compiler::TiledNest(*graph, schedule).build();  // levels become loops
  ir::verify(lowered.function);
  return lowered;
}

}  // namespace strata
