#include "compiler/lower.h"

#include "compiler/nest.h"

namespace strata {

std::optional<Lowered> lower(const LowerInput& input, std::string& why) {
  const auto graph = compiler::make_graph(input, why);             // what becomes known where
  if (!graph) return std::nullopt;
  const auto schedule = compiler::make_schedule(*graph);           // which nest we chose
  Lowered lowered = compiler::Nest(*graph, schedule).build();      // levels become loops
  ir::verify(lowered.function);
  return lowered;
}

}  // namespace strata
