// The kernel of one product as a C file.
#include "compiler/binding_text.h"
#include "compiler/emit/c_file.h"
#include "compiler/graph.h"
#include "plan/compiled.h"
#include "plan/plan_impl.h"

namespace strata::planning {
namespace {

std::string domain(const Launch& launch, const std::string& driver) {
  const std::string level = "level " + std::to_string(launch.level) + " of " + driver,
                    part = "a part of " + level + " (dense: of its coordinates, compressed: of its positions)";
  switch (launch.kind) {
    case Launch::serial: return "0, 1: one call does it all";
    case Launch::output_window:
      return "a part of dimension " + std::to_string(launch.output_dim) + " of the result; any parts, side by side too";
    case Launch::outer_scatter: return part + "; one part after the other";
    case Launch::outer_aligned:
      return "a part of the positions of " + level + ", cut where its coordinate changes; side by side too";
    default: return part + "; any parts, side by side too";
  }
}

}  // namespace

std::string emit_product(const std::string& text, const Einsum& e, std::span<const TensorType> types,
                         std::span<const std::string> names) {
  const auto [product, driver] = product_of(e, types);
  const auto kernels = kernels_of(product, driver);
  if (kernels.size() > 1)
    throw Unsupported({.what = "a sum of parts has a kernel for each",
                       .expected = "a format of one part",
                       .got = std::to_string(kernels.size()) + " parts",
                       .fix = "emit one for each part; all but the first add (beta 1)"});
  const LoweredProduct& k = kernels[0].lowered;
  CFile file{.computes = text, .range = domain(k.launch, names[static_cast<std::size_t>(driver)])};
  for (std::size_t n = 0; n < types.size(); ++n) file.notes.push_back("  " + names[n] + ": " + types[n].to_string());
  file.notes.push_back("The text holds for other extents too, but for those up to 128 that only dense operands have.");
  file.effect.push_back(k.applies_beta ? "result = alpha * expression + beta * result; returns 0"
                                       : "result = alpha * expression + result; returns 0");
  compiler::BindingNames arguments{.operands = {names.begin(), names.end()}, .indices = {}, .along = {}};
  for (int i = 0; i < e.num_indices; ++i) arguments.indices.push_back(compiler::index_letter(i));
  for (int i : product.einsum.output) arguments.along.push_back(compiler::index_letter(i));
  file.buffers = buffer_texts(k, arguments);
  file.scalars = scalar_texts(k, arguments);
  return c_file(file, k.function, kernels[0].source);
}

}  // namespace strata::planning
