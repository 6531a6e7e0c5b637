// Plans of whole expressions: what was asked, and the program for it.
#include <algorithm>

#include "expr/depth.h"
#include "plan/expression/planning.h"
#include "plan/plan_impl.h"

namespace strata {
namespace {

using evaluation::Given, evaluation::Planned;

class ExpressionPlan final : public Plan::Impl {
 public:
  ExpressionPlan(Assignment a, Planned planned, std::vector<std::size_t> order, EvaluateOptions options)
      : assignment_(std::move(a)),
        planned_(std::move(planned)),
        order_(std::move(order)),
        options_(std::move(options)) {
    for (const std::size_t k : order_) types.push_back(planned_.given.types[k]);
  }

  std::string expression() const override { return assignment_.to_string(); }
  TensorType output_type() const override { return planned_.program->type(); }
  std::string kernel_name() const override { return planned_.way; }
  std::string explain() const override { return evaluation::explained(assignment_, planned_); }
  std::string show() const override { return planned_.program->code(); }

  Tensor run(std::span<const Tensor> operands, const Scalar& alpha) const override {
    return run(operands, planning::Destination{.alpha = alpha});
  }
  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    run(operands, planning::Destination{out, alpha, beta});
  }
  Tensor run_in_pattern_of(const Tensor& earlier, std::span<const Tensor> operands,
                           const Scalar& alpha) const override {
    return on_a_large_stack(stack_for(assignment_.value.depth()), [&] {
      const auto tensors = in_place(operands);
      return evaluation::delivered(program_for(tensors)->run_in_pattern_of(earlier, tensors), {.alpha = alpha});
    });
  }

 private:
  Tensor run(std::span<const Tensor> operands, const planning::Destination& to) const {
    return on_a_large_stack(stack_for(assignment_.value.depth()), [&] {
      const auto tensors = in_place(operands);
      const auto program = program_for(tensors);
      if (to.out || to.scales())
        if (auto done = program->deliver(tensors, to)) return *std::move(done);
      return evaluation::delivered(program->run(tensors), to);
    });
  }

  /// The operands by position, the mask behind them. PlanError: their number, or a type.
  std::vector<Tensor> in_place(std::span<const Tensor> operands) const {
    if (operands.size() != order_.size())
      throw PlanError({.what = "the plan has another number of operands",
                       .expected = std::to_string(order_.size()),
                       .got = std::to_string(operands.size())});
    std::vector<Tensor> out(order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) {
      const TensorType &planned = types[k], &got = operands[k].type();
      if (!planning::serves(planned, got)) planning::refuse_operand(planned_.given.names[order_[k]], planned, got);
      out[order_[k]] = operands[k];
    }
    if (options_.mask) out.push_back(*options_.mask);
    return out;
  }

  /// What was taken for granted of operands: whose patterns are the same, and where every slot or place is an element.
  static bool holds(const Given& planned, const Given& now) {
    if (planned.twins != now.twins) return false;
    return std::ranges::equal(planned.stats, now.stats, [](const auto& a, const auto& b) {
      return a.each_slot == b.each_slot && a.full == b.full && (a.slots == 0) == (b.slots == 0);
    });
  }

  std::shared_ptr<const planning::Program> program_for(std::span<const Tensor> tensors) const {
    if (planned_.by_types) return planned_.program;
    const auto& names = planned_.given.names;
    if (holds(planned_.given, evaluation::describe(names, tensors))) return planned_.program;
    std::map<std::string, Tensor> by_name;
    for (std::size_t k = 0; k < names.size(); ++k) by_name.emplace(names[k], tensors[k]);
    const evaluation::Asking asking{
        .assignment = &assignment_, .by_name = &by_name, .options = options_, .to = {}, .tensors = tensors};
    if (auto known = evaluation::known_program(asking)) return known;
    return evaluation::new_program(assignment_, asking);
  }

  Assignment assignment_;
  Planned planned_;
  std::vector<std::size_t> order_;  ///< position of each operand that a run is given
  EvaluateOptions options_;
};

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
  return on_a_large_stack(stack_for(a.value.depth()), [&] {
    evaluation::check_names(a, operands.by_name());
    const auto question = evaluation::question_of(a, options);
    Planned planned = evaluation::plan_for(a, question, evaluation::describe(operands, options.mask));
    // In the order of the expression; '+=' reads the result last.
    std::vector<std::size_t> order;
    auto names = a.value.operands();
    if (a.accumulate) names.push_back(a.name);
    const auto& all = planned.given.names;
    for (const auto& name : names) {
      const auto at = static_cast<std::size_t>(std::ranges::find(all, name) - all.begin());
      if (at < all.size() && std::ranges::find(order, at) == order.end()) order.push_back(at);
    }
    return Plan(std::make_shared<const ExpressionPlan>(a, std::move(planned), std::move(order), options));
  });
}

}  // namespace strata
