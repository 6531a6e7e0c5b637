// What the compiler makes of one product with at most one sparse operand.
#include <algorithm>

#include "plan/compiled.h"
#include "plan/plan_impl.h"

namespace strata::planning {

std::string show_product(const Einsum& e, std::span<const TensorType> types, std::span<const std::string> names) {
  std::vector<Shape> shapes;
  for (const auto& t : types) shapes.push_back(t.shape);
  const auto dtypes = dtypes_for(types, {});
  const Product product{normalise(e, types), {types.begin(), types.end()},
                        dense_type(output_shape(e, shapes), dtypes.output), dtypes.compute};
  std::string out;
  int driver = -1;
  for (std::size_t k = 0; k < types.size(); ++k) {
    out += (k ? ", " : "") + names[k] + ": " + types[k].to_string();
    if (!is_plain_dense(types[k])) driver = static_cast<int>(k);
  }
  out += "\n\n";
  std::string why, refused;
  std::vector<KernelText> kernels;
  for (int k = std::max(driver, 0); kernels.empty() && k < static_cast<int>(types.size()); ++k) {
    kernels = lower_product(product, k, why);
    if (kernels.empty()) refused += (refused.empty() ? "" : "\n") + names[static_cast<std::size_t>(k)] + ": " + why;
    if (driver >= 0) break;
  }
  if (kernels.empty())
    throw Unsupported({.what = "no kernel can be generated", .expected = "operands that one walk serves", .got = refused});
  return out + show_kernels(kernels);
}

}  // namespace strata::planning
