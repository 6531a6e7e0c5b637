#include "compiler/nest.h"

#include "strata/error.h"

namespace strata::compiler {

using ir::Expr;
using ir::Stmt;

Stmt TiledNest::emit(std::size_t step, const Point& at) {
  if (step == s_.steps.size()) return emit_leaf(at);
  switch (s_.steps[step].kind) {
    case ScheduleStep::walk: return emit_level(step, at);
    case ScheduleStep::run: return emit_run(step, at);
    case ScheduleStep::slots: return emit_slots(step, at);
    case ScheduleStep::free_loop: return emit_free(step, at);
    case ScheduleStep::tile: return emit_tile(step, at);
    case ScheduleStep::row_tile: return emit_row_tile(step, at);
    case ScheduleStep::split: return emit_split(step, at);
    case ScheduleStep::open: return emit_open(step, at);
    case ScheduleStep::sum: return emit_sum(step, at);
    case ScheduleStep::constant: return emit_constant(step, at);
  }
  throw InternalError("a step of no kind");
}

/// Two batch dimensions of one index (a diagonal): only batches on it count. Null where every batch does.
Expr TiledNest::batch_is_wanted(const Point& at) const {
  Expr all;
  std::vector<int> first(g_.dim_of_index.size(), -1);
  for (std::size_t d = 0; d < g_.dims.size(); ++d) {
    if (g_.dims[d].index < 0) continue;
    const Expr here = dim_coordinate(at, static_cast<int>(d));
    if (!here) continue;
    int& before = first[static_cast<std::size_t>(g_.dims[d].index)];
    if (before >= 0) {
      const Expr same = ir::eq(here, dim_coordinate(at, before));
      all = all ? ir::logical_and(all, same) : same;
    } else {
      before = static_cast<int>(d);
    }
  }
  return all;
}

void TiledNest::initialize_window(Stmts& out) {
  // out = beta * out over the window, dimension by dimension.
  const auto& dims = in_.einsum.output;
  const DenseAccess& access = g_.output();
  const auto nest = [&](bool read) {
    Expr index = scalar(ScalarBinding::offset, -1, 0, "out_offset");
    std::vector<std::string> vars;
    Point none;
    none.level.resize(g_.levels.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      // A batch has its own slice: what its coordinates decide is not looped over.
      const int of_driver = g_.dim_of_index[static_cast<std::size_t>(dims[d])];
      const Expr batch = of_driver >= 0 && !g_.batches.empty() ? dim_coordinate(none, of_driver) : nullptr;
      vars.push_back(batch ? "" : names_.fresh(index_letter(dims[d])));
      if (const Expr s = [&]() -> Expr {
            for (const auto& t : access.terms)
              if (t.level == static_cast<int>(d)) return stride(access, t.level, t.kind);
            return nullptr;
          }())
        index = index + (batch ? batch : ir::var(vars.back())) * s;
    }
    Value value = arithmetic_.zero();
    Stmts inner;
    if (read) {
      const Value old = arithmetic_.load(params_.param(output_), output_, output_storage_, index, 1, false);
      value = arithmetic_.mul(beta_, old);
      if (beta_is_one_) value = arithmetic_.either(beta_is_one_, old, value);
      if (value.im) value = keep(inner, "scaled", value);  // both parts read both of what is there
    }
    inner.push_back(arithmetic_.store(params_.param(output_), output_, output_storage_, index, value));
    Stmt body = ir::block(std::move(inner));
    for (std::size_t d = dims.size(); d-- > 0;) {
      const bool window = static_cast<int>(d) == s_.launch.output_dim;
      if (vars[d].empty()) continue;
      body = ir::loop(vars[d], window ? ir::var("begin") : ir::int_const(0),
                      window ? ir::var("end") : index_extent(dims[d]), body);
    }
    return body;
  };
  const Stmt zero = nest(false), scaled = nest(true);
  out.push_back(ir::branch(arithmetic_.is_zero(beta_), zero, scaled));
}

LoweredProduct TiledNest::build() {
  LoweredProduct result;
  Stmts body;
  output_ = params_.buffer({BufferBinding::output, -1, 0, 0}, "out", part_dtype(output_storage_), 0, true);
  const auto scalar_value = [&](BufferBinding::Kind kind, const std::string& name) {
    const int b = params_.buffer({kind, -1, 0, 0}, name + "_buffer", arithmetic_.part());
    Value v = arithmetic_.load(params_.param(b), b, arithmetic_.compute(), ir::int_const(0), 1, false);
    Value kept{named(body, name, v.re), nullptr};
    if (v.im) kept.im = named(body, name + "_im", v.im);
    return kept;
  };
  alpha_ = scalar_value(BufferBinding::alpha, "alpha");
  if (s_.applies_beta) beta_ = scalar_value(BufferBinding::beta, "beta");
  if (arithmetic_.complex()) {
    alpha_is_one_ = named(body, "alpha_is_one", arithmetic_.is_one(alpha_));
    if (s_.applies_beta) beta_is_one_ = named(body, "beta_is_one", arithmetic_.is_one(beta_));
  }
  Point at = start(body);
  Stmts work;
  if (s_.initializes) initialize_window(work);
  work.push_back(emit(0, at));
  const Expr wanted = batch_is_wanted(at);
  body.push_back(wanted ? ir::branch(wanted, ir::block(std::move(work))) : ir::block(std::move(work)));

  static_cast<BoundFunction&>(result) = params_.kernel(ir::block(std::move(body)));
  result.launch = s_.launch;
  result.applies_beta = s_.applies_beta;
  result.wide_output = s_.wide_output;
  result.independent_batches = s_.independent_batches;
  result.free_indices = g_.free_out;
  result.free_indices.insert(result.free_indices.end(), g_.free_sum.begin(), g_.free_sum.end());
  result.schedule = s_.text;
  result.graph = g_.to_string();
  return result;
}

}  // namespace strata::compiler
