#include "plan/nest/loops.h"

#include <algorithm>

#include "base/checked.h"
#include "base/part_dtype.h"
#include "base/small_float.h"
#include "execute/dense_view.h"
#include "expr/chain.h"
#include "plan/lazy_convert.h"
#include "plan/long_rows.h"
#include "plan/nest/fit.h"
#include "plan/nest/rows_together.h"
#include "plan/plan_impl.h"
#include "tensor/row_major.h"
#include "tensor/same_storage.h"

namespace strata::direct {
namespace {

constexpr std::size_t most_cuts = 8;  ///< blocks in blocks

bool contains(const std::vector<std::string>& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

/// What the problem says by name, by number.
void number(const NestProblem& p, Unit& unit) {
  const auto number_of = [&](const std::string& name) {
    return static_cast<int>(std::find(unit.names.begin(), unit.names.end(), name) - unit.names.begin());
  };
  for (std::size_t i = 0; i < unit.names.size(); ++i) {
    unit.inside[i] = contains(p.inside, unit.names[i]);
    const auto constant = p.constants.find(unit.names[i]);
    if (constant != p.constants.end()) unit.constants[i] = constant->second;
  }
  for (const auto& bound : p.bounds) {
    IndexBound<int> b;
    b.extent = bound.extent;
    for (const auto& [name, c] : bound.terms) b.terms.emplace_back(number_of(name), c);
    unit.bounds.push_back(std::move(b));
  }
  if (p.skew) unit.skew = Skew<int>{number_of(p.skew->index), p.skew->stride, p.skew->offset};
  unit.strides = p.strides;
  unit.size = p.size;
}

std::vector<int> inverse(const std::vector<int>& order) {
  std::vector<int> out(order.size());
  for (std::size_t d = 0; d < order.size(); ++d) out[static_cast<std::size_t>(order[d])] = static_cast<int>(d);
  return out;
}

/// Do values of float32 meet in memory, which would keep half the digits of a long sum?
bool sums_in_memory(const Unit& unit, const Order& order) {
  if (unit.combine != merging::Combine::plus || wide_sums(unit.compute) == unit.compute) return false;
  std::vector<char> summed;
  for (int i : order.indices) summed.push_back(unit.summed[static_cast<std::size_t>(i)]);
  return !std::is_sorted(summed.begin(), summed.end());
}

void widen_sums(Unit& unit) {
  unit.compute = wide_sums(unit.compute);
  unit.absent = unit.absent.as(unit.compute);
  unit.fill = unit.fill.as(unit.compute);
}

/// The sparse operands that may have long rows, as they are given, before blocks are cut: their levels say how long.
std::vector<Loops::SparseAccess> sparse_accesses(const NestProblem& p) {
  std::vector<Loops::SparseAccess> out;
  for_each_access(p.assignment.value, [&](const Expression& e) {
    const Lazy& t = p.operands.at(e.node().name);
    if (t.format().is_all_dense()) return;
    const auto indices = *plain_indices(e);
    Loops::SparseAccess access{t, {}};
    Shape summed;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      access.in_output.push_back(contains(p.assignment.indices, indices[d]));
      if (!access.in_output.back()) summed.push_back(t.shape()[d]);
    }
    const bool short_sums = t.format().is_unique() && checked_product(summed).value_or(INT64_MAX) <= planning::long_sum;
    if (!short_sums) out.push_back(std::move(access));
  });
  return out;
}

/// What is one product of narrow floats, or a sum of such, is rounded once. `of_all`: whatever its factors are, as
/// products in a pattern are, and not of operands alone, one of them sparse at most. (Others are rounded step by step.)
void widen_products(Unit& unit, bool of_all) {
  if (!is_small_float(unit.dtype)) return;
  if (!of_all && std::ranges::count(unit.accesses, false, &Access::dense) > 1) return;
  const auto is_product = [&](std::size_t n) {
    const auto& node = unit.nodes[n];
    return (node.kind == merging::ElementwiseNode::all || node.kind == merging::ElementwiseNode::any) &&
           node.op == Operator::multiply && node.formula.empty();
  };
  std::vector<std::size_t> products, left{unit.nodes.size() - 1};
  while (!left.empty()) {
    const std::size_t n = left.back();
    left.pop_back();
    if (is_product(n)) {
      products.push_back(n);
      for (const int child : unit.nodes[n].arguments) left.push_back(static_cast<std::size_t>(child));
    } else if (!of_all && unit.nodes[n].kind != merging::ElementwiseNode::access) {
      return;
    }
  }
  for (const std::size_t n : products) {
    auto& node = unit.nodes[n];
    node.dtype = node.compute = unit.compute;
    node.value = node.value.as(unit.compute);
  }
}

/// Is there nothing but sparse operands and numbers, so that slots may be taken as they come?
bool is_of_values(const NestProblem& p) {
  return !has_reduction(p.assignment.value) && std::ranges::all_of(p.operands, [](const auto& named) {
    return !named.second.format().is_all_dense() || named.second.rank() == 0;
  });
}

}  // namespace

void cut_blocks(const NestProblem& problem, std::vector<Blocked>& cuts) {
  const auto now = [&]() -> const NestProblem& { return cuts.empty() ? problem : cuts.back().problem; };
  if (cuts.empty()) {
    if (auto other_order = turned(problem)) cuts.push_back(std::move(*other_order));
    if (auto diagonals = by_diagonals(now())) return cuts.push_back(std::move(*diagonals));
  }
  while (cuts.size() < most_cuts) {
    auto next = by_blocks(now(), {});
    if (!next) break;
    cuts.push_back(std::move(*next));
  }
}

/// Over the operands as they lie in memory.
static std::optional<Loops> loops_in_place(const NestProblem& problem, std::string& why, bool strips) {
  std::vector<Blocked> cuts;
  cut_blocks(problem, cuts);
  const bool cut = !cuts.empty();
  if (cut && is_of_values(problem)) {
    auto whole = make_loops(problem, std::vector<Blocked>(), why, strips);
    if (whole && whole->order.slots == Order::alone) return whole;
  }
  auto loops = make_loops(problem, std::move(cuts), why, strips);
  const bool spreads = loops && loops->order.pattern < 0 &&
                       std::ranges::any_of(loops->cuts, [](const Blocked& c) { return c.wants_pattern; });
  if ((!loops && cut) || spreads)
    loops = make_loops(problem, std::vector<Blocked>(), why,
                       strips);  // what counts absent elements wants whole rows: blocks are converted
  return loops;
}

std::optional<Loops> make_loops(const NestProblem& problem, std::string& why, bool strips, bool turns) {
  auto loops = loops_in_place(problem, why, strips);
  if (!loops) return std::nullopt;
  if (const auto copied = with_rows_together(problem, *loops)) {
    auto out = loops_in_place(*copied, why, strips);
    if (out) out->column = loops->unit.names[static_cast<std::size_t>(loops->order.indices.back())];
    return out;
  }
  std::vector<int> turned;
  if (const auto columns = turns ? with_columns_last(problem, *loops, turned) : std::nullopt)
    if (auto other = loops_in_place(*columns, why, strips);
        other && other->order.dense_result && 1.5 * other->order.cost < loops->order.cost) {
      other->turned = std::move(turned);
      other->column = columns->assignment.indices.back();
      return other;
    }
  return loops;
}

std::optional<Loops> make_loops(const NestProblem& problem, std::vector<Blocked> cuts, std::string& why, bool strips) {
  const NestProblem& p = cuts.empty() ? problem : cuts.back().problem;
  auto unit = make_unit(p.assignment, p.operands, p.options, why);
  if (!unit) return std::nullopt;
  number(p, *unit);
  if (!p.counts_absent && unit->others) {
    unit->others.reset();
    unit->fill = unit->absent;
  }
  widen_products(*unit, false);
  auto order = choose_order(*unit, *p.options.format, p.constraints, strips, why);
  if (!order) return std::nullopt;
  std::shared_ptr<Loops::WideSums> wide;
  if (sums_in_memory(*unit, *order)) {
    if (sums_long(*unit, *order)) {
      widen_sums(*unit);
    } else if (auto sparse = sparse_accesses(problem); !sparse.empty()) {
      wide = std::make_shared<Loops::WideSums>(*unit, *order, std::move(sparse));
      widen_sums(wide->unit);
    }
  }
  if (order->pattern >= 0) widen_products(*unit, true);
  Loops out{.cuts = {},
            .assignment = p.assignment,
            .unit = std::move(*unit),
            .order = std::move(*order),
            .format = *p.options.format,
            .wide = std::move(wide)};
  out.cuts = std::move(cuts);  // what `p` refers to
  return out;
}

bool Loops::is_cut() const { return cuts.size() > 1 || (!cuts.empty() && cuts[0].turned.empty()); }

std::string Loops::emit() const { return emit_unit(unit, order, assignment.to_string()); }

std::int64_t Loops::least_extent() const { return FittedNest(unit, order).least_extent(); }

std::string Loops::emit_main(const Loops& tiny, std::span<const Tensor> inputs, const std::string& name,
                             const Tensor& expected) const {
  if (!order.dense_result || order.along >= 0 || tiny.unit.names != unit.names)
    throw Unsupported({.what = "main() is written for a dense result that one call makes",
                       .expected = "such as y(i) = A(i,j) * x(j)",
                       .got = assignment.to_string()});
  return direct::emit_main(unit, order, tiny.unit, tiny.of_accesses(inputs), name, expected);
}

std::string Loops::describe(bool code) const {
  std::string moved;
  if (!column.empty())
    moved = "dense operands as copies along " + column +
            (turned.empty() ? "\n" : ", and the result is turned row by row\n");
  if (wide)
    moved += "long sums in " + std::string(name_of(wide->unit.compute)) +
             ", by a kernel of their own, where more than " + std::to_string(planning::long_sum) +
             " stored elements meet at one place of the result\n";
  return moved + describe_unit(unit, order, format, code);
}

std::vector<Lazy> Loops::inputs() const {
  std::vector<Lazy> out;
  for (const Access& a : unit.accesses) out.push_back(a.tensor);
  if (wide)
    for (const SparseAccess& a : wide->sparse) out.push_back(a.tensor);
  return out;
}

Shape Loops::shape() const {
  Shape own;
  for (const int i : unit.output) own.push_back(unit.extents[static_cast<std::size_t>(i)]);
  if (!cuts.empty()) own = cuts.front().shape;
  if (turned.empty()) return own;
  Shape out;
  for (const int d : turned) out.push_back(own[static_cast<std::size_t>(d)]);
  return out;
}

TensorType Loops::type(const Format& wanted, std::optional<DType> dtype) const {
  TensorType built;
  built.shape = shape();
  built.dtype = unit.dtype;
  built.fill = unit.fill.as(unit.dtype);
  TensorType out = converted_type(built, elements(), wanted, dtype);
  if (wanted.is_all_dense() && wanted.is_identity()) out.pos_dtype = out.crd_dtype = DType::i32;
  if (const Lazy* t = source(wanted)) {
    out.pos_dtype = t->type().pos_dtype;
    out.crd_dtype = t->type().crd_dtype;
  }
  return out;
}

const Lazy* Loops::source(const Format& wanted) const {
  if (order.pattern < 0) return nullptr;
  const Lazy& t = unit.accesses[static_cast<std::size_t>(order.pattern)].tensor;
  return (cuts.empty() ? t.format() : cuts.front().format) == wanted ? &t : nullptr;
}

const Lazy* Loops::pattern(const Format& wanted) const {
  return cuts.empty() || cuts.front().turned.empty() ? source(wanted) : nullptr;
}

planning::Stats Loops::stats(const TensorType& type) const {
  const Lazy* t = source(type.format);
  return t ? t->stats() : planning::stats_for(type, elements());
}

double Loops::elements() const {
  double out = order.visits;
  for (std::size_t i = 0; i < unit.extents.size(); ++i) {
    if (unit.summed[i] && unit.extents[i] > 0 && unit.is_of_dense_alone(static_cast<int>(i)))
      out /= static_cast<double>(unit.extents[i]);
  }
  return out;
}

const Loops::WideSums* Loops::wider_for(std::span<const Tensor> inputs) const {
  for (std::size_t k = unit.accesses.size(); k < inputs.size(); ++k)
    if (planning::has_long_rows(inputs[k], wide->sparse[k - unit.accesses.size()].in_output)) return wide.get();
  return nullptr;
}

std::optional<Tensor> Loops::run(std::span<const Tensor> inputs, const Format& wanted,
                                 std::optional<DType> dtype) const {
  const WideSums* wider = wider_for(inputs);
  auto result = run_unit(wider ? wider->unit : unit, wider ? wider->order : order, of_accesses(inputs));
  if (!result) return std::nullopt;
  if (!cuts.empty() && !(result->format() == format)) result = convert(*result, format, {.zeros = Zeros::keep});
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
    const Tensor whole = cut->joined(*result);
    const auto outer = cut + 1;
    const Format& next = outer == cuts.rend() ? whole.format() : *outer->problem.options.format;
    result = whole.format() == next ? whole : convert(whole, next, {.zeros = Zeros::keep});
  }
  if (!turned.empty()) result = execution::row_major_copy(result->transpose(turned));
  const DType own = dtype.value_or(unit.dtype);
  if (result->format() == wanted && result->dtype() == own) return result;
  if (result->format() == wanted && wanted.is_all_dense() && wanted.is_identity()) {
    Tensor rounded = empty_dense(own, result->shape());
    execution::assign(execution::view_of(rounded), execution::view_of(*result));
    return rounded;
  }
  return convert(*result, wanted, {.dtype = own, .zeros = Zeros::keep});
}

