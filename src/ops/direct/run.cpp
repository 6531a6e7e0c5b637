// Operands brought into loop order, chunks cut, the kernel called; dense results.
#include "ops/direct/run.h"

#include "backend/pool.h"
#include "base/checked.h"
#include "base/share.h"
#include "compiler/emit/emit_c.h"
#include "compiler/lower.h"
#include "ops/convert_elements.h"
#include "ops/direct/flat.h"
#include "ops/direct/plain.h"
#include "ops/reference/column.h"
#include "strata/settings.h"

namespace strata::direct {
namespace {

constexpr i64 work_per_chunk = 16384;                               ///< visits and stored elements: some 20 us
constexpr i64 most_chunks = 64, work_between_polls = i64{1} << 26;  ///< Ctrl-C is heard between chunks: some 0.2 s
constexpr i64 largest_constant = 32;  ///< extents of blocks up to this stand in the kernel's text
constexpr i64 largest_sum = 128;      ///< ... and of innermost sums over dense memory

}  // namespace

std::string Run::describe(const Format& wanted, bool code) {
  std::string out;
  for (std::size_t k = 0; k < u_.accesses.size(); ++k)
    if (o_.convert[k]) out += "first " + u_.accesses[k].name + " to " + o_.convert[k]->to_string() + "\n";
  prepare();
  const merging::Lowered lowered = merging::lower(input_);
  for (std::size_t v = 0; v < o_.indices.size(); ++v)
    out += (v ? ", " : "loops over ") + u_.names[static_cast<std::size_t>(o_.indices[v])];
  out += " (below: i, j, ... in this order; t0, t1, ... are the operands as they occur)\n" + lowered.text;
  if (o_.pattern >= 0) {
    out += "into the pattern of " + u_.accesses[static_cast<std::size_t>(o_.pattern)].name + "\n";
  } else if (o_.along >= 0) {
    out += "into " + std::to_string(o_.diagonals.size()) + " diagonals\n";
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
  prepare();
  kernel_ = kernel_for(input_);
  if (!kernel_->executable.function && settings().engine != "interpreter") return std::nullopt;
  if (input_.slots) return in_slots();
  cut();
  if (o_.along >= 0) return by_diagonals();
  return o_.pattern >= 0 ? in_pattern() : o_.dense_result ? dense() : assembled();
}

bool Run::counts_dense_alone(int index) const {
  return std::all_of(u_.accesses.begin(), u_.accesses.end(), [&](const Access& a) {
    return a.dense || std::find(a.indices.begin(), a.indices.end(), index) == a.indices.end();
  });
}

void Run::prepare() {
  static_cast<merging::Computation&>(input_) = u_;
  input_.num_vars = static_cast<int>(o_.indices.size());
  input_.dense_result = o_.dense_result;
  input_.pattern = o_.pattern;
  input_.slots = o_.slots == Order::in_rows;
  input_.dense_top = o_.dense_top;
  input_.dense_tail = o_.dense_tail;
  input_.blocks = o_.blocks;
  if (u_.compute == DType::f32 || u_.compute == DType::f64)
    input_.lanes = host_target().vector_bytes / static_cast<int>(size_of(u_.compute));
  std::vector<int> var(o_.indices.size());  // of an index
  for (std::size_t v = 0; v < o_.indices.size(); ++v) {
    var[static_cast<std::size_t>(o_.indices[v])] = static_cast<int>(v);
    input_.summed.push_back(u_.summed[static_cast<std::size_t>(o_.indices[v])]);
    extents_.push_back(u_.extents[static_cast<std::size_t>(o_.indices[v])]);
    const auto i = static_cast<std::size_t>(o_.indices[v]);
    const bool in_vectors = v + 1 == o_.indices.size() && u_.summed[i] && input_.lanes > 1 &&
                            extents_.back() <= largest_sum && counts_dense_alone(o_.indices[v]);
    const bool constant =
        in_vectors ||
        (u_.constants[i] > 0 && (extents_.back() <= largest_constant || o_.hints[i] == merging::Hint::unrolled));
    input_.constants.push_back(constant ? extents_.back() : 0);
    input_.hints.push_back(o_.hints[i]);
  }
  if (o_.along >= 0)
    input_.diagonals = {.row = var[static_cast<std::size_t>(u_.output[0])],
                        .column = var[static_cast<std::size_t>(u_.output[1])],
                        .along_columns = o_.along == 1};
  else if (o_.dense_result && !u_.output.empty()) input_.contiguous = var[static_cast<std::size_t>(u_.output.back())];
  input_.bounds.assign(u_.bounds.begin(), u_.bounds.end());
  for (const auto& bound : u_.bounds) bounds_.push_back(bound.extent);
  for (auto& bound : input_.bounds)
    for (auto& [v, c] : bound.terms) v = var[static_cast<std::size_t>(v)];
  i64 largest = 0;
  for (std::size_t v = 0; v < extents_.size(); ++v)
    if (!input_.summed[v]) largest = std::max(largest, extents_[v] - 1);
  input_.crd = index_dtype_for(largest);
  for (std::size_t k = 0; k < u_.accesses.size(); ++k) {
    const Access& a = u_.accesses[k];
    Tensor t = a.dense ? strided(a.tensor) : stored(k);
    merging::Operand operand{.type = t.type(), .vars = {}, .dense = a.dense};
    const Format& f = t.format();
    i64 parents = 1;
    for (int l = 0; l < f.num_levels(); ++l) {
      if (a.dense && t.part().strides[static_cast<std::size_t>(l)] == 1) operand.contiguous = l;
      const auto d = static_cast<std::size_t>(f.spec().exprs[static_cast<std::size_t>(f.level(l).expr)].a);
      operand.vars.push_back(var[static_cast<std::size_t>(a.indices[d])]);
      if (f.level(l).kind != LevelKind::compressed) {
        parents *= t.shape()[d];
        continue;
      }
      const i64 children = t.part().levels[static_cast<std::size_t>(l)].pos.index(parents);
      // Powers of 4: a kernel's text should not change with every matrix.
      double fiber = 1;
      while (fiber * 4 * static_cast<double>(parents) <= static_cast<double>(children)) fiber *= 4;
      operand.fibers.push_back(fiber);
      parents = children;
    }
    operand.twin = o_.shared(u_, k);
    if (input_.slots && a.dense && !a.indices.empty()) operand.dense = false, operand.each_slot = true;
    if (!a.dense && t.part().value_stride != 1 && !t.type().shared_value)
      t = make_from_parts(t.type(), {with_own_values(t.part(), t.dtype())});
    tensors_.push_back(std::move(t));
    input_.operands.push_back(std::move(operand));
  }
}

Tensor Run::stored(std::size_t k) const {
  const Access& a = u_.accesses[k];
  if (!o_.convert[k]) return a.tensor;
  for (std::size_t p = 0; p < k; ++p)  // a tensor that occurs twice
    if (o_.convert[p] && *o_.convert[p] == *o_.convert[k] && u_.accesses[p].tensor.same_object(a.tensor) &&
        (static_cast<int>(k) == u_.mask) == (static_cast<int>(p) == u_.mask))
      return tensors_[p];
  const bool drops = u_.drops_fill_in || static_cast<int>(k) == u_.mask;
  return convert(a.tensor, *o_.convert[k], {.zeros = drops ? Zeros::automatic : Zeros::keep});
}

i64 Run::first_position(const Part& part, i64 x) {
  if (part.format.level(0).kind == LevelKind::dense) return x;
  const LevelArrays& l = part.levels[0];
  return partition_point(0, l.pos.index(1), [&](i64 p) { return l.crd.index(p) < x; });
}

i64 Run::stored_before(const Part& part, i64 x, std::size_t levels) {
  i64 p = first_position(part, x);
  for (std::size_t l = 1; l < levels; ++l)
    p = part.format.level(static_cast<int>(l)).kind == LevelKind::compressed ? part.levels[l].pos.index(p)
                                                                             : p * part.ranges[l].size;
  return p;
}

void Run::cut() {
  const i64 all = extents_[0];
  cuts_ = {0, all};
  const i64 results = partials();
  if (input_.summed[0] && !in_parts() && results == 1) return;  // chunks would add to the same places
  i64 heaviest = 0, work = static_cast<i64>(std::min(o_.visits, 1e15));
  const Part* by = nullptr;
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    if (!cuts(k)) continue;
    const i64 n = stored_before(tensors_[k].part(), all);
    work += n;
    if (n <= heaviest) continue;
    heaviest = n;
    by = &tensors_[k].part();
  }
  const i64 n =
      results > 1 ? results
                  : std::clamp<i64>(
                        work / work_per_chunk, 1,
                        std::max<i64>(1, std::min(std::clamp<i64>(work / work_between_polls, most_chunks, 4096), all)));
  cuts_.clear();
  for (i64 c = 0; c <= n; ++c) {
    i64 x = begin_of_share(all, c, n);
    if (by && c > 0 && c < n) {  // equal stored elements, with some weight on rows that have none
      const double each = static_cast<double>(heaviest) / 4 / static_cast<double>(all);
      const auto weight = [&](i64 row) {
        return stored_before(*by, row) + static_cast<i64>(static_cast<double>(row) * each);
      };
      const i64 wanted =
          static_cast<i64>(static_cast<double>(weight(all)) * static_cast<double>(c) / static_cast<double>(n));
      x = partition_point(0, all, [&](i64 row) { return weight(row) < wanted; });
    }
    if (o_.blocks) x = ceil_div(x, o_.blocks.rows);
    if (cuts_.empty() || x > cuts_.back() || c == n) cuts_.push_back(x);
  }
}

Run::Workspace Run::workspace() const {
  Workspace w;
  const i64 coordinates = extents_[static_cast<std::size_t>(kernel_->lowered.workspace)];
  const i64 n = o_.blocks ? ceil_div(coordinates, o_.blocks.columns) : coordinates;
  w.values = Buffer::filled(u_.absent, n * block());
  if (kernel_->lowered.holds_mask) w.mask = Buffer::zeros(DType::i64, ceil_div(n, 64));
  i64 words = n;
  for (auto& b : w.bits) {
    words = ceil_div(words, 64);
    b = Buffer::zeros(DType::i64, words);
  }
  return w;
}

void Run::call(i64 chunk, const execution::Outputs& out, std::span<const Buffer> of_slots) const {
  const BoundFunction& kernel = kernel_->lowered;
  execution::Arguments args(kernel, {.operands = tensors_, .extents = extents_, .bounds = bounds_}, out);
  for (std::size_t n = 0; n < kernel.buffers.size() && !of_slots.empty(); ++n) {
    const BufferBinding& b = kernel.buffers[n];
    if (b.kind == BufferBinding::values && input_.operands[static_cast<std::size_t>(b.operand)].each_slot)
      args.buffer(n) = of_slots[static_cast<std::size_t>(b.operand)].data;
  }
  const auto c = static_cast<std::size_t>(chunk);
  kernel_->executable.call(args.buffers(), args.scalars(), cuts_[c], cuts_[c + 1], chunk);
}

Tensor Run::dense() const {
  Shape shape;
  for (int i : u_.output) shape.push_back(u_.extents[static_cast<std::size_t>(i)]);
  const auto n = u_.strides.empty() ? checked_product(shape) : std::optional(u_.size);
  if (!n || *n > INT64_MAX / 16) throw std::bad_alloc();
  // Where several values meet in memory, it must hold what changes none of them.
  const bool parts = in_parts();
  const i64 results = partials() > 1 ? chunks() : 1;
  // (In a semiring loops are left out where a factor says that nothing comes.)
  const bool stores_all = !u_.ring && u_.combine == merging::Combine::plus && u_.mask < 0 && u_.bounds.empty() &&
                          u_.strides.empty() && std::ranges::all_of(u_.accesses, &Access::dense) &&
                          std::ranges::none_of(u_.summed, [](char s) { return s != 0; });
  Buffer out = stores_all ? Buffer::allocate(u_.compute, *n)
                          : Buffer::filled(meets() || parts ? u_.absent : u_.fill, parts ? chunks() : results * *n);
  std::vector<i64> strides = u_.strides, by_var(extents_.size(), 0);
  if (strides.empty()) strides.assign(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (u_.strides.empty() && d + 1 < shape.size()) strides[d] = strides[d + 1] * shape[d + 1];
    const auto v = std::find(o_.indices.begin(), o_.indices.end(), u_.output[d]) - o_.indices.begin();
    by_var[static_cast<std::size_t>(v)] = strides[d];
  }
  const auto width = static_cast<i64>(size_of(u_.compute));
  parallel_for(chunks(), [&](i64 c) {
    char* to = static_cast<char*>(out.data) + (parts ? c * width : results > 1 ? c * *n * width : 0);
    call(c, {.values = to, .strides = by_var});
  });
  if (parts) combine_parts(out);
  if (results > 1) combine_partials(out, *n);
  return dense_view(out, shape, strides, 0, u_.fill);
}

Tensor Run::in_pattern() const {
  const Part& part = tensors_[static_cast<std::size_t>(o_.pattern)].part();
  // What lies beyond the bounds of a block is not met.
  const i64 slots =
      tensors_[static_cast<std::size_t>(o_.pattern)].type().shared_value ? used_values(part) : part.values.size;
  const Buffer values = u_.bounds.empty() ? Buffer::allocate(u_.compute, slots) : Buffer::filled(u_.fill, slots);
  parallel_for(chunks(), [&](i64 c) { call(c, {.values = values.data}); });
  return with_values(tensors_[static_cast<std::size_t>(o_.pattern)], values);
}

Tensor Run::with_values(const Tensor& pattern, Buffer values) const {
  Part part = pattern.part();
  part.values = std::move(values);
  part.value_stride = 1;
  TensorType type = pattern.type();
  type.dtype = u_.compute;
  type.fill = u_.fill;
  type.shared_value = false;
  return make_from_parts(std::move(type), {std::move(part)});
}

bool Run::in_parts() const { return u_.output.empty() && !u_.others && u_.combine != merging::Combine::first; }

void Run::combine_parts(Buffer& parts) const {
  using evaluation::Monoid;
  const auto monoid = [&]() -> Monoid {
    switch (u_.combine) {
      case merging::Combine::minimum: return Monoid::minimum;
      case merging::Combine::maximum: return Monoid::maximum;
      case merging::Combine::either: return Monoid::either;
      case merging::Combine::both: return Monoid::both;
      default: return Monoid::plus;
    }
  }();
  const auto n = static_cast<std::size_t>(parts.size);
  const std::int64_t starts[] = {0, parts.size};
  auto whole =
      evaluation::combine(monoid, evaluation::load(u_.compute, static_cast<const char*>(parts.data), n), starts);
  evaluation::normalise(whole);
  parts = Buffer::allocate(u_.compute, 1);
  evaluation::store(whole, static_cast<char*>(parts.data));
}

std::string describe_unit(const Unit& unit, const Order& order, const Format& wanted, bool code) {
  return order.slots == Order::alone ? describe_flat(unit, order, code) : Run(unit, order).describe(wanted, code);
}
std::optional<Tensor> run_unit(const Unit& unit, const Order& order) {
  return order.slots == Order::alone ? run_flat(unit, order) : Run(unit, order).run();
}

}  // namespace strata::direct
