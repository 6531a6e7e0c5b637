#pragma once
// The ways to a result: one table, in the order tried, which evaluation and explain() read.
#include <optional>
#include <span>

#include "ops/evaluate/dtypes.h"
#include "ops/evaluate/front.h"

namespace strata::evaluation {

/// What serves others of these types too.
struct Remembered {
  Plan plan;
  std::vector<std::string> names;  ///< of the operands in the plan's order
  std::vector<TensorType> types;   ///< theirs
  std::optional<Scalar> alpha;     ///< of a product in a pattern
  Scalar factor;                   ///< of any other: what the expression's numbers come to
};

/// An expression, what is asked of its result, and where that goes.
class Request {
 public:
  /// What it is given must outlive it. `einsum`: the same, of operands that are called A, B, ... in their order.
  /// DTypeError, PlanError: as Dtypes.
  Request(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
          const Destination& to = {}, const Einsum* einsum = nullptr);

  const Assignment& assignment;
  const std::map<std::string, Tensor>& given;  ///< operands as they came
  const Einsum* einsum;
  const Destination to;
  const Dtypes dtypes;

  /// What every way but a plan with a dense result computes with: operands in the dtype asked for, and what is left to
  /// ask for then.
  const std::map<std::string, Tensor>& operands() const;
  const EvaluateOptions& options() const { return options_; }

  /// Where a way leaves what serves again.
  mutable std::optional<Remembered> found;

 private:
  EvaluateOptions options_;
  mutable std::optional<std::map<std::string, Tensor>> cast_;
};

struct Way {
  const char* name;
  /// The result; nothing where the way does not serve, and why.
  std::optional<Tensor> (*result)(const Request&, std::string& why);
  /// How it goes about it, behind its name; nothing where it does not serve, and why.
  std::optional<std::string> (*explain)(const Request&, std::string& why);
  bool delivers = false;  ///< is the result scaled, and where it is to go?
};

/// In the order tried. The last one, the general path, always serves, and is the only one where options ask for it.
std::span<const Way> ways(const EvaluateOptions& options);

/// By the first way that serves, or as a schedule says; where it is to go.
Tensor by_first_way(const Request& request);

/// Why hand-written loops do not serve, whatever the operands; null: they may.
const char* hand_written_refusal(const Assignment& a, const EvaluateOptions& options);

/// The format that the result is to have: as asked for, or as result_format() says.
Format wanted_format(const Assignment& a, const std::map<std::string, Tensor>& operands,
                     const EvaluateOptions& options);

std::vector<TensorType> types_of(std::span<const Tensor> operands);

/// Four spaces before each line.
std::string indented(const std::string& text);
/// What a plan, which knows no names, calls the operands and the result: " (where A is W, B is s)"; "" where it calls
/// them so too.
std::string called(const std::vector<std::string>& names, const std::string& result);

}  // namespace strata::evaluation
