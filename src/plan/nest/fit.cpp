#include "plan/nest/fit.h"

#include <algorithm>

#include "backend/kernel.h"
#include "base/checked.h"
#include "base/part_dtype.h"
#include "base/small_float.h"
#include "convert/convert_elements.h"
#include "machine/machine.h"
#include "plan/lazy_convert.h"
#include "plan/long_rows.h"
#include "plan/nest/plain.h"
#include "plan/nest/row_order.h"
#include "plan/nest/tile.h"
#include "strata/settings.h"
#include "tensor/row_major.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr i64 least_row = 2, largest_row = 128;  ///< extents of a dense innermost index that stand there too
constexpr i64 largest_constant = 32;             ///< extents of blocks up to this stand in the kernel's text
constexpr i64 largest_sum = 512;                 ///< ... and of innermost sums over dense memory
constexpr int rows_ahead = 16;                   ///< elements between asking for a row and reading it

/// Coordinates of each level, of so many positions: elements of a list share some, and slots may be unused.
std::vector<double> coordinates_of(const TensorType& type, std::span<const double> positions) {
  const auto ranges = type.format.level_ranges(type.shape);
  std::vector<double> out;
  double places = 1;
  for (std::size_t l = 0; l < ranges.size(); ++l) {
    places *= static_cast<double>(ranges[l].size);
    out.push_back(std::min(places, l < positions.size() ? positions[l] : places));
  }
  return out;
}

std::vector<StoredOperand> expected_operands(const Unit& u, const Order& o) {
  std::vector<StoredOperand> out;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Lazy& t = u.accesses[k].tensor;
    if (u.accesses[k].dense) {
      const Lazy d = strided(t);
      out.push_back({d.type(), planning::assumed_strides(d.type()), {}});
    } else if (o.convert[k]) {
      const TensorType type = converted_type(t.type(), t.stats().stored, *o.convert[k]);
      out.push_back({type, {}, planning::stats_for(type, t.stats().stored).children});
    } else {
      out.push_back({t.type(), {}, t.stats().children});
    }
  }
  return out;
}

StoredOperand stored_as(const Tensor& t) {
  if (t.format().is_all_dense()) return {t.type(), t.part().strides, {}};
  return {t.type(), {}, planning::counted(t)->positions};
}

std::vector<StoredOperand> as_stored(std::span<const Tensor> tensors) {
  std::vector<StoredOperand> out;
  for (const Tensor& t : tensors) out.push_back(stored_as(t));
  return out;
}

/// Is all that is added up, but in slots of a pattern, stored in fewer digits than are computed with? A sum in float32
/// keeps those, if it is short.
bool keeps_small_floats(const Unit& u, const Order& o) {
  return o.pattern < 0 && !u.accesses.empty() &&
         std::ranges::all_of(u.accesses, [](const Access& a) { return is_small_float(a.tensor.dtype()); });
}

/// Do so many come to one place, whatever comes to most, where sums in registers want to know?
bool have_long_rows(const Unit& u, const Order& o, std::span<const Tensor> operands) {
  if ((o.tile < 0 && !o.lanes_of_sum && !keeps_small_floats(u, o)) || u.combine != merging::Combine::plus ||
      wide_sums(u.compute) == u.compute)
    return false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (u.accesses[k].dense) continue;
    std::vector<char> in_output;
    for (const int i : u.accesses[k].indices) in_output.push_back(u.is_output(i));
    if (planning::has_long_rows(operands[k], in_output)) return true;
  }
  return false;
}

class Fitter {
 public:
  Fitter(const Unit& unit, const Order& order, FittedNest& out)
      : u_(unit),
        o_(order),
        input_(out.input),
        stored_(out.stored),
        extents_(out.extents),
        bounds_(out.bounds),
        dense_(out.dense),
        columns_(out.columns),
        variant_(out.variant) {}

