// Operands brought into loop order, and the result as a tensor.
#include "plan/nest/run.h"

#include "compiler/emit/emit_c.h"
#include "compiler/lower.h"
#include "convert/convert_elements.h"
#include "machine/machine.h"
#include "plan/lazy_convert.h"
#include "plan/nest/aligned.h"
#include "plan/nest/plain.h"
#include "plan/nest/tile.h"
#include "strata/settings.h"
#include "tensor/row_major.h"

namespace strata::direct {
namespace {

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

}  // namespace

bool sums_many_terms(const Unit& u, const Order& o) {
  constexpr double many = 16;
  double places = 1;
  for (const int i : u.output) places *= static_cast<double>(u.extents[static_cast<std::size_t>(i)]);
  return o.visits >= many * places;
}

int lanes_of(DType t) { return std::max(1, host_target().vector_bytes / static_cast<int>(size_of(t))); }

std::string LoopNest::describe(const Format& wanted, bool code) const {
  std::string out;
  for (std::size_t k = 0; k < u_.accesses.size(); ++k)
    if (o_.convert[k])
      out += "first " + u_.accesses[k].name + " to " + o_.convert[k]->to_string() + ": " +
             reason_to_convert(u_, o_, k) + "\n";
  for (const AlignedRows& a : o_.aligned)
    out += "copy of " + u_.accesses[a.access].name + " " + a.copy.text(u_.accesses[a.driver].name) + "\n";
  const merging::LoweredNest lowered = merging::lower(input_);
  for (std::size_t v = 0; v < o_.indices.size(); ++v)
    out += (v ? ", " : "loops over ") + u_.names[static_cast<std::size_t>(o_.indices[v])];
  out += " (below: i, j, ... in this order; t0, t1, ... are the operands as they occur)\n" + lowered.text;
  if (o_.pattern >= 0) {
    out += "into the pattern of " + u_.accesses[static_cast<std::size_t>(o_.pattern)].name + "\n";
  } else if (o_.along >= 0) {
    out += "into about " + std::to_string(static_cast<i64>(o_.diagonals)) + " diagonals\n" +
           "guard: they are few beside the work; otherwise elements come row by row and are converted\n";
  } else if (o_.dense_result) {
    out += "into a dense result\n";
  } else {
    const Format built = format(lowered.levels.size());
    out += "appends to " + built.to_string() + "\n";
    if (!(built == wanted)) out += "then converts to " + wanted.to_string() + "\n";
  }
  if (code) out += "\n--- loop IR ---\n" + ir::to_string(lowered.function) + "\n--- C ---\n" + emit_c(lowered.function);
  return out;
}

std::optional<Tensor> Run::run() {
  if (o_.along >= 0) {
    auto found = diagonals_of_result(u_, tensors_);
    const auto length =
        static_cast<double>(u_.extents[static_cast<std::size_t>(u_.output[static_cast<std::size_t>(o_.along)])]);
    if (!found || !strips_fit(static_cast<double>(found->size()), length, visits_)) return std::nullopt;
    diagonals_ = *std::move(found);
  }
  if (!get_kernel()) return std::nullopt;
  RawArrays arrays = *execution::run(job());
  if (o_.pattern >= 0) return with_values(u_, tensors_[static_cast<std::size_t>(o_.pattern)], std::move(arrays.values));
  if (o_.dense_result && o_.along < 0) return dense_view(arrays.values, shape(), strides(), 0, u_.fill);
  return make_tensor(format(levels()), shape(), std::move(arrays), u_.fill, false);
}

std::optional<Tensor> Run::run_in_pattern_of(const Tensor& earlier) {
  // (How wide positions are is what counting them would say.)
  if (!no_numeric_phase(earlier.format()).empty() || earlier.shape() != shape() ||
      earlier.type().pos_dtype != index_dtype_for(earlier.nse()))
    return std::nullopt;
  merging::Operand pattern{.type = earlier.type(), .vars = result_variables()};
  pattern.type.dtype = u_.compute;  // its values are not read
  pattern.type.shared_value = false;
  input_.earlier = static_cast<int>(input_.operands.size());
  input_.operands.push_back(std::move(pattern));
  tensors_.push_back(earlier);
  if (!get_kernel()) return std::nullopt;
  auto arrays = execution::run(job());
  return arrays ? std::optional(with_values(u_, earlier, std::move(arrays->values))) : std::nullopt;
}

bool Run::get_kernel() {
  for (std::size_t k = 0; k < tensors_.size(); ++k) {  // what a guard made otherwise may have other elements
    const int twin = input_.operands[k].twin;
    if (twin >= 0 && !planning::have_one_pattern(tensors_[static_cast<std::size_t>(twin)], tensors_[k])) return false;
  }
  kernel_ = kernel_for(input_);
  return kernel_->executable.function || settings().engine == "interpreter";
}

bool LoopNest::counts_dense_alone(int index) const {
  return std::all_of(u_.accesses.begin(), u_.accesses.end(), [&](const Access& a) {
    return a.dense || std::find(a.indices.begin(), a.indices.end(), index) == a.indices.end();
  });
}

StoredOperand stored_as(const Tensor& t) {
  if (t.format().is_all_dense()) return {t.type(), t.part().strides, {}};
  return {t.type(), {}, coordinates_of(t.type(), planning::positions_of(t.part()))};
}

namespace {

std::vector<StoredOperand> likely(const Unit& u, const Order& o) {
  std::vector<StoredOperand> out;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const Lazy& t = u.accesses[k].tensor;
    if (u.accesses[k].dense) {
      const Lazy d = strided(t);
      out.push_back({d.type(), planning::assumed_strides(d.type()), {}});
    } else if (o.convert[k]) {
      const TensorType type = converted_type(t.type(), t.stats().stored, *o.convert[k]);
      out.push_back({type, {}, coordinates_of(type, planning::stats_for(type, t.stats().stored).children)});
    } else {
      out.push_back({t.type(), {}, coordinates_of(t.type(), t.stats().children)});
    }
  }
  return out;
}

std::vector<StoredOperand> as_stored(std::span<const Tensor> tensors) {
  std::vector<StoredOperand> out;
  for (const Tensor& t : tensors) out.push_back(stored_as(t));
  return out;
}

}  // namespace

