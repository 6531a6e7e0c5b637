// Kernels that users register: asked first, keyed by structure.
#include "plan/user_kernels.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/fork_mutex.h"

namespace strata {
namespace {

struct Registered {
  UserKernel kernel;
  Einsum key;  ///< canonical
};
using RegisteredPtr = std::shared_ptr<const Registered>;

/// The lock is held across fork: a child never finds it taken by a thread that it does not have.
struct Registry {
  std::mutex& mutex = fork_mutex<Registry>();
  std::vector<RegisteredPtr> entries;
  std::atomic<unsigned long long> generation{0};
};
Registry& registry() {
  static Registry& r = *new Registry;  // never destroyed: kernels may be asked for while the program ends
  return r;
}
/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const Registry& made_early = registry();

class UserRunner : public planning::Runner {
 public:
  explicit UserRunner(RegisteredPtr entry) : entry_(std::move(entry)) {}
  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    entry_->kernel.run(operands, out, alpha, beta);
  }
  std::string name() const override { return entry_->kernel.name; }
  std::vector<std::pair<std::string, std::string>> details() const override {
    return {{"engine", "registered by the user"}};
  }

 private:
  RegisteredPtr entry_;
};

/// "" where the kernel serves the product, otherwise why not.
std::string refusal(const Registered& entry, const planning::Product& p) {
  const UserKernel& k = entry.kernel;
  if (planning::canonical(p.einsum) != entry.key) return "computes " + k.expression;
  for (std::size_t i = 0; i < p.operands.size(); ++i) {
    const TensorType& t = p.operands[i];
    const std::string operand = operand_name(i);
    if (!(t.format == k.formats[i]))
      return operand + " is " + t.format.to_string() + ", not " + k.formats[i].to_string();
    if (k.dtype && t.dtype != *k.dtype)
      return operand + " is " + std::string(name_of(t.dtype)) + ", not " + std::string(name_of(*k.dtype));
    if (!t.strides.empty() || t.shared_value) return operand + " has strides";
    if (!t.format.is_all_dense() && !t.fill.is_zero()) return operand + " has fill " + t.fill.to_string();
  }
  if (k.dtype && p.output.dtype != *k.dtype)
    return "the output is " + std::string(name_of(p.output.dtype)) + ", not " + std::string(name_of(*k.dtype));
  if (!(p.output.format == planning::dense_type(p.output.shape, p.output.dtype).format) || !p.output.strides.empty())
    return "the output has strides";
  return "";
}

}  // namespace

void register_kernel(UserKernel kernel) {
  if (kernel.name.empty()) throw PlanError({.what = "a kernel without a name", .expected = "a name", .got = "''"});
  if (!kernel.run)
    throw PlanError(
        {.what = "kernel '" + kernel.name + "' has nothing to run", .expected = "a function", .got = "none"});
  std::vector<int> ranks;
  for (const auto& f : kernel.formats) ranks.push_back(f.rank());
  auto entry = std::make_shared<Registered>();
  entry->key = planning::canonical(parse_einsum(kernel.expression, ranks));
  entry->kernel = std::move(kernel);
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  for (const auto& e : r.entries)
    if (e->kernel.name == entry->kernel.name)
      throw PlanError({.what = "a kernel of this name is registered already",
                       .expected = "a new name",
                       .got = "'" + entry->kernel.name + "'",
                       .fix = "unregister_kernel it first"});
  r.entries.push_back(std::move(entry));
  ++r.generation;
}

bool unregister_kernel(const std::string& name) {
  RegisteredPtr leaving;  // released after the lock: it may hold a Python function
  Registry& r = registry();
  const std::lock_guard lock(r.mutex);
  const auto it =
      std::find_if(r.entries.begin(), r.entries.end(), [&](const RegisteredPtr& e) { return e->kernel.name == name; });
  if (it == r.entries.end()) return false;
  leaving = *it;
  r.entries.erase(it);
  ++r.generation;
  return true;
}

namespace planning {

RunnerPtr choose_user_kernel(const Product& product, std::vector<Report>& reports, int depth) {
  std::vector<RegisteredPtr> entries;
  {
    Registry& r = registry();
    const std::lock_guard lock(r.mutex);
    entries.assign(r.entries.rbegin(), r.entries.rend());
  }
  for (const auto& e : entries) {
    const std::string why = refusal(*e, product);
    reports.push_back({e->kernel.name, why.empty(), why.empty() ? "registered for this structure" : why, depth});
    if (why.empty()) return std::make_shared<UserRunner>(e);
  }
  return nullptr;
}

unsigned long long user_kernel_generation() { return registry().generation.load(std::memory_order_acquire); }

}  // namespace planning
}  // namespace strata
