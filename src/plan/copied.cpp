#include "plan/copied.h"

#include <algorithm>

#include "execute/dense_view.h"

namespace strata::planning {
namespace {

class Copied : public Runner {
 public:
  explicit Copied(Product product) : product_(std::move(product)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    const auto& indices = product_.einsum.operands[0];
    std::vector<int> order;
    for (int i : product_.einsum.output)
      order.push_back(static_cast<int>(std::ranges::find(indices, i) - indices.begin()));
    const auto from = permuted(execution::view_of(operands[0]), order), to = execution::view_of(out);
    if (alpha.to_complex() == 1.0 && beta.is_zero()) return assign(to, from);
    axpby(to, from, alpha.as(product_.compute), beta.as(product_.compute));
  }
  std::string name() const override { return "dense_copy"; }
  std::vector<std::pair<std::string, std::string>> details() const override { return {{"engine", "hand-written"}}; }

 private:
  Product product_;
};

}  // namespace

RunnerPtr choose_copy(const Product& p, std::vector<Report>& reports, int depth) {
  if (p.operands.size() != 1 || !is_plain_dense(p.operands[0]) || p.operands[0].dtype != p.output.dtype ||
      p.compute != accumulator(p.output.dtype) || std::ranges::count(p.einsum.conjugate, 1) > 0)
    return nullptr;
  std::vector<int> from = p.einsum.operands[0], to = p.einsum.output;
  std::ranges::sort(from);
  std::ranges::sort(to);
  if (from != to || std::ranges::adjacent_find(from) != from.end()) return nullptr;
  reports.push_back({"dense_copy", true, "the same elements in another order", depth});
  return std::make_shared<Copied>(p);
}

}  // namespace strata::planning
