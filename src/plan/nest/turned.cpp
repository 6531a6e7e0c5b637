// C(j,i) = A(i,j) * x(j), with C stored as A's transpose: what A's loops make over i and j, its dimensions renamed.
#include <algorithm>

#include "expr/chain.h"
#include "plan/nest/blocks.h"

namespace strata::direct {
namespace {

using Names = std::vector<std::string>;

/// order[d]: the place among `names` of the d-th of `wanted`.
std::vector<int> places(const Names& wanted, const Names& names) {
  std::vector<int> out;
  for (const auto& i : wanted) out.push_back(static_cast<int>(std::ranges::find(names, i) - names.begin()));
  return out;
}

/// The indices of the first sparse operand's access that is stored as the result is, its dimensions in another order.
std::optional<Names> find(const Expression& e, const NestProblem& p) {
  if (e.op() != Operator::access) {
    for (const auto& x : e.node().arguments)
      if (auto found = find(x, p)) return found;
    return std::nullopt;
  }
  const Names &result = p.assignment.indices, own = *plain_indices(e);
  if (own == result || !std::ranges::is_permutation(own, result)) return std::nullopt;
  const Format wanted = p.options.format->transpose(places(own, result));
  return p.operands.at(e.node().name).format() == wanted ? std::optional(own) : std::nullopt;
}

}  // namespace

std::optional<Blocked> turned(const NestProblem& given) {
  const Asked& o = given.options;
  if (o.mask || o.format->is_all_dense() || given.constraints.given) return std::nullopt;
  const auto indices = find(given.assignment.value, given);
  if (!indices) return std::nullopt;
  const Names& result = given.assignment.indices;
  Blocked out;
  out.problem = given;
  out.problem.assignment.indices = *indices;
  out.problem.options.format = o.format->transpose(places(*indices, result));
  out.format = *o.format;
  for (const auto& i : result) out.shape.push_back(given.extents.at(i));
  out.turned = places(result, *indices);
  return out;
}

}  // namespace strata::direct
