// Plans of whole expressions: what was asked, and the program for it.
#include <algorithm>

#include "expr/depth.h"
#include "plan/expression/planning.h"
#include "plan/plan_impl.h"
#include "tensor/row_major.h"

namespace strata {
namespace {

using evaluation::Asking, evaluation::Counts, evaluation::PlannedPtr, planning::Destination;

class ExpressionPlan final : public Plan::Impl {
 public:
  ExpressionPlan(Assignment a, EvaluateOptions options, const Destination::Outline& to, PlannedPtr planned,
                 std::vector<std::size_t> order)
      : assignment_(std::move(a)),
        options_(std::move(options)),
        to_(to),
        planned_(std::move(planned)),
        order_(std::move(order)) {
    for (const std::size_t k : order_) types.push_back(planned_->key.types()[k]);
    std::size_t next = 0;
    as_given_ = !options_.mask && std::ranges::all_of(order_, [&](std::size_t k) { return k == next++; });
  }

  std::string expression() const override { return assignment_.to_string(); }
  TensorType output_type() const override { return planned_->program->type(); }
  std::string kernel_name() const override { return planned_->way; }
  std::string explain() const override {
    return on_a_large_stack(stack_for(assignment_.value.depth()), planned_->text);
  }
  std::string show() const override {
    return on_a_large_stack(stack_for(assignment_.value.depth()), [&] { return planned_->program->code(); });
  }

  void check(std::span<const Tensor> operands) const override {
    if (operands.size() != order_.size())
      throw PlanError({.what = "the plan has another number of operands",
                       .expected = std::to_string(order_.size()),
                       .got = std::to_string(operands.size())});
    for (std::size_t k = 0; k < order_.size(); ++k)
      if (!planning::serves(types[k], operands[k].type()))
        planning::refuse_operand(names()[order_[k]], types[k], operands[k].type());
  }

  Tensor run(std::span<const Tensor> operands, const Scalar& alpha) const override {
    return run(operands, Destination{.alpha = alpha});
  }
  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    run(operands, Destination{out, alpha, beta});
  }
  Tensor run_in_pattern_of(const Tensor& earlier, std::span<const Tensor> operands,
                           const Scalar& alpha) const override {
    return on_a_large_stack(stack_for(assignment_.value.depth()), [&] {
      std::vector<Tensor> moved;
      const auto tensors = in_place(operands, moved);
      PlannedPtr other;
      return evaluation::delivered(program_for(tensors, other).run_in_pattern_of(earlier, tensors), {.alpha = alpha});
    });
  }

 private:
  Tensor run(std::span<const Tensor> operands, const Destination& to) const {
    return on_a_large_stack(stack_for(assignment_.value.depth()), [&] {
      std::vector<Tensor> moved;
      const auto tensors = in_place(operands, moved);
      if (to.scales() && planning::accumulator(output_type().dtype) != output_type().dtype && !to_.scales)
        return run_unrounded(tensors, to);
      PlannedPtr other;
      return evaluation::run(program_for(tensors, other), tensors, to);
    });
  }
  /// The result is planned for memory that rounds it once.
  Tensor run_unrounded(std::span<const Tensor> tensors, Destination to) const {
    const TensorType& type = planned_->program->type();
    if (!to.out && type.format.is_all_dense()) to.out = empty_dense(type.dtype, type.shape);
    return evaluation::run(
        {.assignment = &assignment_, .options = &options_, .to = to.outline(), .names = names(), .tensors = tensors},
        to);
  }

  /// The operands by position, the mask behind them; `moved` holds them where they were given otherwise.
  std::span<const Tensor> in_place(std::span<const Tensor> operands, std::vector<Tensor>& moved) const {
    if (as_given_) return operands;
    moved.resize(order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) moved[order_[k]] = operands[k];
    if (options_.mask) moved.push_back(*options_.mask);
    return moved;
  }

