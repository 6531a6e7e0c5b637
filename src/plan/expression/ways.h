#pragma once
// The ways to a result: one table, in the order tried, which evaluation and explain() read.
#include <optional>
#include <span>

#include "plan/expression/dtypes.h"
#include "plan/expression/front.h"
#include "plan/rewrite/steps.h"

namespace strata::evaluation {

using direct::Explained;

/// An expression, what is asked of its result, and where that goes.
class Request {
 public:
  /// What it is given must outlive it. DTypeError, PlanError: as Dtypes.
  Request(const Assignment& a, const Operands& operands, const Asked& asked, const Destination::Outline& to = {});

  const Assignment& assignment;
  const Operands& given;  ///< operands as they came
  const Destination::Outline to;
  const Dtypes dtypes;
  mutable bool by_types = false;  ///< set by a way that looked at types alone, never at statistics
  mutable std::string way;        ///< that serves; a product's kernel

  /// What every way but a plan with a dense result computes with: operands in the dtype asked for, and what is left to
  /// ask for then.
  const Operands& operands() const;
  const Asked& options() const { return options_; }
  /// By the ways behind this one: what takes over where a guard does not hold. It owns what it needs.
  std::function<Lazy()> by_ways_behind(std::string_view name) const;

 private:
  Asked options_;
  mutable std::optional<Operands> cast_;
};

struct Way {
  const char* name;
  /// The step that makes the result, and how it goes about it, behind the name; nothing where the way does not serve,
  /// and why.
  std::optional<Explained> (*plan)(const Request&, std::string& why);
};

/// By the first way that serves, behind those that do not; or as a schedule says. The last one, the general path,
/// always serves, and is the only one where options ask for it.
Explained by_first_way(const Request& request);

/// Why hand-written loops do not serve, whatever the operands; null: they may.
const char* hand_written_refusal(const Assignment& a, const Asked& options);

/// The format that the result is to have: as asked for, or as result_format() says.
Format wanted_format(const Assignment& a, const Operands& operands, const Asked& options);

std::vector<TensorType> types_of(std::span<const Lazy> operands);

/// Four spaces before each line.
std::string indented(const std::string& text);
/// What a plan, which knows no names, calls the operands and the result: " (where A is W, B is s)"; "" where it calls
/// them so too.
std::string called(const std::vector<std::string>& names, const std::string& result);

}  // namespace strata::evaluation
