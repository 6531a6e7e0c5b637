#pragma once
// From a question about operands to a program, which is remembered.
#include <memory>

#include "plan/epoch.h"
#include "plan/expression/front.h"
#include "plan/program.h"

namespace strata::evaluation {

/// What is asked, whatever the operands.
struct Question {
  Expression value = {};
  std::vector<std::string> indices = {};
  std::string adds_to = {};  ///< '+=': the name of the result
  std::optional<Einsum> einsum = {};
  std::optional<Format> format = {};
  std::optional<DType> dtype = {}, compute_dtype = {}, result_dtype = {};
  Semiring semiring = Semiring::plus_times;
  bool has_mask = false, complement_mask = false, general = false;
  std::optional<Schedule> schedule = {};
  planning::DestinationType to = {};
  bool operator==(const Question&) const = default;
};
Question question_of(const Assignment& a, const EvaluateOptions& options, const planning::DestinationType& to = {},
                     const Einsum* einsum = nullptr);

/// Operands by position: those that have names in the order of these, then the mask.
struct Given {
  std::vector<std::string> names;
  std::vector<TensorType> types;
  std::vector<planning::Stats> stats;
  std::vector<int> twins;  ///< the first one that differs in its values alone; itself
  bool operator==(const Given&) const = default;
};
Given describe(std::vector<std::string> names, std::span<const Tensor> tensors);
/// The same of operands by name, and a mask.
Given describe(const PlanOperands& operands, const std::optional<Tensor>& mask);

/// All that a plan depends on: nothing else is looked at when one is made.
struct Planned {
  Question question;
  Given given;
  planning::Epoch epoch;
  bool by_types = false;  ///< statistics and twins were not asked for
  std::string way;        ///< that it goes
  std::shared_ptr<const planning::Program> program;
};

/// A program for these operands, without a look at what is remembered. ExpressionError, DTypeError, TensorError ...
Planned plan_for(const Assignment& a, const Question& question, Given given);
/// A question about operands before anything of it is copied: most calls ask what was asked before.
struct Asking {
  const Assignment* assignment = nullptr;
  const std::map<std::string, Tensor>* by_name = nullptr;
  const Einsum* einsum = nullptr;  ///< in place of these two, of as many operands as it names
  const EvaluateOptions& options;
  planning::DestinationType to = {};
  std::span<const Tensor> tensors;  ///< by position, the mask last

  bool is(const Planned& known) const;  ///< (Operands apart.)
  Question question() const;
  std::vector<std::string> names() const;
};
/// The last programs that this thread asked for are kept. Null: this one is not among them.
std::shared_ptr<const planning::Program> known_program(const Asking& asking);
/// A new one, which is kept.
std::shared_ptr<const planning::Program> new_program(const Assignment& a, const Asking& asking);
/// How many programs were made since the process began.
std::int64_t programs_made();

/// What explain() says of a plan.
std::string explained(const Assignment& a, const Planned& planned);

/// The operands as planning sees them; the mask apart.
struct Seen {
  Operands operands;
  std::optional<Lazy> mask;
};
Seen see(const Given& given, bool has_mask);
/// What was asked, of operands that are seen so.
Asked asked_of(const Question& question, std::optional<Lazy> mask);

}  // namespace strata::evaluation
