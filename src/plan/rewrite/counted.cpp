#include "plan/rewrite/counted.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "convert/convert_elements.h"
#include "format/recognise.h"
#include "levels/index_view.h"
#include "plan/nest/monoid.h"
#include "plan/rewrite/fold.h"
#include "plan/rewrite/ones.h"
#include "reference/semiring_arithmetic.h"
#include "tensor/same_storage.h"

namespace strata::direct {
namespace {

constexpr double worth = 1;  ///< times the estimated cost

/// A product that is 1 where a tree has a term.
class Terms {
 public:
  explicit Terms(Operands& operands) : operands_(operands) {}

  /// Nothing where the tree has a value everywhere, or the union of several.
  std::optional<Expression> of(const Expression& e) {
    if (e.op() == Operator::constant) return std::nullopt;
    if (e.op() == Operator::access) return ones(e);
    if (e.node().arguments.size() == 1) return of(e.argument());
    const Expression &a = e.argument(0), &b = e.argument(1);
    const bool left = e.op() == Operator::multiply || is_quotient(e.op()) ? hides(a, operands_) : false;
    const bool right = e.op() == Operator::multiply && hides(b, operands_);
    if (left && right) {
      const auto x = of(a), y = of(b);
      return x && y ? std::optional(*x * *y) : std::nullopt;
    }
    if (left || b.op() == Operator::constant) return of(a);
    if (right || a.op() == Operator::constant) return of(b);
    return std::nullopt;
  }

 private:
  std::optional<Expression> ones(const Expression& access) {
    const Lazy& t = operands_.at(access.node().name);
    // (Of an element that is stored twice there would be two.)
    if (t.format().is_all_dense() || t.num_parts() > 1 || !t.format().is_unique()) return std::nullopt;
    const std::string name = "#ones " + access.node().name;  // no user's name looks so
    if (!operands_.contains(name)) operands_.emplace(name, ones_of(t, DType::i64));
    return Expression::access(name, access.node().indices);
  }

