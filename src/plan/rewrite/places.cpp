#include "plan/rewrite/places.h"

#include <algorithm>
#include <numeric>

#include "convert/convert_elements.h"
#include "expr/chain.h"
#include "plan/nest/unit.h"
#include "plan/rewrite/ones.h"
#include "plan/rewrite/steps.h"

namespace strata::direct {
namespace {

constexpr double worth = 4;  ///< times fewer values than everywhere

bool contains(const std::vector<std::string>& list, const std::string& s) {
  return std::ranges::find(list, s) != list.end();
}

/// Is there a truth value in this expression, or a size of complex numbers? Their dtype is a smaller one than their
/// operands'.
bool narrows(const Expression& e) {
  const Operator op = e.op();
  return is_comparison(op) || op == Operator::absolute || op == Operator::any || op == Operator::all ||
         std::ranges::any_of(e.node().arguments, narrows);
}

/// What keeps the dtype of a product with this expression: the dtype of all of its operands (the loops then have one),
/// or bool, which every other dtype takes in.
DType dtype_of_ones(const Expression& e, const Operands& operands) {
  const auto names = e.operands();
  const DType first = operands.at(names.front()).dtype();
  const bool same = std::ranges::all_of(names, [&](const auto& n) { return operands.at(n).dtype() == first; });
  return same && !narrows(e) ? first : DType::boolean;
}

}  // namespace

Lazy projected(const Places& places, const std::vector<std::string>& indices) {
  std::vector<int> dims(indices.size());
  std::iota(dims.begin(), dims.end(), 0);
  Assignment any;
  any.name = "#places";
  any.indices = indices;
  any.value = Expression::plain_access("#ones", places.indices);
  for (const auto& i : places.indices)
    if (!contains(indices, i)) any.value = Expression::reduce(Operator::sum, i, any.value, true);
  const Operands operands{{"#ones", ones_of(*places.tensor, DType::boolean)}};
  return planned(any, operands, {.format = conversion::levels_in_order(dims, indices.size() > 1)}).lazy;
}

bool restrict_to(const Places& places, Assignment& step, Asked& options, Operands& operands) {
  if (!places.tensor || step.indices.size() < 2) return false;
  std::vector<std::string> shared, others;
  for (const auto& i : places.indices)
    if (contains(step.indices, i)) shared.push_back(i);
  for (const auto& i : step.indices)
    if (!contains(places.indices, i)) others.push_back(i);
  const bool all = shared.size() == places.indices.size();
  if (shared.empty() || (!others.empty() && step.value.op() != Operator::sum)) return false;
  if (!all || !others.empty()) {
    std::map<std::string, Shape> shapes;
    for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
    const auto extents = index_extents(step, shapes);
    double everywhere = 1;
    for (const auto& i : shared) everywhere *= static_cast<double>(extents.at(i));
    if (everywhere < worth * static_cast<double>(places.tensor->nse())) return false;
  }
  // A mask lets nothing through where there is fill-in, of which a product makes values: ones stand in the product, or,
  // as what is no sum must not be one of its factors (it would be carried out before, for these places again), each
  // place is stored once.
  const bool is_sum = step.value.op() == Operator::sum,
             fills_in = others.empty() && !stores_all(places.tensor->format());
  const Lazy pattern = all && (is_sum || !fills_in) ? *places.tensor : projected(places, shared);
  step.indices = shared;
  const auto times_ones = [&] {
    const std::string ones = "#ones" + std::to_string(operands.size());
    auto [sums, factors] = chain_of(step.value);
    operands.emplace(ones, ones_of(pattern, dtype_of_ones(step.value, operands)));
    factors.push_back(Expression::plain_access(ones, shared));
    step.value = under(sums, product_of(factors));
    return true;
  };
  if (others.empty() && !stores_all(pattern.format())) {
    options.format = pattern.format();
    return times_ones();
  }
  if (others.empty()) {
    // Where it stores something, not where that is true.
    options.mask = pattern.dtype() == DType::boolean ? ones_of(pattern, DType::boolean) : pattern;
    options.format = pattern.format();
    return true;
  }
  step.indices.insert(step.indices.end(), others.begin(), others.end());
  std::vector<int> dims(step.indices.size());
  std::iota(dims.begin(), dims.end(), 0);
  if (const auto order = storage_order(pattern.format())) std::ranges::copy(*order, dims.begin());
  options.format = conversion::levels_in_order(dims, pattern.format().level(0).kind == LevelKind::dense, others.size());
  return times_ones();
}

}  // namespace strata::direct
