// The kernel of one product as a C file.
#include "compiler/emit/c_file.h"
#include "compiler/graph.h"
#include "plan/compiled.h"
#include "plan/plan_impl.h"

namespace strata::planning {
namespace {

std::string meaning(const BufferBinding& b, std::span<const std::string> names) {
  const std::string of = b.operand < 0 ? "" : " of " + names[static_cast<std::size_t>(b.operand)];
  switch (b.kind) {
    case BufferBinding::pos: return "pos of level " + std::to_string(b.level) + of;
    case BufferBinding::crd: return "crd of level " + std::to_string(b.level) + of;
    case BufferBinding::values: return "values" + of;
    case BufferBinding::output: return "the result";
    case BufferBinding::alpha: return "one number, which scales the expression";
    default: return "one number, which scales what the result held (0: it is not read)";
  }
}

std::string meaning(const ScalarBinding& s, std::span<const std::string> names) {
  const std::string of = s.operand < 0 ? " of the result" : " of " + names[static_cast<std::size_t>(s.operand)];
  const std::string level = std::to_string(s.level);
  switch (s.kind) {
    case ScalarBinding::extent: return "extent of index " + compiler::index_letter(s.level);
    case ScalarBinding::dim_extent: return "extent of dimension " + level + of;
    case ScalarBinding::level_lo: return "least coordinate of level " + level + of;
    case ScalarBinding::level_size: return "coordinates of level " + level + of;
    case ScalarBinding::level_slots: return "slots of one parent in level " + level + of;
    case ScalarBinding::stride:
      return "elements between neighbours along " + std::string(s.operand < 0 ? "dimension " : "level ") + level + of;
    case ScalarBinding::offset: return "elements before the first one" + of;
    case ScalarBinding::walk_begin: return "0";
    case ScalarBinding::lead:
      return "rows between a row of level " + level + of + " and the one to ask for: any number is right";
    case ScalarBinding::walk_end: return "iterations of level " + level + of;
    default: return "coordinate of batch level " + level + of;
  }
}

std::string domain(const Launch& launch, const std::string& driver) {
  const std::string level = std::to_string(launch.level);
  switch (launch.kind) {
    case Launch::serial: return "0, 1: one call does it all";
    case Launch::output_window:
      return "a part of dimension " + std::to_string(launch.output_dim) + " of the result; any parts, side by side too";
    case Launch::outer_scatter:
      return "a part of level " + level + " of " + driver +
             " (dense: of its coordinates, compressed: of its positions); one part after the other";
    case Launch::outer_aligned:
      return "a part of the positions of level " + level + " of " + driver +
             ", cut where its coordinate changes; side by side too";
    default:
      return "a part of level " + level + " of " + driver +
             " (dense: of its coordinates, compressed: of its positions); any parts, side by side too";
  }
}

}  // namespace

std::string emit_product(const std::string& text, const Einsum& e, std::span<const TensorType> types,
                         std::span<const std::string> names) {
  const auto [product, driver] = product_of(e, types);
  std::string why;
  const auto kernels = lower_product(product, driver, why);
  if (kernels.empty())
    throw Unsupported({.what = "no kernel can be generated",
                       .expected = "operands that one walk serves",
                       .got = why,
                       .fix = "convert what is named there to CSR, COO or dense"});
  if (kernels.size() > 1)
    throw Unsupported({.what = "a sum of parts has a kernel for each",
                       .expected = "a format of one part",
                       .got = std::to_string(kernels.size()) + " parts",
                       .fix = "emit one for each part; all but the first add (beta 1)"});
  const Lowered& k = kernels[0].lowered;
  CFile file{.computes = text,
             .notes = {},
             .effect = {},
             .buffers = {},
             .scalars = {},
             .range = domain(k.launch, names[static_cast<std::size_t>(driver)]),
             .chunk = "any number"};
  for (std::size_t n = 0; n < types.size(); ++n) file.notes.push_back("  " + names[n] + ": " + types[n].to_string());
  file.notes.push_back("The text holds for other extents too, but for those up to 128 that only dense operands have.");
  file.effect.push_back(k.applies_beta ? "result = alpha * expression + beta * result; returns 0"
                                       : "result = alpha * expression + result; returns 0");
  for (const auto& b : k.buffers) file.buffers.push_back(meaning(b, names));
  for (const auto& s : k.scalars) file.scalars.push_back(meaning(s, names));
  return c_file(file, k.function, kernels[0].source);
}

}  // namespace strata::planning
