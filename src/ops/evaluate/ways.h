#pragma once
// The ways to a result where no plan serves whose result is dense: one table, in the order tried, which evaluation and
// explain() read.
#include <optional>
#include <span>

#include "ops/evaluate/pattern.h"

namespace strata::evaluation {

/// An expression, and what is asked of its result.
struct Request {
  const Assignment& assignment;
  const std::map<std::string, Tensor>& operands;
  const EvaluateOptions& options;
  std::optional<PatternProduct>* found = nullptr;  ///< where a product in a pattern is left that served
};

struct Way {
  const char* name;
  /// The result; nothing where the way does not serve, and why.
  std::optional<Tensor> (*result)(const Request&, std::string& why);
  /// How it goes about it, behind its name; nothing where it does not serve, and why.
  std::optional<std::string> (*explain)(const Request&, std::string& why);
};

/// In the order tried. The last one, the general path, always serves, and is the only one where options ask for it.
std::span<const Way> ways(const EvaluateOptions& options);

/// By the first way that serves, or as a schedule says.
Tensor by_first_way(const Request& request);

/// Why hand-written loops do not serve, whatever the operands; null: they may.
const char* hand_written_refusal(const Assignment& a, const EvaluateOptions& options);

/// The format that the result is to have: as asked for, or as result_format() says.
Format wanted_format(const Assignment& a, const std::map<std::string, Tensor>& operands,
                     const EvaluateOptions& options);

/// Four spaces before each line.
std::string indented(const std::string& text);
/// What a plan, which knows no names, calls the operands and the result: " (where A is W, B is s)"; "" where it calls
/// them so too.
std::string called(const std::vector<std::string>& names, const std::string& result);

}  // namespace strata::evaluation
