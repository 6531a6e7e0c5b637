#include "compiler/iteration.h"

#include <algorithm>

namespace strata::merging {
namespace {

/// Twins are one cursor: each stands once.
void add_part(std::vector<Set>& parts, Set part) {
  const auto same = [&](const Set& p) {
    return p.kind == Set::cursor && part.kind == Set::cursor && p.operand == part.operand;
  };
  if (std::none_of(parts.begin(), parts.end(), same)) parts.push_back(std::move(part));
}

Set combined(Set::Kind kind, std::vector<Set> parts) {
  Set out{.kind = kind};
  for (auto& p : parts) {
    if (p.kind != kind) add_part(out.parts, std::move(p));
    else
      for (auto& q : p.parts) add_part(out.parts, std::move(q));
  }
  return out.parts.size() == 1 ? Set(out.parts[0]) : out;
}

Set of_node(const Computation& input, int n, const std::function<int(int)>& cursor) {
  const ElementwiseNode& node = input.nodes[static_cast<std::size_t>(n)];
  if (node.kind == ElementwiseNode::constant) return {};
  if (node.kind == ElementwiseNode::access)
    return cursor(node.operand) >= 0 ? Set{.kind = Set::cursor, .operand = cursor(node.operand)} : Set{};
  std::vector<Set> parts;
  for (std::size_t k = 0; k < node.arguments.size(); ++k) {
    const int a = node.arguments[k];
    if (input.nodes[static_cast<std::size_t>(a)].kind == ElementwiseNode::constant) continue;
    if (node.kind == ElementwiseNode::all && !node.needed[k]) continue;
    Set s = of_node(input, a, cursor);
    if (s.kind != Set::everything) parts.push_back(std::move(s));
    else if (node.kind == ElementwiseNode::any) return {};
  }
  if (parts.empty()) return {};
  return combined(node.kind == ElementwiseNode::any ? Set::either : Set::both, std::move(parts));
}

double cost_of(const std::vector<int>& cursors, const std::function<double(int)>& cost) {
  double sum = 0;
  for (int c : cursors) sum += cost(c);
  return sum;
}

}  // namespace

std::string Set::to_string(const std::function<std::string(int)>& name) const {
  if (kind == everything) return "all";
  if (kind == cursor) return name(operand);
  std::string out;
  for (const auto& p : parts) {
    const bool nested = p.kind == both || p.kind == either;
    out += (out.empty()    ? ""
            : kind == both ? " and "
                           : " or ") +
           std::string(nested ? "(" : "") + p.to_string(name) + (nested ? ")" : "");
  }
  return out;
}

Set iteration_set(const Computation& input, const std::function<int(int)>& cursor) {
  Set set = of_node(input, static_cast<int>(input.nodes.size()) - 1, cursor);
  if (input.mask < 0 || input.complement || cursor(input.mask) < 0) return set;
  Set mask{.kind = Set::cursor, .operand = input.mask};
  return set.kind == Set::everything ? mask : combined(Set::both, {std::move(mask), std::move(set)});
}

std::vector<int> drivers(const Set& set, const std::function<double(int)>& cost) {
  if (set.kind == Set::cursor) return {set.operand};
  std::vector<int> out;
  for (const auto& p : set.parts) {
    const auto mine = drivers(p, cost);
    if (set.kind == Set::either) {
      for (int c : mine)
        if (std::find(out.begin(), out.end(), c) == out.end()) out.push_back(c);
    } else if (out.empty() || cost_of(mine, cost) < cost_of(out, cost)) {
      out = mine;
    }
  }
  return out;
}

std::vector<int> required(const Set& set) {
  if (set.kind == Set::cursor) return {set.operand};
  std::vector<int> out;
  if (set.kind == Set::both)
    for (const auto& p : set.parts)
      for (int c : required(p)) out.push_back(c);
  return out;
}

}  // namespace strata::merging
