// Which candidate computes a product: the user's kernels, a vendor's where it was measured to be faster, hand-written
// ones, generated code, generated code on converted operands.
#include <algorithm>

#include "base/checked.h"
#include "kernels/registry.h"
#include "plan/align_first.h"
#include "plan/compiled.h"
#include "plan/convert_first.h"
#include "plan/copied.h"
#include "plan/long_sums.h"
#include "plan/product.h"
#include "plan/rows_first.h"
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

/// Must this operand be walked (or made dense), because it cannot be read anywhere?
bool is_walked(const TensorType& t) { return !is_plain_dense(t); }
bool has_fill(const TensorType& t) { return !t.format.is_all_dense() && !t.fill.is_zero(); }

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

/// A sum of parts as products of its parts, each added to the output.
class SumRunner : public Runner {
 public:
  SumRunner(std::size_t operand, std::vector<RunnerPtr> parts) : operand_(operand), parts_(std::move(parts)) {}
  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    std::vector<Tensor> in(operands.begin(), operands.end());
    const Scalar one = Scalar::of(1.0);
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      in[operand_] = operands[operand_].part_tensor(static_cast<int>(k));
      parts_[k]->run(in, out, alpha, k == 0 ? beta : one);
    }
  }
  std::string name() const override {
    std::string names;
    for (const auto& p : parts_) names += (names.empty() ? "" : " + ") + p->name();
    return names;
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::size_t k = 0; k < parts_.size(); ++k)
      for (auto& [word, text] : parts_[k]->details()) all.emplace_back(word + " of part " + std::to_string(k), text);
    return all;
  }
  std::string show() const override {
    std::string all;
    for (const auto& p : parts_) all += p->show();
    return all;
  }

 private:
  std::size_t operand_;
  std::vector<RunnerPtr> parts_;
};

/// Is it a sum of one operand's elements, of all products, or of a dense row, as generated code takes it? Of many of
/// them float32 would keep half the digits. (Rows of sparse matrices times vectors: see long_sums.h.)
bool has_wide_sums(const Product& p) {
  const auto& indices = p.einsum.operands[0];
  const auto is_summed = [&](int i) { return std::ranges::find(p.einsum.output, i) == p.einsum.output.end(); };
  if (p.operands.size() == 1 || p.einsum.output.empty()) return std::ranges::any_of(indices, is_summed);
  // All of memory once, in the time that it takes to read it.
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    if (!is_plain_dense(p.operands[k])) return false;
    if (static_cast<int>(p.einsum.operands[k].size()) != p.einsum.num_indices) continue;
    std::vector<std::int64_t> summed;
    for (std::size_t d = 0; d < p.einsum.operands[k].size(); ++d)
      if (is_summed(p.einsum.operands[k][d])) summed.push_back(p.operands[k].shape[d]);
    if (checked_product(summed).value_or(INT64_MAX) > long_sum) return true;
  }
  return false;
}

Product in_wide_sums(const Product& given) {
  Product product = given;
  if (has_wide_sums(given)) product.compute = wide_sums(given.compute);
  return product;
}

/// Hand-written kernels for the parts of a sum, generated code for those parts that have none. Null where no part has
/// one.
RunnerPtr choose_parts(const Product& product, std::vector<Report>& reports, int depth) {
  std::size_t sum = product.operands.size();
  for (std::size_t k = 0; k < product.operands.size(); ++k) {
    if (product.operands[k].format.num_parts() == 1) continue;
    if (sum < product.operands.size()) return nullptr;
    sum = k;
  }
  if (sum == product.operands.size() || product.compute != product.output.dtype ||
      !product.operands[sum].fill.is_zero())
    return nullptr;
  const TensorType& whole = product.operands[sum];
  std::vector<Product> parts;
  std::vector<RunnerPtr> runners;
  bool any = false;
  for (int k = 0; k < whole.format.num_parts(); ++k) {
    Product part = product;
    part.operands[sum].format = whole.format.part(k);
    if (part.operands[sum].format.is_all_dense()) return nullptr;  // its strides are not in the type of the sum
    std::vector<Report> asked;
    runners.push_back(choose_builtin(part, asked, depth));
    any |= runners.back() != nullptr;
    for (auto& r : asked)
      if (r.chosen) reports.push_back({"part " + std::to_string(k) + ": " + r.candidate, true, r.reason, depth});
    parts.push_back(std::move(part));
  }
  if (!any) return nullptr;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    if (runners[k]) continue;
    std::string why;
    runners[k] = compile_product(in_wide_sums(parts[k]), static_cast<int>(sum), why);
    reports.push_back({"part " + std::to_string(k) + ": compiled", runners[k] != nullptr,
                       runners[k] ? "no hand-written kernel for this part" : why, depth});
    if (!runners[k]) return nullptr;
  }
  return std::make_shared<SumRunner>(sum, std::move(runners));
}