  void fit() {
    static_cast<merging::Computation&>(input_) = u_;
    input_.num_vars = static_cast<int>(o_.indices.size());
    input_.dense_result = o_.dense_result;
    input_.pattern = o_.pattern;
    input_.slots = o_.slots == Order::in_rows;
    input_.dense_top = o_.dense_top;
    input_.dense_tail = o_.dense_tail;
    input_.blocks = o_.blocks;
    if (u_.compute == DType::f32 || u_.compute == DType::f64) input_.lanes = lanes_of(u_.compute);
    std::vector<int> var(o_.indices.size());  // of an index
    for (std::size_t v = 0; v < o_.indices.size(); ++v) {
      var[static_cast<std::size_t>(o_.indices[v])] = static_cast<int>(v);
      input_.summed.push_back(u_.summed[static_cast<std::size_t>(o_.indices[v])]);
      extents_.push_back(u_.extents[static_cast<std::size_t>(o_.indices[v])]);
      const auto i = static_cast<std::size_t>(o_.indices[v]);
      const bool in_vectors = v + 1 == o_.indices.size() && u_.summed[i] && input_.lanes > 1 && extents_.back() > 0 &&
                              extents_.back() <= largest_sum && u_.is_of_dense_alone(o_.indices[v]);
      // Compilers take several vectors a step, and a row shorter than that element by element, unless they know its
      // length.
      const bool row = v + 1 == o_.indices.size() && !u_.summed[i] && extents_.back() >= least_row &&
                       extents_.back() <= largest_row && u_.is_of_dense_alone(o_.indices[v]);
      while (in_vectors && input_.lanes > extents_.back()) input_.lanes /= 2;
      if (row) columns_ = extents_.back();
      const bool constant =
          in_vectors || (row && !variant_.any_columns) ||
          (u_.constants[i] > 0 && (extents_.back() <= largest_constant || o_.hints[i] == merging::Hint::unrolled));
      input_.constants.push_back(constant ? extents_.back() : 0);
      input_.hints.push_back(o_.hints[i]);
    }
    if (o_.along >= 0)
      input_.diagonals = {.row = var[static_cast<std::size_t>(u_.output[0])],
                          .column = var[static_cast<std::size_t>(u_.output[1])],
                          .along_columns = o_.along == 1};
    else if (o_.dense_result && !u_.output.empty()) input_.contiguous = var[static_cast<std::size_t>(u_.output.back())];
    if (u_.skew) input_.skew = var[static_cast<std::size_t>(u_.skew->index)];
    for (const auto& bound : u_.bounds) {
      auto& terms = input_.bounds.emplace_back().terms;
      for (const auto& [i, c] : bound.terms) terms.emplace_back(var[static_cast<std::size_t>(i)], c);
      bounds_.push_back(bound.extent);
    }
    i64 largest = 0;
    for (std::size_t v = 0; v < extents_.size(); ++v)
      if (!input_.summed[v]) largest = std::max(largest, extents_[v] - 1);
    input_.crd = index_dtype_for(largest);
    for (std::size_t k = 0; k < u_.accesses.size(); ++k) {
      const Access& a = u_.accesses[k];
      const auto& [type, strides, positions] = stored_[k];
      const std::vector<double> elements = a.dense ? std::vector<double>() : coordinates_of(type, positions);
      merging::Operand operand{.type = type, .vars = {}, .dense = a.dense};
      const Format& f = type.format;
      double parents = 1;
      for (int l = 0; l < f.num_levels(); ++l) {
        const auto at = static_cast<std::size_t>(l);
        if (a.dense && strides[at] == 1) operand.contiguous = l;
        const auto d = static_cast<std::size_t>(f.spec().exprs[static_cast<std::size_t>(f.level(l).expr)].a);
        operand.vars.push_back(var[static_cast<std::size_t>(a.indices[d])]);
        if (a.dense) continue;
        if (f.level(l).kind != LevelKind::dense) {
          // Powers of 4: a kernel's text should not change with every matrix.
          double fiber = 1;
          while (fiber * 4 * parents <= elements[at]) fiber *= 4;
          operand.fibers.push_back(fiber);
        }
        parents = std::max(1.0, elements[at]);  // (An empty one has none.)
      }
      const bool in_vectors = o_.tile >= 0 && u_.inside[static_cast<std::size_t>(o_.tile)];
      if ((!o_.held.empty() || in_vectors) && !a.dense) operand.tail = tail_of(u_, a);
      operand.twin = o_.shared(u_, k);
      if (u_.drops_fill_in && !a.dense && static_cast<int>(k) != u_.mask && f.can_hold_fill())
        operand.missing = type.fill.as(type.dtype);
      if (input_.slots && a.dense && !a.indices.empty()) operand.dense = false, operand.each_slot = true;
      input_.operands.push_back(std::move(operand));
    }
    hold(var);
    if (o_.tile >= 0) take_tile(var[static_cast<std::size_t>(o_.tile)]);
    else if (keeps_small_floats(u_, o_)) input_.few_terms = !sums_long(u_, o_) && !variant_.long_rows;
    else if (std::ranges::count(u_.summed, 1) == 1) input_.few_terms = sums_few_in_vectors();
    if (cuts_second()) input_.also_cut = 1;
    else if (cuts_tile()) input_.also_cut = input_.tile;
    input_.identical_rows = variant_.rows == RowOrder::identical;
    find_prefetch();
    if (o_.dense_result && o_.along < 0) find_result(var);
  }