  /// The plan's, or where it does not serve these that of `other`, which is found then.
  const planning::Program& program_for(std::span<const Tensor> tensors, PlannedPtr& other) const {
    if (planned_->by_types || planning::still_hold(planned_->counts, tensors)) return *planned_->program;
    other = evaluation::plan_for(
        {.assignment = &assignment_, .options = &options_, .to = to_, .names = names(), .tensors = tensors});
    return *other->program;
  }

  const std::vector<std::string>& names() const { return planned_->key.names(); }

  Assignment assignment_;
  EvaluateOptions options_;
  Destination::Outline to_;
  PlannedPtr planned_;
  std::vector<std::size_t> order_;  ///< position of each operand that a run is given
  bool as_given_ = false;           ///< they are given by position, and there is no mask
};

/// What is known of operands, of which some are types alone; and of a mask.
Counts counts_of(const PlanOperands& operands, const std::optional<Tensor>& mask) {
  Counts out;
  std::vector<Tensor> tensors;
  std::vector<std::size_t> at;  // of each tensor
  const auto add = [&](const PlanOperand& o) {
    if (o.tensor) {
      at.push_back(out.stats.size());
      tensors.push_back(*o.tensor);
    }
    out.twins.push_back(static_cast<int>(out.twins.size()));
    out.stats.push_back(o.nse ? planning::stats_for(o.type, static_cast<double>(*o.nse)) : planning::stats_for(o.type));
  };
  for (const auto& [name, o] : operands.by_name()) add(o);
  if (mask) add(*mask);
  const Counts there = planning::counts_of(tensors);
  for (std::size_t k = 0; k < at.size(); ++k) {
    out.stats[at[k]] = there.stats[k];
    out.twins[at[k]] = static_cast<int>(at[static_cast<std::size_t>(there.twins[k])]);
  }
  return out;
}

}  // namespace

TensorType tensor_type(std::string_view format, Shape shape, DType dtype, std::int64_t nse) {
  TensorType out;
  out.format = parse_format(format, static_cast<int>(shape.size()));
  out.dtype = dtype;
  out.fill = Scalar::zero(dtype);
  if (!out.format.is_all_dense()) {
    std::int64_t largest = 1;
    for (const auto& r : out.format.level_ranges(shape)) largest = std::max(largest, r.size);
    out.crd_dtype = index_dtype_for(largest - 1);
    out.pos_dtype = index_dtype_for(std::max(largest, nse));
  }
  out.shape = std::move(shape);
  return out;
}

PlanOperands::PlanOperands(const std::map<std::string, Tensor>& operands) {
  for (const auto& [name, t] : operands) operands_.emplace(name, PlanOperand(t));
}

Plan make_plan(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options) {
  return evaluation::make_plan(a, operands, options, {});
}

Plan evaluation::make_plan(const Assignment& a, const PlanOperands& operands, const EvaluateOptions& options,
                           const Destination::Outline& to) {
  return on_a_large_stack(stack_for(a.value.depth()), [&] {
    evaluation::check_names(a, operands.by_name());
    std::vector<std::string> all;
    std::vector<TensorType> types;
    for (const auto& [name, o] : operands.by_name()) {
      all.push_back(name);
      types.push_back(o.type);
    }
    if (options.mask) types.push_back(options.mask->type());
    const Counts counts = counts_of(operands, options.mask);
    PlannedPtr planned = evaluation::plan_for(
        {.assignment = &a, .options = &options, .to = to, .names = all, .types = types, .counts = &counts});
    // In the order of the expression; '+=' reads the result last.
    std::vector<std::size_t> order;
    auto names = a.value.operands();
    if (a.accumulate) names.push_back(a.name);
    for (const auto& name : names) {
      const auto at = static_cast<std::size_t>(std::ranges::find(all, name) - all.begin());
      if (at < all.size() && std::ranges::find(order, at) == order.end()) order.push_back(at);
    }
    return Plan(std::make_shared<const ExpressionPlan>(a, options, to, std::move(planned), std::move(order)));
  });
}

}  // namespace strata
