#include "plan/align_first.h"

#include <algorithm>

#include "plan/aligned_copy.h"

namespace strata::planning {
namespace {

struct Move {
  std::size_t operand;
  AlignedCopy copy;
};

class AlignFirst : public Preparation {
 public:
  AlignFirst(std::size_t driver, std::vector<Move> moves, RunnerPtr inner)
      : Preparation(std::move(inner)), driver_(driver), moves_(std::move(moves)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    const std::int64_t elements = stored_values(operands[driver_]);
    std::vector<Tensor> in;
    for (const Move& m : moves_) {
      if (!m.copy.pays(operands[m.operand], operands[driver_], elements)) continue;
      if (in.empty()) in.assign(operands.begin(), operands.end());
      in[m.operand] = aligned_copy(operands[m.operand]);
    }
    inner_->run(in.empty() ? operands : std::span<const Tensor>(in), out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    for (const Move& m : moves_)
      out.emplace_back("copy of " + operand_name(m.operand), m.copy.text(operand_name(driver_)));
    return out;
  }

 private:
  std::size_t driver_;
  std::vector<Move> moves_;
};

}  // namespace

RunnerPtr align_first(const Product& product, RunnerPtr inner) {
  const auto& types = product.operands;
  const auto driver = static_cast<std::size_t>(
      std::find_if(types.begin(), types.end(), [](const TensorType& t) { return !is_plain_dense(t); }) - types.begin());
  if (!inner || driver == types.size()) return inner;
  std::vector<Move> moves;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (const auto copy =
            aligned_copy_of(types[k], product.einsum.operands[k], types[driver], product.einsum.operands[driver]);
        copy && !(copy->small && inner->packs()))
      moves.push_back({k, *copy});
  return moves.empty() ? inner : std::make_shared<AlignFirst>(driver, std::move(moves), std::move(inner));
}

}  // namespace strata::planning
