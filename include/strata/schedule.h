#pragma once
// A user's decisions about the loops of one expression (design 6.8).
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strata/expression.h"
#include "strata/format.h"

namespace strata {

/// How a sparse result is built.
enum class ResultAssembly : std::uint8_t {
  append,     ///< elements come in their order, each at the end
  workspace,  ///< one index of the result is gathered in a row, which is then emptied in order
  pattern     ///< the result has the pattern of an operand
};
std::string_view name_of(ResultAssembly how);

/// What is decided here stays as it is; the rest is decided as without a schedule. Verbs are applied in their order.
///
///     Schedule().split("k", "ko", "ki", 64).reorder({"ko", "i", "j", "ki"}).vectorize("ki")
///     parse_schedule("split(k, ko, ki, 64); reorder(ko, i, j, ki); vectorize(ki)")
///
/// Loops are named after the indices of the expression. ScheduleError, where the schedule is used, says what forbids
/// it.
class Schedule {
 public:
  struct Verb {
    enum Kind : std::uint8_t { split, reorder, parallelize, vectorize, unroll, precompute, assemble } kind;
    std::vector<std::string> indices = {};             ///< split: index, outer, inner
    std::int64_t size = 0;                             ///< split
    std::optional<Assignment> workspace = {};          ///< precompute
    std::optional<Format> format = {};                 ///< precompute
    ResultAssembly assembly = ResultAssembly::append;  ///< assemble
    std::string to_string() const;
    bool operator==(const Verb&) const = default;
  };

  /// index = outer * size + inner. ExpressionError: size < 1.
  Schedule& split(std::string index, std::string outer, std::string inner, std::int64_t size);
  /// These loops stand in this order, from the outside in; where others stand is left open.
  Schedule& reorder(std::vector<std::string> indices);
  /// The outermost loop, which is cut into chunks for the threads.
  Schedule& parallelize(std::string index);
  /// The innermost loop; several of its iterations run at once.
  Schedule& vectorize(std::string index);
  /// Written out; its extent must be known, as that of a split's inner loop is.
  Schedule& unroll(std::string index);
  /// "T(i,k) = A(i,j) * B(j,k)" is computed first, into this format (inferred where not given), and stands for what it
  /// is in the expression. ExpressionError.
  Schedule& precompute(std::string_view assignment, std::optional<Format> format = {});
  Schedule& assemble(ResultAssembly how);

  const std::vector<Verb>& verbs() const { return verbs_; }
  bool operator==(const Schedule&) const = default;
  /// The text that parses back.
  std::string to_string() const;

 private:
  Schedule& add(Verb verb);
  std::vector<Verb> verbs_;
};

/// Verbs with ';' between them: "split(k, ko, ki, 64); reorder(i, ko, j, ki); parallelize(i); vectorize(ki);
/// unroll(ki); precompute(T(i,k) = A(i,j) * B(j,k) : CSR); assemble(workspace)". ExpressionError with carets.
Schedule parse_schedule(std::string_view text);

}  // namespace strata