std::optional<Tensor> Loops::deliver(std::span<const Tensor> inputs, const planning::Destination& to,
                                     std::optional<DType> dtype) const {
  // (A turned one would be another view of the memory.)
  const bool adds = !to.beta.is_zero(), whole = std::ranges::all_of(cuts, [](auto& c) { return c.turned.empty(); });
  const bool plain = order.dense_result && order.along < 0 && turned.empty() && !unit.output.empty() &&
                     unit.dtype == unit.compute && dtype.value_or(unit.dtype) == unit.dtype;
  if (!plain || !whole || !to.out || to.alpha.to_complex() != 1.0 || wider_for(inputs)) return std::nullopt;
  // What is there is added to, not combined with.
  if (adds && (unit.combine != merging::Combine::plus || unit.ring || !unit.fill.is_zero())) return std::nullopt;
  const Tensor& out = *to.out;
  if (out.dtype() != unit.compute || out.shape() != shape() || !is_row_major(out) || out.part().values.read_only)
    return std::nullopt;
  planning::check_factor("beta", to.beta, unit.compute);
  const auto range = execution::extent_of(execution::view_of(out));
  if (range.first == range.second || std::ranges::any_of(inputs, [&](const Tensor& t) { return touches(t, range); }))
    return std::nullopt;
  Buffer memory = out.part().values;
  const auto width = static_cast<std::int64_t>(size_of(out.dtype()));
  memory.data = static_cast<char*>(memory.data) + out.part().values_offset * width;
  memory.size = (range.second - range.first) / width;
  const auto done = run_unit_into(std::move(memory), to.beta.as(unit.compute), unit, order, of_accesses(inputs));
  return done ? to.out : std::nullopt;
}