 private:
  void find_result(const std::vector<int>& var) {
    Shape shape;
    for (const int i : u_.output) shape.push_back(u_.extents[static_cast<std::size_t>(i)]);
    const auto by_dimension = u_.strides.empty() ? row_major_strides(shape) : u_.strides;
    Buffer none;
    none.dtype = u_.compute;
    const Tensor empty = dense_view(none, shape, by_dimension, 0, u_.fill);
    dense_ = EmptyResult{.type = empty.type(),
                         .part = empty.part(),
                         .size = u_.strides.empty() ? checked_product(shape).value_or(-1) : u_.size,
                         .strides = std::vector<i64>(extents_.size(), 0)};
    for (std::size_t d = 0; d < u_.output.size(); ++d)
      dense_->strides[static_cast<std::size_t>(var[static_cast<std::size_t>(u_.output[d])])] = by_dimension[d];
    if (u_.skew)
      dense_->strides[static_cast<std::size_t>(var[static_cast<std::size_t>(u_.skew->index)])] = u_.skew->stride;
  }

  /// Do all operands that have this variable lie along it in memory?
  bool all_lie_along(int var) const {
    return std::ranges::all_of(input_.operands, [&](const merging::Operand& o) { return lies_along(o, var); });
  }
  static bool lies_along(const merging::Operand& o, int var) {
    return !o.has(var) || (o.contiguous >= 0 && o.vars[static_cast<std::size_t>(o.contiguous)] == var) ||
           (o.tail > 0 && o.vars.back() == var);
  }

  /// Does the sum, of which there is one, run over few terms in vectors? These keep its digits as they are.
  bool sums_few_in_vectors() const {
    const int last = input_.num_vars - 1;
    const auto runs_along = [&](int k) { return input_.operands[static_cast<std::size_t>(k)].has(last); };
    return all_lie_along(last) && input_.summed.back() && input_.constants.back() > 0 && input_.lanes > 1 &&
           merging::has_lanes(input_, runs_along);
  }

  /// Is the outermost loop too short for chunks of it to share out the work, and can the next one be cut as well?
  bool cuts_second() const {
    constexpr i64 few = 64;
    constexpr double much = 65536;  // visits
    const bool held = std::ranges::find(input_.held, 1, &merging::HeldPlaces::var) != input_.held.end();
    const bool places = (o_.dense_result && o_.along < 0) || o_.pattern >= 0;
    if (!places || input_.num_vars < 2 || input_.slots || o_.slots != Order::nested || held || input_.tile == 1 ||
        input_.summed[0] || input_.summed[1] || extents_[0] >= few || extents_[1] < 2 || input_.constants[1] > 0 ||
        o_.visits < much)
      return false;
    return std::ranges::all_of(input_.operands, [](const merging::Operand& o) {
      for (std::size_t l = 0; l < o.vars.size() && !o.dense; ++l)
        if (o.vars[l] <= 1 && o.type.levels[l].kind != LevelKind::dense) return false;
      return true;
    });
  }

  /// Do the loops behind the tile add to memory, of which calls may have parts that are some vectors wide?
  bool cuts_tile() const {
    return input_.tile >= 0 && o_.adds_tile(u_) && input_.summed[0] &&
           extents_[static_cast<std::size_t>(input_.tile)] >= 2 * i64{input_.lanes};
  }

