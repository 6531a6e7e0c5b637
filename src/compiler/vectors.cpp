// Sums, maxima and minima over dense memory in vectors: the innermost loop takes several values at once, which come
// together behind all loops that reduce.
#include "compiler/totals.h"

namespace strata::merging {
namespace {

constexpr std::int64_t most_added = 64;  ///< terms that a lane adds before it joins the total
constexpr int most_sums = 4;  ///< vectors that are added to in turn: an addition takes as long as four of them

}  // namespace

int Totals::vectors_of_sums() const {
  const int var = in_.num_vars - 1;
  const auto v = static_cast<std::size_t>(var);
  if (in_.lanes < 2 || (in_.compute != DType::f32 && in_.compute != DType::f64)) return 0;
  if (in_.combine != Combine::plus && in_.combine != Combine::minimum && in_.combine != Combine::maximum) return 0;
  if (v < in_.hints.size() && in_.hints[v] != Hint::none) return 0;
  if (std::ranges::any_of(in_.operands, [&](const Operand& o) { return !o.dense && o.has(var); })) return 0;
  if (in_.mask >= 0 && operand(in_.mask).has(var)) return 0;
  if (in_.is_bounded(var)) return 0;
  const auto runs_along = [&](int k) { return operand(k).has(var); };
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k) {
    const Operand& o = operand(k);
    if (runs_along(k) && (o.contiguous < 0 || o.vars[static_cast<std::size_t>(o.contiguous)] != var)) return 0;
  }
  if (!has_lanes(in_, runs_along)) return 0;
  const std::int64_t constant = constant_extent(var);
  return constant == 0 ? (var == 0 ? most_sums : 2)
                       : static_cast<int>(std::min<std::int64_t>(most_sums, constant / in_.lanes));
}

Stmt Totals::add_in_vectors(int var, Place at, Expr& from) {
  Stmts out, unused;
  at.coordinate[static_cast<std::size_t>(var)] = from;
  if (evaluate(static_cast<int>(in_.nodes.size()) - 1, at, unused).present) return nullptr;
  const Expr all = last_of(var);
  const auto loop = [&](int vectors) {
    const std::int64_t step = std::int64_t{in_.lanes} * vectors;
    const std::string v = names_.fresh(letter(var)), end = names_.fresh("whole");
    out.push_back(ir::let(end, all - ir::floor_mod(all - from, step)));
    Stmts body;
    for (int s = 0; s < vectors; ++s) {
      at.coordinate[static_cast<std::size_t>(var)] = ir::var(v);
      at.group = {std::int64_t{s} * in_.lanes, in_.lanes};
      const std::string name = sums_[static_cast<std::size_t>(s)];
      const Value sum{ir::var(name, {in_.compute, in_.lanes}), nullptr};
      Expr present;
      const Value more = with_term(arithmetic_, sum, at, present, body);
      body.push_back(ir::assign(name, more.re));
    }
    if (!open_.found.empty()) body.push_back(ir::assign(open_.found, ir::bool_const(true)));
    const auto vectors_loop = [&](const Expr& begin, const Expr& stop) {
      return ir::loop(v, begin, stop, ir::block(std::move(body)), step);
    };
    // However long a sum is, each lane takes few terms before it joins the total.
    const std::int64_t most = most_added * step, constant = constant_extent(var);
    const bool few = constant > 0 && constant <= most, once = var == summed_from_;
    if (in_.combine != Combine::plus || vectors == 1 || (few && once)) {
      out.push_back(vectors_loop(from, ir::var(end)));
    } else if (few) {
      out.push_back(vectors_loop(from, ir::var(end)));
      count_added(ir::floor_div(ir::var(end) - from, step), out);
    } else {
      const std::string block = names_.fresh("block"), stop = names_.fresh("stop");
      Stmts each{ir::let(stop, ir::min(ir::var(block) + most, ir::var(end)))};
      each.push_back(vectors_loop(ir::var(block), ir::var(stop)));
      count_added(ir::floor_div(ir::var(stop) - ir::var(block), step), each);
      out.push_back(ir::loop(block, from, ir::var(end), ir::block(std::move(each)), most));
    }
    if (in_.others) out.push_back(ir::assign(count_, ir::var(count_) + (ir::var(end) - from)));
    from = ir::var(end);
  };
  loop(static_cast<int>(sums_.size()));
  if (sums_.size() > 1) loop(1);
  const std::int64_t constant = constant_extent(var), rest = constant % in_.lanes;
  if (rest > 0) {
    const Value sum{ir::var(sums_[0], {in_.compute, in_.lanes}), nullptr};
    out.push_back(ir::assign(sums_[0], combine(sum, rest_of_terms(at, constant, rest, out)).re));
    if (in_.others) out.push_back(ir::assign(count_, ir::var(count_) + rest));
    if (!open_.found.empty()) out.push_back(ir::assign(open_.found, ir::bool_const(true)));
    from = all;
  }
  return ir::block(std::move(out));
}

Value Totals::rest_of_terms(Place at, std::int64_t all, std::int64_t rest, Stmts& out) {
  at.coordinate[static_cast<std::size_t>(in_.num_vars - 1)] = ir::int_const(0);
  at.group = {all - in_.lanes, in_.lanes};
  Expr present;
  const Value terms = with_term(arithmetic_, {}, at, present, out);
  const int others = in_.lanes - static_cast<int>(rest);
  return named("rest", {ir::blend(start_of_lanes(), terms.re, others), nullptr}, out);
}

void Totals::count_added(const Expr& terms, Stmts& out) {
  const Expr added = ir::var("added");
  out.push_back(ir::assign("added", added + terms));
  Stmts join;
  add_lanes(join);
  join.push_back(ir::assign("added", ir::int_const(0)));
  out.push_back(ir::branch(ir::ge(added, ir::int_const(most_added)), ir::block(std::move(join))));
}

Value Totals::joined_lanes(std::vector<Expr> each, Stmts& out) {
  if (in_.combine == Combine::plus) return {ir::reduce_lanes(ir::Op::add, std::move(each)), nullptr};
  // The extreme of numbers, unless one of them is none: those alone are added up, which leaves NaN.
  std::vector<Expr> others;
  for (Expr& e : each) {
    e = compiler::named(names_, out, "lanes", e);
    others.push_back(ir::select(ir::ne(e, e), e, ir::constant(Scalar::zero(in_.compute), e->type.lanes)));
  }
  const ir::Op op = in_.combine == Combine::minimum ? ir::Op::min : ir::Op::max;
  const Expr extreme = compiler::named(names_, out, "extreme", ir::reduce_lanes(op, std::move(each))),
             other = compiler::named(names_, out, "other", ir::reduce_lanes(ir::Op::add, std::move(others)));
  return {ir::select(ir::ne(other, other), other, extreme), nullptr};
}

void Totals::add_lanes(Stmts& out) {
  Value all;
  for (const auto& name : sums_) {
    const Value one{ir::var(name, {in_.compute, in_.lanes}), nullptr};
    all = all.re ? combine(all, one) : one;
  }
  add_to_total(joined_lanes({all.re}, out), out);
  for (const auto& name : sums_) out.push_back(ir::assign(name, start_of_lanes()));
}

}  // namespace strata::merging
