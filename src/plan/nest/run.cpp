// Operands brought into loop order, and the result as a tensor.
#include "plan/nest/run.h"

#include "compiler/emit/emit_c.h"
#include "convert/convert_elements.h"
#include "execute/dense_view.h"
#include "plan/lazy_convert.h"
#include "plan/nest/aligned.h"
#include "plan/nest/panels.h"
#include "plan/nest/plain.h"
#include "tensor/row_major.h"

namespace strata::direct {

/// The matrix whose elements are added to a vector one by one, as those of a transposed view are; -1: none.
static int scattered(const Unit& u, const Order& o) {
  int found = -1, sparse = 0;
  for (std::size_t k = 0; k < u.accesses.size(); ++k) {
    if (u.accesses[k].dense) continue;
    ++sparse;
    if (u.accesses[k].indices.size() == 2 && !o.convert[k]) found = static_cast<int>(k);
  }
  const bool vector = o.dense_result && u.output.size() == 1 && u.combine == merging::Combine::plus;
  return vector && sparse == 1 && u.extents.size() == 2 && u.summed[static_cast<std::size_t>(o.indices[0])] ? found
                                                                                                            : -1;
}

std::string LoopNest::describe(const Format& wanted, bool code) const {
  std::string out;
  for (std::size_t k = 0; k < u_.accesses.size(); ++k)
    if (o_.convert[k])
      out += "first " + u_.accesses[k].name + " to " + o_.convert[k]->to_string() + ": " +
             reason_to_convert(u_, o_, k) + "\n";
  for (const AlignedRows& a : o_.aligned) {
    const Access& driver = u_.accesses[a.driver];
    const bool deepest = static_cast<int>(a.level) + 1 == driver.tensor.format().num_levels();
    const std::string of = deepest        ? ""
                           : a.level == 0 ? "'s first level"
                                          : "'s first " + std::to_string(a.level + 1) + " levels";
    out += "copy of " + u_.accesses[a.access].name + " " + a.copy.text(driver.name + of) + "\n";
  }
  if (o_.rows.may_be_identical)
    out += "rows with the same coordinates are computed four at a time, where most come in blocks of four or more\n";
  if (o_.rows.row_bytes > 0)
    out +=
        "kernels of their own for bands and meshes, for blocks, and for rows in no order: they differ in when rows are "
        "prefetched\n";
  if (o_.panels) out += "panels: " + text_of(*o_.panels, u_, o_) + "\n";
  const merging::LoweredNest lowered = merging::lower(input());
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
  if (const int k = scattered(u_, o_); k >= 0)
    out += "advice: what is stored scatters into the result: where the product repeats, convert " +
           u_.accesses[static_cast<std::size_t>(k)].name + " once to a format whose rows are the result's, such as " +
           u_.accesses[static_cast<std::size_t>(k)].name + ".to(\"CSR\")\n";
  out += "kernel: " + how_it_runs(*fitted_, u_, o_) + "\n";
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
  fitted_ = with_kernel(std::move(fitted_), u_, o_);
  if (!has_twins()) return std::nullopt;
  if (o_.pattern >= 0 && sums_nothing()) {  // 0, whatever the operands store
    const Tensor& t = tensors_[static_cast<std::size_t>(o_.pattern)];
    return with_values(u_, t, Buffer::filled(u_.absent, slots_of_result(t)));
  }
  RawArrays arrays = *execution::run(job());
  if (o_.pattern >= 0) return with_values(u_, tensors_[static_cast<std::size_t>(o_.pattern)], std::move(arrays.values));
  if (o_.dense_result && o_.along < 0) return dense_result(std::move(arrays.values));
  return make_tensor(format(levels()), shape(), std::move(arrays), u_.fill, false);
}

std::optional<Tensor> Run::run_into(Buffer memory, const Scalar& beta) {
  if (beta.is_zero()) {
    fitted_ = with_kernel(std::move(fitted_), u_, o_);
  } else {
    auto nest = std::make_shared<FittedNest>(*fitted_);
    nest->input.joins = true;
    nest->kernel = kernel_for(nest->input);
    fitted_ = std::move(nest);
  }
  if (!has_twins()) return std::nullopt;
  if (!beta.is_zero()) execution::scale(execution::view_of(memory.dtype, memory.data, memory.size), beta);
  RawArrays arrays = *execution::run(job(std::move(memory)));
  if (o_.pattern >= 0) return with_values(u_, tensors_[static_cast<std::size_t>(o_.pattern)], std::move(arrays.values));
  return dense_result(std::move(arrays.values));
}

std::optional<Tensor> Run::run_in_pattern_of(const Tensor& earlier) {
  // (How wide positions are is what counting them would say.)
  if (!no_numeric_phase(earlier.format()).empty() || earlier.shape() != shape() ||
      earlier.type().pos_dtype != index_dtype_for(earlier.nse()))
    return std::nullopt;
  merging::Operand pattern{.type = earlier.type(), .vars = result_variables()};
  pattern.type.dtype = u_.compute;  // its values are not read
  pattern.type.shared_value = false;
  auto nest = std::make_shared<FittedNest>(*fitted_);
  nest->input.earlier = static_cast<int>(input().operands.size());
  nest->input.operands.push_back(std::move(pattern));
  nest->kernel = kernel_for(nest->input);
  fitted_ = std::move(nest);
  tensors_.push_back(earlier);
  if (!has_twins()) return std::nullopt;
  auto arrays = execution::run(job());
  return arrays ? std::optional(with_values(u_, earlier, std::move(arrays->values))) : std::nullopt;
}

bool Run::has_twins() const {
  for (std::size_t k = 0; k < tensors_.size(); ++k) {  // what a guard made otherwise may have other elements
    const int twin = input().operands[k].twin;
    if (twin >= 0 && !planning::have_one_pattern(tensors_[static_cast<std::size_t>(twin)], tensors_[k])) return false;
  }
  return true;
}

bool LoopNest::sums_nothing() const {
  for (std::size_t v = 0; v < extents().size(); ++v)
    if (input().summed[v] && extents()[v] == 0) return true;
  return false;
}

i64 Run::slots_of_result(const Tensor& pattern) const {
  const bool used = input().slots || pattern.type().shared_value;
  return used ? used_values(pattern.part()) : pattern.part().values.size;
}

bool LoopNest::sums_everywhere() const {
  const auto& summed = input().summed;
  if (!u_.bounds.empty() || u_.mask >= 0 || u_.skew || meets() || !summed.back() ||
      u_.combine == merging::Combine::first)
    return false;
  const auto inside = static_cast<int>(std::ranges::find(summed, 1) - summed.begin());
  return std::ranges::all_of(input().operands, [&](const merging::Operand& o) {
    const auto is_outside = [&](int v) { return v < inside; };
    // A factor that is known outside of the sum may say that nothing comes.
    if (o.dense) return !std::ranges::all_of(o.vars, is_outside) || o.has(input().tile);
    for (std::size_t l = 0; l < o.vars.size(); ++l)
      if (is_outside(o.vars[l]) && o.type.levels[l].kind != LevelKind::dense) return false;
    return true;
  });
}

Run::Run(const Unit& unit, const Order& order, std::span<const Tensor> operands)
    : Run(unit, order,
          order.aligned.empty() ? in_loop_order(unit, order, operands)
                                : in_loop_order(unit, order, with_aligned_rows(order, operands))) {
  // What was planned for rounded counts, of these.
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const double planned = unit.accesses[k].tensor.stats().stored;
    if (unit.accesses[k].dense || order.shared(unit, k) >= 0 || planned <= 0) continue;
    visits_ *= std::max(1.0, static_cast<double>(operands[k].nse())) / planned;
  }
}

Run::Run(const Unit& unit, const Order& order, std::vector<Tensor> stored)
    : LoopNest(unit, order, fitted(unit, order, stored)), tensors_(std::move(stored)), visits_(order.visits) {}

std::vector<Tensor> Run::in_loop_order(const Unit& u, const Order& o, std::span<const Tensor> operands) {
  std::vector<Tensor> out;
  out.reserve(operands.size());
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
  out.reserve(u_.output.size());
  for (int i : u_.output) out.push_back(u_.extents[static_cast<std::size_t>(i)]);
  return out;
}

Tensor Run::dense_result(Buffer values) const {
  std::vector<Part> parts(1, fitted_->dense->part);  // (not from a list: small results are made often)
  parts[0].values = std::move(values);
  return make_from_parts(fitted_->dense->type, std::move(parts));
}

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
    const bool dense = (l == 0 && input().dense_top) || l >= levels;
    b.level(b.dim(static_cast<int>(d)), Level{.kind = dense ? LevelKind::dense : LevelKind::compressed});
    ++l;
  }
  return b.build();
}

}  // namespace strata::direct