RunnerPtr choose_compiled(const Product& given, std::vector<Report>& reports, int depth) {
  const Product product = in_wide_sums(given);
  std::vector<std::size_t> walked;
  for (std::size_t k = 0; k < product.operands.size(); ++k) {
    if (has_fill(product.operands[k])) {
      reports.push_back(
          {"compiled", false,
           operand_name(k) + " has fill " + product.operands[k].fill.to_string() + ": its absent elements are not zero",
           depth});
      return nullptr;
    }
    if (is_walked(product.operands[k])) walked.push_back(k);
  }
  if (walked.size() > 1) {
    std::string names;
    for (auto k : walked) names += (names.empty() ? "" : ", ") + operand_name(k);
    reports.push_back({"compiled", false, names + " are not dense: one operand can be walked", depth});
    return nullptr;
  }
  std::vector<std::size_t> drivers = walked;
  if (drivers.empty()) {  // all dense: the largest first
    for (std::size_t k = 0; k < product.operands.size(); ++k) drivers.push_back(k);
    std::sort(drivers.begin(), drivers.end(), [&](auto a, auto b) {
      const double x = dense_size(product.operands[a]), y = dense_size(product.operands[b]);
      return x != y ? x > y : a < b;
    });
  }
  for (auto driver : drivers) {
    std::string why;
    RunnerPtr runner = compile_product(product, static_cast<int>(driver), why);
    reports.push_back({"compiled, walking " + operand_name(driver), runner != nullptr,
                       runner ? "every element of " + operand_name(driver) + " once" : why, depth});
    if (runner) return runner;
  }
  return nullptr;
}

}  // namespace

RunnerPtr choose_direct(const Product& product, std::vector<Report>& reports, int depth) {
  const std::string& engine = settings().engine;
  const bool automatic = engine == "auto" || engine == "vendor", written = automatic || engine == "kernels";
  if (written && depth == 0)  // a copy that we make is nothing a user's kernel was registered for
    if (RunnerPtr r = choose_user_kernel(product, reports, depth)) return r;
  if (depth == 0)
    if (RunnerPtr r = turn_first(product, reports)) return r;
  if (written) {
    if (RunnerPtr r = choose_copy(product, reports, depth)) return r;
    const char* vendor_first = engine == "vendor" ? "settings().engine is 'vendor'" : nullptr;
    if (RunnerPtr r = choose_vendor(product, reports, depth, vendor_first)) return r;
    if (RunnerPtr r = choose_builtin(product, reports, depth)) return keep_digits(product, align_first(product, r));
    if (RunnerPtr r = choose_parts(product, reports, depth)) return keep_digits(product, align_first(product, r));
  } else {
    reports.push_back({"registered, hand-written", false, "settings().engine is '" + engine + "'", depth});
  }
  RunnerPtr compiled = align_first(product, choose_compiled(product, reports, depth));
  if (!has_wide_sums(product)) compiled = keep_digits(product, std::move(compiled));
  if (automatic) compiled = rows_first(product, std::move(compiled));
  if (!automatic || (compiled && compiled->name() == "compiled")) return compiled;
  const std::size_t before = reports.size();
  RunnerPtr vendor = choose_vendor(product, reports, depth, "faster than the interpreter");
  if (!vendor) {
    reports.resize(before);
    return compiled;
  }
  for (std::size_t k = 0; k < before; ++k) {  // what was compiled serves in the interpreter alone
    if (!reports[k].chosen || reports[k].depth != depth) continue;
    reports[k].chosen = false;
    reports[k].reason = "nothing compiles here, and the interpreter is slower";
  }
  return vendor;
}

RunnerPtr choose(const Product& product, std::vector<Report>& reports) {
  if (RunnerPtr r = choose_direct(product, reports, 0)) return r;

  // Keep the operand whose dense copy would be the largest, make the others dense; then all of them.
  const auto& types = product.operands;
  std::vector<char> to_dense(types.size(), 0);
  std::size_t keep = types.size();
  for (std::size_t k = 0; k < types.size(); ++k) {
    to_dense[k] = is_walked(types[k]) || has_fill(types[k]);
    if (is_walked(types[k]) && !has_fill(types[k]) &&
        (keep == types.size() || dense_size(types[k]) > dense_size(types[keep])))
      keep = k;
  }
  std::vector<std::vector<char>> attempts;
  if (keep < types.size()) {
    auto others = to_dense;
    others[keep] = 0;
    if (std::count(others.begin(), others.end(), 1) > 0) attempts.push_back(others);
  }
  if (std::count(to_dense.begin(), to_dense.end(), 1) > 0) attempts.push_back(to_dense);
  for (const auto& attempt : attempts) {
    std::string names, why;
    for (std::size_t k = 0; k < attempt.size(); ++k)
      if (attempt[k]) names += (names.empty() ? "" : ", ") + operand_name(k);
    std::vector<Report> inner;
    RunnerPtr r = convert_first(product, attempt, inner, 0, why);
    reports.push_back(
        {"after making " + names + " dense", r != nullptr, r ? "a dense copy is made at each run" : why, 0});
    reports.insert(reports.end(), inner.begin(), inner.end());
    if (r) return r;
  }
  std::string asked;
  for (const auto& r : reports)
    asked += (asked.empty() ? "" : "\n") + std::string(static_cast<std::size_t>(2 * r.depth), ' ') + r.candidate +
             ": " + r.reason;
  throw Unsupported({.what = "nothing here computes " + product.einsum.to_string(),
                     .expected = "a candidate that accepts",
                     .got = asked,
                     .fix = "convert an operand to CSR, COO or dense first, or register a kernel"});
}

}  // namespace strata::planning
