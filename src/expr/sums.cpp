// Which indices each additive term sums (design 4).
#include <algorithm>

#include "strata/expression.h"

namespace strata {
namespace {

bool contains(std::span<const std::string> list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

bool is_additive(Operator op) { return op == Operator::add || op == Operator::subtract; }

/// Inside one term: an addend that lacks a summed index could mean two things, so it is refused.
void check_addends(const Expression& e, const std::string& index, std::string_view text) {
  const auto& n = e.node();
  if (is_reduction(n.op)) return;  // written: its body says what it sums
  if (is_additive(n.op)) {
    const auto left = e.argument(0).free_indices(), right = e.argument(1).free_indices();
    const bool in_left = contains(left, index), in_right = contains(right, index);
    if (in_left != in_right) {
      const Expression& lacks = in_left ? e.argument(1) : e.argument(0);
      const Expression& has = in_left ? e.argument(0) : e.argument(1);
      throw ExpressionError({.what = "an addend in parentheses lacks the summed index '" + index + "'",
                             .expected = "'" + index + "' in every addend, or a written sum",
                             .got = lacks.to_string(),
                             .fix = "write sum(" + index + ", " + has.to_string() + ")",
                             .text = std::string(text),
                             .where = lacks.node().where});
    }
  }
  for (const auto& a : n.arguments) check_addends(a, index, text);
}

}  // namespace

Expression with_sums(const Expression& value, std::span<const std::string> output, std::string_view text) {
  const auto& n = value.node();
  if (is_additive(n.op) || n.op == Operator::negate) {
    Expression::Node copy = n;
    for (auto& a : copy.arguments) a = with_sums(a, output, text);
    return Expression(std::move(copy));
  }
  Expression out = value;
  auto indices = value.free_indices();
  std::erase_if(indices, [&](const std::string& i) { return contains(output, i); });
  for (const auto& i : indices) check_addends(value, i, text);
  for (auto i = indices.rbegin(); i != indices.rend(); ++i) {
    Expression sum = Expression::reduce(Operator::sum, *i, out, true);
    Expression::Node node = sum.node();
    node.where = n.where;
    out = Expression(std::move(node));
  }
  return out;
}

}  // namespace strata