std::optional<Tensor> Loops::run_in_pattern_of(const Tensor& earlier, std::span<const Tensor> inputs,
                                               std::optional<DType> dtype) const {
  if (is_cut()) return std::nullopt;
  const std::vector<int> back = cuts.empty() ? std::vector<int>() : inverse(cuts[0].turned);
  const WideSums* wider = wider_for(inputs);
  auto result = run_unit_in_pattern_of(back.empty() ? earlier : earlier.transpose(back), wider ? wider->unit : unit,
                                       wider ? wider->order : order, of_accesses(inputs));
  if (!result) return std::nullopt;
  if (!back.empty()) result = cuts[0].joined(*result);
  return convert(*result, result->format(), {.dtype = dtype.value_or(unit.dtype), .zeros = Zeros::keep});
}

std::string Loops::no_numeric_phase(const Format& wanted) const {
  if (is_cut()) return "indices are cut in blocks";
  return direct::no_numeric_phase(unit, order, cuts.empty() ? wanted : wanted.transpose(inverse(cuts[0].turned)));
}

Lazy as_step(std::shared_ptr<const Loops> loops, const Format& wanted, std::optional<DType> dtype,
             std::function<Lazy()> otherwise, const std::string& title, const std::string& before) {
  TensorType type = loops->type(wanted, dtype);
  auto stats = loops->stats(type);
  Lazy::Step step{
      .inputs = loops->inputs(),
      .make = [loops, wanted, dtype](Lazy::Inputs& in) { return loops->run(in, wanted, dtype); },
      .otherwise = std::move(otherwise),
      .deliver = [loops, dtype](Lazy::Inputs& in,
                                const planning::Destination& to) { return loops->deliver(in, to, dtype); },
      .numeric = [loops, wanted, dtype](Lazy::Inputs& in, const Tensor& earlier) -> std::optional<Tensor> {
        if (!(earlier.format() == wanted)) return std::nullopt;
        return loops->run_in_pattern_of(earlier, in, dtype);
      },
      .no_numeric = [loops, wanted] { return loops->no_numeric_phase(wanted); },
      .code = [loops, title,
               before] { return std::pair(title + loops->assignment.to_string(), before + loops->describe(true)); },
      .work = loops->order.visits};
  return Lazy::made(std::move(type), std::move(stats), std::move(step), loops->pattern(wanted));
}

}  // namespace strata::direct
