// Which kernel computes a product: the user's, a vendor's where it was measured to be faster, hand-written ones.
#include "backend/kernel.h"
#include "kernels/registry.h"
#include "plan/align_first.h"
#include "plan/copied.h"
#include "plan/product.h"
#include "plan/turn_first.h"
#include "plan/user_kernels.h"
#include "strata/settings.h"

namespace strata::planning {
namespace {

class BuiltinRunner : public Runner {
 public:
  BuiltinRunner(const kernels::BuiltinKernel& kernel, Product product)
      : kernel_(kernel), product_(std::move(product)) {}
  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    kernel_.run({product_.einsum, product_.operands, product_.output, product_.compute}, operands, out, alpha, beta);
  }
  std::string name() const override { return kernel_.name; }
  std::vector<std::pair<std::string, std::string>> details() const override {
    if (kernel_.vendor) return {{"engine", "vendor's library"}, {"library", kernel_.describe()}};
    if (kernel_.packs)
      return {{"engine", "hand-written"},
              {"panels", "of columns that a core's second level holds, packed where stored elements read them often"}};
    return {{"engine", "hand-written"}};
  }
  bool packs() const override { return kernel_.packs; }
  bool keeps_digits() const override { return kernel_.keeps_digits || kernel_.vendor; }

 private:
  const kernels::BuiltinKernel& kernel_;
  Product product_;
};

RunnerPtr choose_builtin(const Product& product, std::vector<Report>& reports, int depth) {
  for (const auto& k : kernels::builtin_kernels()) {
    if (k.vendor) continue;
    std::string why;
    const bool accepted = k.accepts({product.einsum, product.operands, product.output, product.compute}, why);
    reports.push_back({k.name, accepted, accepted ? "hand-written for this structure" : why, depth});
    if (accepted) return std::make_shared<BuiltinRunner>(k, product);
  }
  return nullptr;
}

/// `asked`: a vendor's kernel is wanted wherever it serves; otherwise where it was measured to be faster than ours.
RunnerPtr choose_vendor(const Product& product, std::vector<Report>& reports, int depth, const char* asked) {
  for (const auto& k : kernels::builtin_kernels()) {
    if (!k.vendor) continue;
    const kernels::Query query{product.einsum, product.operands, product.output, product.compute};
    std::string why;
    bool accepted = false;
    if (!settings().vendor) why = "vendor kernels are switched off (settings().vendor)";
    else if (asked) accepted = k.accepts(query, why);
    else accepted = k.gain(query, why) >= kernels::convincing && k.accepts(query, why);
    if (accepted) why = asked ? asked : "measured to be faster than ours";
    reports.push_back({k.name, accepted, why, depth});
    if (accepted) return std::make_shared<BuiltinRunner>(k, product);
  }
  return nullptr;
}

}  // namespace

RunnerPtr choose(const Product& product, std::vector<Report>& reports, int depth) {
  const std::string& engine = settings().engine;
  const bool automatic = engine == "auto" || engine == "vendor";
  if (!automatic && engine != "kernels") {
    reports.push_back({"registered, hand-written", false, "settings().engine is '" + engine + "'", depth});
    return nullptr;
  }
  if (depth == 0)  // a copy that we make is nothing a user's kernel was registered for
    if (RunnerPtr r = choose_user_kernel(product, reports, depth)) return r;
  if (depth == 0)
    if (RunnerPtr r = turn_first(product, reports)) return r;
  if (RunnerPtr r = choose_copy(product, reports, depth)) return r;
  const char* vendor_first = engine == "vendor" ? "settings().engine is 'vendor'" : nullptr;
  if (RunnerPtr r = choose_vendor(product, reports, depth, vendor_first)) return r;
  if (RunnerPtr r = choose_builtin(product, reports, depth)) return align_first(product, r);
  return automatic && !has_compiler() ? choose_vendor(product, reports, depth, "faster than the interpreter") : nullptr;
}

}  // namespace strata::planning