LoopNest::LoopNest(const Unit& unit, const Order& order) : LoopNest(unit, order, likely(unit, order)) {}

LoopNest::LoopNest(const Unit& unit, const Order& order, std::vector<StoredOperand> stored)
    : u_(unit), o_(order), stored_(std::move(stored)) {
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
    const bool in_vectors = v + 1 == o_.indices.size() && u_.summed[i] && input_.lanes > 1 &&
                            extents_.back() <= largest_sum && counts_dense_alone(o_.indices[v]);
    // Compilers take several vectors a step, and a row shorter than that element by element, unless they know its
    // length.
    const bool row = v + 1 == o_.indices.size() && !u_.summed[i] && extents_.back() >= least_row &&
                     extents_.back() <= largest_row && counts_dense_alone(o_.indices[v]);
    // One sum of so few terms keeps its digits as it is.
    if (in_vectors && std::ranges::count(u_.summed, 1) == 1) input_.few_terms = true;
    while (in_vectors && input_.lanes > extents_.back()) input_.lanes /= 2;
    const bool constant =
        in_vectors || row ||
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
    const auto& [type, strides, elements] = stored_[k];
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
      parents = elements[at];
    }
    operand.twin = o_.shared(u_, k);
    if (u_.drops_fill_in && !a.dense && static_cast<int>(k) != u_.mask && f.can_hold_fill())
      operand.missing = type.fill.as(type.dtype);
    if (input_.slots && a.dense && !a.indices.empty()) operand.dense = false, operand.each_slot = true;
    input_.operands.push_back(std::move(operand));
  }
  if (o_.tile >= 0) take_tile(var[static_cast<std::size_t>(o_.tile)]);
  find_rows_ahead();
}

bool LoopNest::sums_everywhere() const {
  const auto& summed = input_.summed;
  if (!u_.bounds.empty() || u_.mask >= 0 || !u_.strides.empty() || u_.skew || meets() || !summed.back() ||
      u_.combine == merging::Combine::first)
    return false;
  const auto inside = static_cast<int>(std::ranges::find(summed, 1) - summed.begin());
  return std::ranges::all_of(input_.operands, [&](const merging::Operand& o) {
    const auto is_outside = [&](int v) { return v < inside; };
    // A factor that is known outside of the sum may say that nothing comes.
    if (o.dense)
      return !std::ranges::all_of(o.vars, is_outside) || std::ranges::find(o.vars, input_.tile) != o.vars.end();
    for (std::size_t l = 0; l < o.vars.size(); ++l)
      if (is_outside(o.vars[l]) && o.type.levels[l].kind != LevelKind::dense) return false;
    return true;
  });
}

void LoopNest::take_tile(int var) {
  for (const auto& o : input_.operands) {  // what was planned for may lie in memory otherwise
    if (std::ranges::find(o.vars, var) == o.vars.end()) continue;
    if (o.contiguous < 0 || o.vars[static_cast<std::size_t>(o.contiguous)] != var) return;
  }
  const i64 extent = extents_[static_cast<std::size_t>(var)];
  const bool constant = extent <= largest_row;
  input_.tile = var;
  input_.constants[static_cast<std::size_t>(var)] = constant ? extent : 0;
  input_.lanes = lanes_of(u_.compute);
  while (input_.lanes > extent) input_.lanes /= 2;
  input_.few_terms = !sums_many_terms(u_, o_);
  // As many vectors as fit beside what is computed with them; a constant extent is cut evenly.
  const i64 all = ceil_div(extent, input_.lanes), fit = tile_vectors;
  input_.vectors = static_cast<int>(constant ? ceil_div(all, ceil_div(all, fit)) : fit);
}

