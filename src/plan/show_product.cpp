// What the compiler makes of one product with at most one sparse operand.
#include "plan/compiled.h"
#include "plan/plan_impl.h"

namespace strata::planning {

std::pair<Product, int> product_of(const Einsum& e, std::span<const TensorType> types) {
  std::vector<Shape> shapes;
  for (const auto& t : types) shapes.push_back(t.shape);
  const auto dtypes = dtypes_for(types, {});
  Product product{normalise(e, types),
                  {types.begin(), types.end()},
                  dense_type(output_shape(e, shapes), dtypes.output),
                  dtypes.compute};
  int driver = 0;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (!is_plain_dense(types[k])) driver = static_cast<int>(k);
  return {std::move(product), driver};
}

std::string show_product(const Einsum& e, std::span<const TensorType> types, std::span<const std::string> names) {
  const auto [product, driver] = product_of(e, types);
  std::string out;
  for (std::size_t k = 0; k < types.size(); ++k) out += (k ? ", " : "") + names[k] + ": " + types[k].to_string();
  out += "\n\n";
  return out + show_kernels(kernels_of(product, driver));
}

}  // namespace strata::planning
