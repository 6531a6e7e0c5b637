#include "plan/nest/loops.h"

#include <algorithm>

#include "plan/lazy_convert.h"

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

/// Where many values meet at each place of memory, float32 would keep half the digits of their sum.
void widen_sums(Unit& unit, const Order& order) {
  if (unit.combine != merging::Combine::plus || (unit.compute != DType::f32 && unit.compute != DType::c64)) return;
  std::vector<char> summed;
  for (int i : order.indices) summed.push_back(unit.summed[static_cast<std::size_t>(i)]);
  if (std::is_sorted(summed.begin(), summed.end()) || !sums_many_terms(unit, order)) return;
  unit.compute = unit.compute == DType::f32 ? DType::f64 : DType::c128;
  unit.absent = unit.absent.as(unit.compute);
  unit.fill = unit.fill.as(unit.compute);
}

}  // namespace

void cut_blocks(const NestProblem& problem, std::vector<Blocked>& cuts) {
  if (cuts.empty())
    if (auto diagonals = by_diagonals(problem)) return cuts.push_back(std::move(*diagonals));
  while (cuts.size() < most_cuts) {
    auto next = by_blocks(cuts.empty() ? problem : cuts.back().problem, {});
    if (!next) break;
    cuts.push_back(std::move(*next));
  }
}

std::optional<Loops> make_loops(const NestProblem& problem, std::string& why, bool strips) {
  std::vector<Blocked> cuts;
  cut_blocks(problem, cuts);
  const bool cut = !cuts.empty();
  auto loops = make_loops(problem, std::move(cuts), why, strips);
  if (!loops && cut)
    loops = make_loops(problem, std::vector<Blocked>(), why,
                       strips);  // what counts absent elements wants whole rows: blocks are converted
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
  auto order = choose_order(*unit, *p.options.format, p.constraints, strips, why);
  if (!order) return std::nullopt;
  widen_sums(*unit, *order);
  Loops out{.cuts = {},
            .assignment = p.assignment,
            .unit = std::move(*unit),
            .order = std::move(*order),
            .format = *p.options.format};
  out.cuts = std::move(cuts);  // what `p` refers to
  return out;
}

std::string Loops::emit() const { return emit_unit(unit, order, assignment.to_string()); }

std::string Loops::describe(bool code) const { return describe_unit(unit, order, format, code); }

std::vector<Lazy> Loops::inputs() const {
  std::vector<Lazy> out;
  for (const Access& a : unit.accesses) out.push_back(a.tensor);
  return out;
}

TensorType Loops::type(const Format& wanted, std::optional<DType> dtype) const {
  TensorType built;
  if (cuts.empty())
    for (const int i : unit.output) built.shape.push_back(unit.extents[static_cast<std::size_t>(i)]);
  else built.shape = cuts.front().shape;
  built.dtype = unit.dtype;
  built.fill = unit.fill.as(unit.dtype);
  TensorType out = converted_type(built, elements(), wanted, dtype);
  if (wanted.is_all_dense() && wanted.is_identity()) out.pos_dtype = out.crd_dtype = DType::i32;
  if (const Lazy* t = pattern(wanted)) {
    out.pos_dtype = t->type().pos_dtype;
    out.crd_dtype = t->type().crd_dtype;
  }
  return out;
}

const Lazy* Loops::pattern(const Format& wanted) const {
  if (order.pattern < 0) return nullptr;
  const Lazy& t = unit.accesses[static_cast<std::size_t>(order.pattern)].tensor;
  return (cuts.empty() ? t.format() : cuts.front().format) == wanted ? &t : nullptr;
}

planning::Stats Loops::stats(const TensorType& type) const {
  const Lazy* t = pattern(type.format);
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

std::optional<Tensor> Loops::run(std::span<const Tensor> inputs, const Format& wanted,
                                 std::optional<DType> dtype) const {
  auto result = run_unit(unit, order, inputs);
  if (!result) return std::nullopt;
  if (!cuts.empty() && !(result->format() == format)) result = convert(*result, format, {.zeros = Zeros::keep});
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
    const Tensor whole = cut->joined(*result);
    const auto outer = cut + 1;
    const Format& next = outer == cuts.rend() ? whole.format() : *outer->problem.options.format;
    result = whole.format() == next ? whole : convert(whole, next, {.zeros = Zeros::keep});
  }
  const DType own = dtype.value_or(unit.dtype);
  if (result->format() == wanted && result->dtype() == own) return result;
  return convert(*result, wanted, {.dtype = own, .zeros = Zeros::keep});
}

std::optional<Tensor> Loops::run_in_pattern_of(const Tensor& earlier, std::span<const Tensor> inputs,
                                               std::optional<DType> dtype) const {
  if (!cuts.empty()) return std::nullopt;
  const auto result = run_unit_in_pattern_of(earlier, unit, order, inputs);
  if (!result) return std::nullopt;
  return convert(*result, result->format(), {.dtype = dtype.value_or(unit.dtype), .zeros = Zeros::keep});
}

std::string Loops::no_numeric_phase(const Format& wanted) const {
  return cuts.empty() ? direct::no_numeric_phase(unit, order, wanted) : "indices are cut in blocks";
}

Lazy as_step(std::shared_ptr<const Loops> loops, const Format& wanted, std::optional<DType> dtype,
             std::function<Lazy()> otherwise, const std::string& title, const std::string& before) {
  TensorType type = loops->type(wanted, dtype);
  auto stats = loops->stats(type);
  Lazy::Step step{
      .inputs = loops->inputs(),
      .make = [loops, wanted, dtype](Lazy::Inputs& in) { return loops->run(in, wanted, dtype); },
      .otherwise = std::move(otherwise),
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