  /// So many sums side by side as stay in registers: fewer beside functions of their terms.
  i64 most_sums() const {
    const i64 many = machine().vector_bytes >= 64 ? 24 : 12;
    return u_.nodes.back().op == Operator::multiply && u_.nodes.back().formula.empty() ? many : many * 2 / 3;
  }

  /// Bytes of the largest dense operand that runs along the tile.
  double largest_along_tile() const {
    double out = 0;
    for (std::size_t k = 0; k < u_.accesses.size(); ++k)
      if (const Access& a = u_.accesses[k]; a.dense && std::ranges::count(a.indices, o_.tile) > 0)
        out =
            std::max(out, planning::dense_size(stored_[k].type) * static_cast<double>(size_of(stored_[k].type.dtype)));
    return out;
  }

  /// Places of blocks that are held, in pieces where they are too many.
  void hold(const std::vector<int>& var) {
    // A vector that is loaded serves all places, a value all vectors: some of both, and long pieces of rows that come
    // from memory.
    const i64 vectors = largest_along_tile() > far_bytes ? 6 : 3,
              all = o_.tile < 0 ? 1 : ceil_div(u_.extents[static_cast<std::size_t>(o_.tile)], lanes_of(u_.compute)),
              most = most_sums() / std::min(vectors, all);
    i64 places = 1;
    for (auto i = o_.held.rbegin(); i != o_.held.rend(); ++i) {
      const i64 n = u_.extents[static_cast<std::size_t>(*i)];
      i64 piece = n;
      while (places * piece > most || n % piece != 0) --piece;
      places *= piece;
      input_.held.insert(input_.held.begin(), {var[static_cast<std::size_t>(*i)], piece});
    }
    const int last = input_.num_vars - 1;
    const auto lies_across = [&](const merging::Operand& o) { return o.dense && !lies_along(o, last); };
    // What was planned for may lie in memory otherwise.
    if (!o_.lanes_of_sum || std::ranges::any_of(input_.operands, lies_across)) return;
    input_.lanes_of_sum = true;
    while (extents_.back() % input_.lanes != 0) input_.lanes /= 2;
    input_.few_terms = !sums_long(u_, o_) && !variant_.long_rows;
  }
  i64 held_places() const {
    i64 out = 1;
    for (const merging::HeldPlaces& h : input_.held) out *= h.piece;
    return out;
  }

  /// This variable is the tile.
  void take_tile(int var) {
    if (!all_lie_along(var)) return;  // what was planned for may lie in memory otherwise
    const i64 extent = extents_[static_cast<std::size_t>(var)];
    if (extent <= largest_row) columns_ = extent;
    const bool constant = extent <= largest_row && !variant_.any_columns;
    input_.tile = var;
    input_.constants[static_cast<std::size_t>(var)] = constant ? extent : 0;
    input_.lanes = is_complex(u_.compute) ? 1 : lanes_of(u_.compute);
    while (input_.lanes > extent) input_.lanes /= 2;
    input_.few_terms = !sums_long(u_, o_) && !variant_.long_rows;
    // As many vectors as fit beside what is computed with them; a constant extent is cut evenly.
    const i64 all = ceil_div(extent, input_.lanes),
              fit = input_.held.empty() ? tile_vectors : std::max<i64>(1, most_sums() / held_places());
    input_.vectors = static_cast<int>(constant ? ceil_div(all, ceil_div(all, fit)) : fit);
  }

  /// Are rows prefetched?
  void find_prefetch() {
    if (variant_.rows != RowOrder::any && variant_.rows != RowOrder::identical) {
      input_.prefetch = prefetch_in_order(o_.rows, variant_.rows);
      return;
    }
    for (std::size_t k = 0; k < input_.operands.size(); ++k) {
      if (!merging::has_chosen_rows(input_, static_cast<int>(k))) continue;
      double bytes = static_cast<double>(size_of(input_.operands[k].type.dtype));
      for (const int v : input_.operands[k].vars) bytes *= static_cast<double>(extents_[static_cast<std::size_t>(v)]);
      // What a cache holds comes soon enough: to ask for it costs more (4 columns of 50,000 rows on Zen 4: 0.5 to 0.8).
      if (bytes > far_bytes) input_.prefetch.ahead = rows_ahead;
    }
    if (input_.prefetch.ahead == 0 || input_.pattern < 0) return;
    // Of inner products, as the machine wants it.
    const Machine& m = machine();
    input_.prefetch = {.ahead = m.rows_ahead, .second_level = m.rows_second_level, .near = m.rows_near};
  }

