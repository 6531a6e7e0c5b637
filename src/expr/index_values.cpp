// Indices that stand where a value is asked for.
#include <algorithm>
#include <set>

#include "strata/expression.h"

namespace strata {
namespace {

void collect(const Expression& e, std::vector<std::string>& numbers, std::set<std::string>& indices) {
  const auto& n = e.node();
  if (e.op() == Operator::access && n.indices.empty() && std::ranges::find(numbers, n.name) == numbers.end())
    numbers.push_back(n.name);
  for (const AffineIndex& i : n.indices)
    for (const auto& term : i.terms) indices.insert(term.index);
  for (const Expression& a : n.arguments) collect(a, numbers, indices);
}

}  // namespace

std::vector<std::string> index_values(const Assignment& a) {
  std::vector<std::string> numbers;
  std::set<std::string> indices(a.indices.begin(), a.indices.end());
  collect(a.value, numbers, indices);
  std::erase_if(numbers, [&](const std::string& name) { return !indices.contains(name); });
  return numbers;
}

}  // namespace strata
