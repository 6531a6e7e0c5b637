// The numeric phase of a unit: its values over the pattern of an earlier result.
#include "backend/pool.h"
#include "base/share.h"
#include "plan/nest/run.h"
#include "strata/settings.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {

std::vector<int> LoopNest::result_variables() const {
  std::vector<int> out;
  for (int v = 0; v < input_.num_vars; ++v)
    if (!input_.summed[static_cast<std::size_t>(v)]) out.push_back(v);
  return out;
}

std::string LoopNest::no_numeric_phase(const Format& wanted) const {
  if (o_.pattern >= 0) return "the result has the pattern of an operand";
  if (o_.along >= 0) return "the result is gathered by diagonals";
  if (o_.dense_result) return "the result is dense at first";
  if (o_.blocks || o_.dense_tail > 0) return "the result is in blocks";
  if (!(format(result_variables().size()) == wanted)) return "the result is converted at the end";
  return {};
}

std::optional<Tensor> Run::run_in_pattern_of(const Tensor& earlier) {
  // (How wide positions are is what counting them would say.)
  if (!no_numeric_phase(earlier.format()).empty() || earlier.shape() != shape() ||
      earlier.type().pos_dtype != index_dtype_for(earlier.nse()))
    return std::nullopt;
  merging::Operand pattern{.type = earlier.type(), .vars = result_variables()};
  pattern.type.dtype = u_.compute;  // its values are not read
  pattern.type.shared_value = false;
  input_.earlier = static_cast<int>(input_.operands.size());
  input_.operands.push_back(std::move(pattern));
  tensors_.push_back(earlier);
  if (!get_kernel()) return std::nullopt;
  auto arrays = execution::run(job());
  return arrays ? std::optional(with_values(u_, earlier, std::move(arrays->values))) : std::nullopt;
}

execution::NumericResult Run::numeric(const std::vector<i64>& starts) const {
  const Part& pattern = tensors_.back().part();
  execution::NumericResult r{.size = used_values(pattern), .ends = {}, .shares = shares(std::ssize(starts) - 1)};
  for (std::size_t c = 0; c < starts.size(); ++c) {
    // Where the outermost index is summed there is one chunk, of the whole result.
    const i64 x = c == 0 ? 0 : c + 1 == starts.size() ? level_extent(0) : starts[c];
    auto& ends = r.ends.emplace_back();
    for (std::size_t l = 0; l < levels(); ++l) ends.push_back(stored_before(pattern, x, l + 1));
  }
  if (const int v = kernel_->lowered.workspace; v >= 0) {
    r.workspace = extents_[static_cast<std::size_t>(v)];
    r.slots = tensors_.back().type().pos_dtype;
    r.holds_mask = kernel_->lowered.holds_mask;
  }
  return r;
}

std::optional<Tensor> run_unit_in_pattern_of(const Tensor& earlier, const Unit& unit, const Order& order,
                                             std::span<const Tensor> operands) {
  if (order.pattern >= 0) return std::nullopt;
  return Run(unit, order, operands).run_in_pattern_of(earlier);
}

std::string no_numeric_phase(const Unit& unit, const Order& order, const Format& wanted) {
  return LoopNest(unit, order).no_numeric_phase(wanted);
}

}  // namespace strata::direct
