// Products as kernel texts: one lowering per part of the driver.
#include "compiler/emit/emit_c.h"
#include "plan/compiled.h"

namespace strata::planning {

bool adds_wide_parts(const Product& p, int driver) {
  return p.operands[static_cast<std::size_t>(driver)].format.num_parts() > 1 && p.compute != p.output.dtype;
}

std::vector<KernelText> lower_product(const Product& product, int driver, std::string& why, const Target& target,
                                      bool specialize) {
  LowerInput in;
  in.einsum = product.einsum;
  in.operands = product.operands;
  in.output = product.output;
  in.compute = product.compute;
  in.driver = driver;
  in.target = target;
  in.specialize = specialize;
  const Format& format = product.operands[static_cast<std::size_t>(driver)].format;
  if (adds_wide_parts(product, driver)) in.output = dense_type(product.output.shape, product.compute);
  std::vector<KernelText> parts;
  for (int k = 0; k < format.num_parts(); ++k) {
    in.part = k;
    std::optional<LoweredProduct> lowered = lower(in, why);
    if (!lowered) {
      if (format.num_parts() > 1) why = "part " + std::to_string(k) + ": " + why;
      return {};
    }
    std::string source = emit_c(lowered->function);
    parts.push_back({std::move(*lowered), std::move(source)});
  }
  return parts;
}

std::vector<KernelText> kernels_of(const Product& product, int driver) {
  std::string why;
  auto kernels = lower_product(product, driver, why);
  if (kernels.empty())
    throw Unsupported({.what = "no kernel can be generated",
                       .expected = "operands that one walk serves",
                       .got = why,
                       .fix = "convert what is named there to CSR, COO or dense"});
  return kernels;
}

std::string show_kernels(std::span<const KernelText> parts) {
  std::string out;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const auto section = [&](const std::string& title, std::string text) {
      while (!text.empty() && text.back() == '\n') text.pop_back();
      out += "--- " + title + (parts.size() > 1 ? " of part " + std::to_string(k) : "") + " ---\n" + text + "\n\n";
    };
    section("iteration graph", parts[k].lowered.graph);
    section("schedule", parts[k].lowered.schedule);
    section("loop IR", ir::to_string(parts[k].lowered.function));
    section("C", parts[k].source);
  }
  if (!out.empty()) out.pop_back();
  return out;
}

}  // namespace strata::planning