  const Unit& u_;
  const Order& o_;
  merging::Input& input_;
  const std::vector<StoredOperand>& stored_;
  std::vector<i64>&extents_, &bounds_;
  std::optional<EmptyResult>& dense_;
  i64& columns_;
  const TextVariant variant_;
};

}  // namespace

bool sums_long(const Unit& u, const Order& o) {
  double places = 1;
  for (const int i : u.output) places *= static_cast<double>(u.extents[static_cast<std::size_t>(i)]);
  return o.visits > places * static_cast<double>(planning::long_sum);
}

int lanes_of(DType t) { return std::max(1, machine().vector_bytes / static_cast<int>(size_of(t))); }

FittedNest::FittedNest(const Unit& unit, const Order& order, TextVariant how)
    : stored(expected_operands(unit, order)), variant(how) {
  Fitter(unit, order, *this).fit();
}

FittedNest::FittedNest(const Unit& unit, const Order& order, std::span<const Tensor> operands, TextVariant how)
    : stored(as_stored(operands)), variant(how) {
  Fitter(unit, order, *this).fit();
}

FittedNest::FittedNest(const Unit& unit, const Order& order, const FittedNest& other, TextVariant how)
    : stored(other.stored), variant(how), epoch(other.epoch) {
  Fitter(unit, order, *this).fit();
}

bool FittedNest::fits(std::span<const Tensor> operands, TextVariant now) const {
  now.any_columns = variant.any_columns;  // (Whichever was taken serves again.)
  if (!epoch.is_now() || !(now == variant)) return false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const Tensor& t = operands[k];
    if (!(t.type() == stored[k].type)) return false;
    if (t.format().is_all_dense() ? t.part().strides != stored[k].strides
                                  : planning::counted(t)->positions != stored[k].positions)
      return false;
  }
  return true;
}

std::shared_ptr<const FittedNest> fitted(const Unit& unit, const Order& order, std::span<const Tensor> operands) {
  const TextVariant now{.rows = order.pattern < 0
                                    ? RowOrder::any
                                    : order_of(order.rows, operands[static_cast<std::size_t>(order.pattern)]),
                        .long_rows = have_long_rows(unit, order, operands)};
  auto last = order.fitted.get();
  if (last && last->fits(operands, now)) return last;
  auto made = std::make_shared<const FittedNest>(unit, order, operands, now);
  order.fitted.set(made);
  return made;
}

namespace {

/// Is a kernel for any number of columns to take the place of the one for these?
bool serves_any_columns(const FittedNest& own, const Unit& unit, const Order& order, FittedNest& any) {
  // Measured on COO and BSR: a text for one number of columns is 1.1 to 1.7 times as fast up to 33 of them, 1.0
  // from 50.
  constexpr i64 few = 32;
  if (own.columns == 0 || settings().engine == "interpreter" || (has_compiler() && own.columns <= few) ||
      is_ahead(own.input))
    return false;
  TextVariant how = own.variant;
  how.any_columns = true;
  any = FittedNest(unit, order, own, how);
  return is_ahead(any.input);
}

}  // namespace

std::shared_ptr<const FittedNest> with_kernel(std::shared_ptr<const FittedNest> nest, const Unit& unit,
                                              const Order& order) {
  if (nest->kernel) return nest;
  auto made = std::make_shared<FittedNest>(*nest);
  if (FittedNest any = *nest; serves_any_columns(*nest, unit, order, any)) *made = std::move(any);
  made->kernel = kernel_for(made->input);
  order.fitted.set(made);
  return made;
}

std::string how_it_runs(const FittedNest& nest, const Unit& unit, const Order& order) {
  if (settings().engine == "interpreter") return "run by the interpreter: settings().engine asks for it";
  if (is_ahead(nest.input)) return "compiled ahead of time";
  if (FittedNest any = nest; serves_any_columns(nest, unit, order, any))
    return "compiled ahead of time, for any number of columns";
  if (has_compiler()) return "compiled on demand";
  return "run by the interpreter, which is right but slow: no compiler (" + compiler_description() + ")";
}

}  // namespace strata::direct