void LoopNest::find_rows_ahead() {
  for (std::size_t k = 0; k < input_.operands.size(); ++k) {
    if (!merging::has_chosen_rows(input_, static_cast<int>(k))) continue;
    double bytes = static_cast<double>(size_of(input_.operands[k].type.dtype));
    for (const int v : input_.operands[k].vars) bytes *= static_cast<double>(extents_[static_cast<std::size_t>(v)]);
    // What a cache holds comes soon enough: to ask for it costs more (4 columns of 50,000 rows on Zen 4: 0.5 to 0.8).
    if (bytes > far_bytes) input_.rows_ahead = rows_ahead;
  }
}

Run::Run(const Unit& unit, const Order& order, std::span<const Tensor> operands)
    : Run(unit, order, in_loop_order(unit, order, with_aligned_rows(order, operands))) {
  // What was planned for rounded counts, of these.
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const double planned = unit.accesses[k].tensor.stats().stored;
    if (unit.accesses[k].dense || order.shared(unit, k) >= 0 || planned <= 0) continue;
    visits_ *= std::max(1.0, static_cast<double>(operands[k].nse())) / planned;
  }
}

Run::Run(const Unit& unit, const Order& order, std::vector<Tensor> stored)
    : LoopNest(unit, order, as_stored(stored)), tensors_(std::move(stored)), visits_(order.visits) {}

std::vector<Tensor> Run::in_loop_order(const Unit& u, const Order& o, std::span<const Tensor> operands) {
  std::vector<Tensor> out;
  const auto stored = [&](std::size_t k) {
    if (!o.convert[k]) return operands[k];
    const bool mask = static_cast<int>(k) == u.mask;
    for (std::size_t p = 0; p < k; ++p)  // a tensor that occurs twice
      if (o.convert[p] && *o.convert[p] == *o.convert[k] && operands[p].same_object(operands[k]) &&
          mask == (static_cast<int>(p) == u.mask))
        return out[p];
    return convert(operands[k], *o.convert[k], {.zeros = u.drops_fill_in || mask ? Zeros::automatic : Zeros::keep});
  };
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    const bool dense = u.accesses[k].dense;
    Tensor t = dense ? strided(operands[k]) : stored(k);
    if (!dense && t.part().value_stride != 1 && !t.type().shared_value)
      t = make_from_parts(t.type(), {with_own_values(t.part(), t.dtype())});
    out.push_back(std::move(t));
  }
  return out;
}

Tensor with_values(const Unit& unit, const Tensor& pattern, Buffer values) {
  Part part = pattern.part();
  part.values = std::move(values);
  part.value_stride = 1;
  TensorType type = pattern.type();
  type.dtype = unit.compute;
  type.fill = unit.fill;
  type.shared_value = false;
  return make_from_parts(std::move(type), {std::move(part)});
}

Shape Run::shape() const {
  Shape out;
  for (int i : u_.output) out.push_back(u_.extents[static_cast<std::size_t>(i)]);
  return out;
}

std::vector<i64> Run::strides() const { return u_.strides.empty() ? row_major_strides(shape()) : u_.strides; }

Format LoopNest::format(std::size_t levels) const {
  std::vector<std::string> names;
  for (int index : u_.output) names.push_back(u_.names[static_cast<std::size_t>(index)]);
  FormatBuilder b(names);
  if (o_.along >= 0) {
    b.level(b.sub(b.dim(1), b.dim(0)), Level{.kind = LevelKind::compressed});
    b.level(b.dim(o_.along), Level{.kind = LevelKind::range});
    return b.build();
  }
  if (o_.blocks) {
    const bool first = o_.indices[0] == u_.output[0];
    const int rows = b.dim(first ? 0 : 1), columns = b.dim(first ? 1 : 0);
    b.level(b.div(rows, o_.blocks.rows), Level{});
    b.level(b.div(columns, o_.blocks.columns), Level{.kind = LevelKind::compressed});
    const int row_in = b.mod(rows, o_.blocks.rows), column_in = b.mod(columns, o_.blocks.columns);
    b.level(o_.blocks.column_major ? column_in : row_in, Level{});
    b.level(o_.blocks.column_major ? row_in : column_in, Level{});
    return b.build();
  }
  std::size_t l = 0;
  for (int index : o_.indices) {
    if (!u_.is_output(index)) continue;
    const auto d = std::find(u_.output.begin(), u_.output.end(), index) - u_.output.begin();
    const bool dense = (l == 0 && input_.dense_top) || l >= levels;
    b.level(b.dim(static_cast<int>(d)), Level{.kind = dense ? LevelKind::dense : LevelKind::compressed});
    ++l;
  }
  return b.build();
}

}  // namespace strata::direct