  Operands& operands_;
};

/// Do two tensors of one part store the same elements in the same places?
bool same_pattern(const Tensor& a, const Tensor& b) {
  return a.format() == b.format() && a.num_parts() == 1 && a.nse() == b.nse() && same_levels(a.part(), b.part());
}

}  // namespace

std::optional<Counted> as_counted(const NestProblem& problem, const Loops& usual) {
  if (!usual.unit.others || problem.assignment.indices.empty() || problem.constraints.given) return std::nullopt;
  NestProblem values = problem;
  values.counts_absent = false;
  std::vector<int> dims(problem.assignment.indices.size());
  std::iota(dims.begin(), dims.end(), 0);
  values.options.format = problem.options.format->is_all_dense()
                              ? conversion::dense_format(static_cast<int>(dims.size()))
                              : conversion::levels_in_order(dims, dims.size() > 1);
  values.options.result_dtype.reset();

  NestProblem counts = values;
  std::vector<std::pair<std::string, bool>> reductions;
  const Expression body = peeled(problem.assignment.value, reductions);
  const auto terms = Terms(counts.operands).of(body);
  if (!terms) return std::nullopt;
  // Each index stands in a sparse factor: otherwise every place of it is one more term.
  const auto free = terms->free_indices();
  const auto stands = [&](const std::string& i) { return std::ranges::find(free, i) != free.end(); };
  if (!std::ranges::all_of(problem.assignment.indices, stands)) return std::nullopt;
  Counted out;
  out.format = *values.options.format;
  std::vector<std::int64_t> sizes;
  counts.assignment.value = *terms;
  for (auto r = reductions.rbegin(); r != reductions.rend(); ++r) {
    if (!stands(r->first)) return std::nullopt;
    sizes.push_back(problem.extents.at(r->first));
    counts.assignment.value = Expression::reduce(Operator::sum, r->first, counts.assignment.value, true);
  }
  const auto places = checked_product(sizes);
  if (!places) return std::nullopt;
  out.places = *places;
  out.absent = *usual.unit.others;
  out.fill = usual.unit.fill;

  std::string why;
  auto loops = make_loops(values, why);
  if (!loops || loops->unit.others) return std::nullopt;
  out.values = std::move(*loops);
  double cost = out.values.order.cost;
  const bool nothing = out.values.unit.combine == merging::Combine::either && out.absent.is_zero();
  if (!nothing) {
    auto more = make_loops(counts, why);
    if (!more) return std::nullopt;
    out.counts = std::move(*more);
    cost += out.counts->order.cost;
  }
  return usual.order.cost > worth * cost ? std::optional(std::move(out)) : std::nullopt;
}

std::string Counted::describe(bool code) const {
  std::string out = "of the terms that are there:\n" + values.describe(code);
  if (counts) out += "how many they are of " + std::to_string(places) + ":\n" + counts->describe(code);
  return out;
}

std::vector<Lazy> Counted::inputs() const {
  std::vector<Lazy> out = values.inputs();
  if (counts) std::ranges::copy(counts->inputs(), std::back_inserter(out));
  return out;
}

/// Does some term of each element miss? So it is where a factor stores fewer coordinates of what is reduced, in its
/// fullest row or in all diagonals, than there are places.
bool Counted::all_have_absent(std::span<const Tensor> inputs) const {
  const Unit& u = counts->unit;
  const auto is_reduced = [&](int index) { return u.summed[static_cast<std::size_t>(index)] != 0; };
  const auto reduced = std::ranges::count(u.summed, 1);
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const Format& f = inputs[k].format();
    const auto& indices = u.accesses[k].indices;
    if (reduced != 1 || f.num_parts() != 1 || !f.is_identity() || f.num_batch_levels() > 0) continue;
    int l = 0;  // the level of what is reduced
    while (l < f.num_levels() && !is_reduced(indices[static_cast<std::size_t>(plain_dim(f, l))])) ++l;
    if (l == f.num_levels() || f.level(l).kind != LevelKind::compressed) continue;
    const IndexView pos(inputs[k].part().levels[static_cast<std::size_t>(l)].pos);
    std::int64_t most = 0;
    for (std::int64_t row = 0; row + 1 < pos.size; ++row) most = std::max(most, pos[row + 1] - pos[row]);
    if (most < places) return true;
  }
  return false;
}

std::optional<Tensor> Counted::run(std::span<const Tensor> inputs) const {
  const std::size_t first = values.unit.accesses.size();
  const auto found = values.run(inputs.first(first), format, {});
  if (!found) return std::nullopt;
  TensorType type = found->type();
  type.fill = fill.as(type.dtype);
  Part part = found->part();
  if (counts) {
    const auto n = static_cast<std::size_t>(found->nse());
    const evaluation::Column there = evaluation::load(type.dtype, static_cast<const char*>(part.values.data), n);
    evaluation::Column all =
        evaluation::combine(monoid_of(values.unit.combine), there,
                            evaluation::repeat(evaluation::cast(evaluation::of_scalar(absent), type.dtype), n));
    if (!all_have_absent(inputs.subspan(first))) {
      const auto number = counts->run(inputs.subspan(first), format, {});
      if (!number || !same_pattern(*found, *number)) return std::nullopt;
      std::vector<std::int64_t> from(n);
      const auto terms = number->part().values.as<std::int64_t>();
      for (std::size_t k = 0; k < n; ++k) from[k] = static_cast<std::int64_t>(terms[k] < places ? k : n + k);
      evaluation::append(all, there);
      all = evaluation::gather(all, from, evaluation::zeros(type.dtype, 1));
    }
    part.values = Buffer::allocate(type.dtype, found->nse());
    evaluation::store(all, static_cast<char*>(part.values.data));
    part.value_stride = 1;
    type.shared_value = false;
  }
  return make_from_parts(std::move(type), {std::move(part)});
}

}  // namespace strata::direct
