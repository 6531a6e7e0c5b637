#pragma once
#include "compiler/lower.h"
#include "plan/product.h"

namespace strata::planning {

/// Lowers the product with operand `driver` walked and all others read densely, and compiles it (or takes the
/// interpreter, where settings say so or there is no compiler). Null where the lowering refuses; `why` then says why.
RunnerPtr compile_product(const Product& product, int driver, std::string& why);

/// Several parts add in memory one after the other: narrow outputs would be rounded between.
bool adds_wide_parts(const Product& product, int driver);

/// A kernel before it is compiled.
struct KernelText {
  LoweredProduct lowered;
  std::string source;
};
/// One per part of the driver; empty where the lowering refuses. `specialize`: short extents may stand in the text.
std::vector<KernelText> lower_product(const Product& product, int driver, std::string& why,
                                      const Target& target = host_target(), bool specialize = true);
/// The same for this machine. Unsupported where the lowering refuses.
std::vector<KernelText> kernels_of(const Product& product, int driver);
/// Iteration graph, schedule, loop IR and C text of these kernels.
std::string show_kernels(std::span<const KernelText> parts);

/// The product as the compiler takes it, and its operand to walk: the sparse one, if there is one.
std::pair<Product, int> product_of(const Einsum& e, std::span<const TensorType> types);
/// Its kernel as a C file, with a comment that repeats `text` and says how to call it. Unsupported.
std::string emit_product(const std::string& text, const Einsum& e, std::span<const TensorType> types,
                         std::span<const std::string> names);
/// A main() for that file, which calls its function on these tensors (of the same formats) and expects this result.
/// Unsupported.
std::string emit_main(const std::string& name, const Einsum& e, std::span<const TensorType> types,
                      std::span<const Tensor> tensors, const Tensor& expected);
/// The same of one product with at most one sparse operand, behind a line of its operands. Unsupported.
std::string show_product(const Einsum& e, std::span<const TensorType> types, std::span<const std::string> names);

}  // namespace strata::planning
