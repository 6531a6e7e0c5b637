// Sums that are multiplied as a whole, and products made as soon as their factors are known (see schedule_sums.cpp).
#include <algorithm>

#include "compiler/sums.h"
#include "strata/error.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

Value Sums::factor_of(const Point& at, int levels, const Group& group, Stmts& out) {
  Value single{}, lanes{};
  for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a) {
    if (s_.times[a] != levels) continue;
    const bool tiled = depends_on_tile(g_.dense[a]);
    Value& product = tiled ? lanes : single;
    const Value v = kept(out, "f", load(at, a, tiled ? group : Group{}));
    product = product.re ? kept(out, "f", arithmetic_.mul(product, v)) : v;
  }
  if (!lanes.re) return single;
  return single.re ? kept(out, "f", arithmetic_.mul(single, lanes)) : lanes;
}

Stmt Sums::scale_accumulators(const Point& at, int levels, const std::vector<Group>& groups) {
  Stmts out;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Value factor = factor_of(at, levels, groups[g], out);
    for (const auto& [name, a] : accumulators_)
      if (name[name.size() - 2] == static_cast<std::int64_t>(g))
        out.push_back(ir::assign(a.re, arithmetic_.mul(accumulator(a), factor).re));
  }
  return ir::block(std::move(out));
}

Stmt Sums::emit_sum(std::size_t step, const Point& at) {
  const int levels = s_.steps[step].level;
  const bool innermost = s_.sums.back() == levels;
  bool tiled = false;
  for (std::size_t a = 0; a + 1 < g_.dense.size(); ++a)
    tiled = tiled || (s_.times[a] > levels && depends_on_tile(g_.dense[a]));
  const auto outside = std::move(accumulators_);
  accumulators_.clear();
  Stmts out;
  Point inner = at;
  if (!tiled) inner.groups.clear();
  const std::vector<Group> groups = tiled ? accumulator_groups(at) : std::vector<Group>{{0, 1}};
  std::vector<std::vector<Accumulator>> own(groups.size());
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (int c = 0; c < (innermost ? s_.chains : 1); ++c) {
      inner.chain = c;
      const Accumulator a{names_.fresh("part"), "", groups[g].lanes};
      out.push_back(ir::declare(a.re, arithmetic_.zero(a.lanes).re));
      accumulators_[key(inner, static_cast<std::int64_t>(g))] = a;
      own[g].push_back(a);
    }
  inner.chain = 0;
  inner.met = names_.fresh("met");
  out.push_back(ir::declare(inner.met, ir::int_const(0)));
  out.push_back(emit(step + 1, inner));
  accumulators_ = outside;

  Stmts flush;
  std::vector<Value> sums;
  for (const auto& copies : own) {
    std::vector<Value> parts;
    for (const Accumulator& a : copies) parts.push_back(accumulator(a));
    while (parts.size() > 1) {
      std::vector<Value> half;
      for (std::size_t k = 0; k + 1 < parts.size(); k += 2) half.push_back(arithmetic_.add(parts[k], parts[k + 1]));
      if (parts.size() % 2) half.push_back(parts.back());
      parts = half;
    }
    sums.push_back(parts.front());
  }
  Point around = at;
  around.chain = 0;
  const std::vector<Group> wide =
      at.groups.empty() ? std::vector<Group>{{0, 1}} : at.groups;  // a sum of single elements has no pieces
  for (std::size_t g = 0; g < wide.size(); ++g) {
    const auto found = accumulators_.find(key(around, static_cast<std::int64_t>(g)));
    if (found == accumulators_.end()) throw InternalError("no accumulator around this sum");
    const Value factor = factor_of(at, levels, wide[g], flush);
    const Value sum = arithmetic_.mul_add(sums[tiled ? g : 0], factor, accumulator(found->second));
    flush.push_back(ir::assign(found->second.re, sum.re));
  }
  if (!at.met.empty()) flush.push_back(ir::assign(at.met, ir::int_const(1)));
  out.push_back(ir::branch(ir::lt(ir::int_const(0), ir::var(inner.met)), ir::block(std::move(flush))));
  return ir::block(std::move(out));
}

}  // namespace strata::compiler
