// Runs a unit: operands in loop order, one kernel over chunks of the outermost index, pieces stitched into the result.
#include <algorithm>

#include "backend/pool.h"
#include "base/checked.h"
#include "compiler/emit/emit_c.h"
#include "ops/convert_elements.h"
#include "ops/direct/kernels.h"
#include "ops/direct/unit.h"
#include "strata/settings.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using merging::Buffers;
using merging::Scalars;

constexpr i64 work_per_chunk = 16384;  ///< visits and stored elements: some 20 us
constexpr i64 most_chunks = 64;

struct Piece {
  std::vector<Buffer> crd, pos;  ///< per level
  Buffer values;
  std::vector<i64> sizes, capacity;
};

class Run {
 public:
  Run(const Unit& unit, const Order& order) : u_(unit), o_(order) {}

  /// The loops that would run, and what stands before and behind them.
  std::string describe(const Format& wanted, bool code) {
    std::string out;
    for (std::size_t k = 0; k < u_.accesses.size(); ++k)
      if (o_.convert[k]) out += "first " + u_.accesses[k].name + " to " + o_.convert[k]->to_string() + "\n";
    prepare();
    const merging::Lowered lowered = merging::lower(input_);
    for (std::size_t v = 0; v < o_.indices.size(); ++v)
      out += (v ? ", " : "loops over ") + u_.names[static_cast<std::size_t>(o_.indices[v])];
    out += " (below: i, j, ... in this order; t0, t1, ... are the operands as they occur)\n" + lowered.text;
    if (o_.dense_result) {
      out += "into a dense result\n";
    } else {
      const Format built = format();
      out += "appends to " + built.to_string() + "\n";
      if (!(built == wanted)) out += "then converts to " + wanted.to_string() + "\n";
    }
    if (code) out += "\n--- loop IR ---\n" + ir::to_string(lowered.function) + "\n--- C ---\n" + emit_c(lowered.function);
    return out;
  }

  std::optional<Tensor> run() {
    prepare();
    kernel_ = kernel_for(input_);
    if (!kernel_->executable.function && settings().engine != "interpreter") return std::nullopt;
    cut();
    return o_.dense_result ? dense() : assembled();
  }

 private:
  // --- what the kernel sees ----------------------------------------------------------------------------------------

  void prepare() {
    input_.nodes = u_.nodes;
    input_.num_vars = static_cast<int>(o_.indices.size());
    input_.combine = u_.combine;
    input_.absent = u_.absent;
    input_.others = u_.others;
    input_.ring = u_.ring;
    input_.compute = u_.compute;
    input_.mask = u_.mask;
    input_.complement = u_.complement;
    input_.dense_result = o_.dense_result;
    input_.dense_top = o_.dense_top;
    std::vector<int> var(o_.indices.size());  // of an index
    for (std::size_t v = 0; v < o_.indices.size(); ++v) {
      var[static_cast<std::size_t>(o_.indices[v])] = static_cast<int>(v);
      input_.summed.push_back(u_.summed[static_cast<std::size_t>(o_.indices[v])]);
      extents_.push_back(u_.extents[static_cast<std::size_t>(o_.indices[v])]);
    }
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
      tensors_.push_back(std::move(t));
      input_.operands.push_back(std::move(operand));
    }
  }

  /// Dense with a stride per dimension.
  static Tensor strided(const Tensor& t) {
    const bool plain = t.num_parts() == 1 && t.format().is_identity() && t.format().num_batch_levels() == 0;
    return plain ? t : convert(t, conversion::dense_format(t.rank()));
  }

  Tensor stored(std::size_t k) const {
    const Access& a = u_.accesses[k];
    if (!o_.convert[k]) return a.tensor;
    for (std::size_t p = 0; p < k; ++p)  // a tensor that occurs twice
      if (o_.convert[p] && *o_.convert[p] == *o_.convert[k] && u_.accesses[p].tensor.same_object(a.tensor) &&
          (static_cast<int>(k) == u_.mask) == (static_cast<int>(p) == u_.mask))
        return tensors_[p];
    const bool drops = u_.drops_fill_in || static_cast<int>(k) == u_.mask;
    return convert(a.tensor, *o_.convert[k], {.zeros = drops ? Zeros::automatic : Zeros::keep});
  }

  // --- chunks ------------------------------------------------------------------------------------------------------

  /// First position of the outermost level whose coordinate is at least x.
  static i64 first_position(const Part& part, i64 x) {
    if (part.format.level(0).kind == LevelKind::dense) return x;
    const LevelArrays& l = part.levels[0];
    i64 low = 0, high = l.pos.index(1);
    while (low < high) {
      const i64 middle = low + (high - low) / 2;
      if (l.crd.index(middle) < x) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /// Stored elements before outermost coordinate x.
  static i64 stored_before(const Part& part, i64 x) {
    i64 p = first_position(part, x);
    for (std::size_t l = 1; l < part.levels.size(); ++l)
      p = part.format.level(static_cast<int>(l)).kind == LevelKind::compressed ? part.levels[l].pos.index(p)
                                                                              : p * part.ranges[l].size;
    return p;
  }

  bool cuts(std::size_t k) const { return !input_.operands[k].dense && input_.operands[k].vars[0] == 0; }

  void cut() {
    const i64 all = extents_[0];
    cuts_ = {0, all};
    if (input_.summed[0]) return;  // chunks would add to the same places
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
    const i64 n = std::clamp<i64>(work / work_per_chunk, 1, std::min(most_chunks, all));
    cuts_.clear();
    for (i64 c = 0; c <= n; ++c) {
      i64 x = all * c / n;
      if (by && c > 0 && c < n) {  // equal stored elements, with some weight on rows that have none
        const auto weight = [&](i64 row) { return stored_before(*by, row) + row * heaviest / (4 * all); };
        i64 low = 0, high = all;
        const i64 wanted = static_cast<i64>(static_cast<double>(weight(all)) * static_cast<double>(c) / static_cast<double>(n));
        while (low < high) {
          const i64 middle = low + (high - low) / 2;
          if (weight(middle) < wanted) low = middle + 1;
          else high = middle;
        }
        x = low;
      }
      if (cuts_.empty() || x > cuts_.back() || c == n) cuts_.push_back(x);
    }
  }

  std::size_t chunks() const { return cuts_.size() - 1; }

  // --- calls -------------------------------------------------------------------------------------------------------

  struct Workspace {
    Buffer values, bits[3];
  };

  Workspace workspace() const {
    Workspace w;
    const i64 n = extents_[static_cast<std::size_t>(kernel_->lowered.workspace)];
    w.values = filled(n, u_.absent);
    i64 words = n;
    for (auto& b : w.bits) {
      words = ceil_div(words, 64);
      b = Buffer::zeros(DType::i64, words);
    }
    return w;
  }

  /// n times this value.
  Buffer filled(i64 n, const Scalar& value) const {
    if (value.same_bits(Scalar::zero(u_.compute))) return Buffer::zeros(u_.compute, n);
    Buffer b = Buffer::allocate(u_.compute, n);
    const auto width = static_cast<i64>(size_of(u_.compute));
    for (i64 k = 0; k < n; ++k) std::memcpy(static_cast<char*>(b.data) + k * width, value.bits, static_cast<std::size_t>(width));
    return b;
  }

  void call(std::size_t chunk, Piece* piece, const Workspace* w, void* out, std::span<const i64> out_strides, void* counts) const {
    std::vector<void*> buffers;
    std::vector<i64> scalars;
    for (const auto& b : kernel_->lowered.buffers) {
      const auto l = static_cast<std::size_t>(b.level);
      const Part* part = b.operand >= 0 ? &tensors_[static_cast<std::size_t>(b.operand)].part() : nullptr;
      switch (b.kind) {
        case Buffers::pos: buffers.push_back(part->levels[l].pos.data); break;
        case Buffers::crd: buffers.push_back(part->levels[l].crd.data); break;
        case Buffers::values: buffers.push_back(part->values.data); break;
        case Buffers::out_values: buffers.push_back(piece ? piece->values.data : out); break;
        case Buffers::out_crd: buffers.push_back(piece->crd[l].data); break;
        case Buffers::out_pos: buffers.push_back(piece->pos[l].data); break;
        case Buffers::out_counts: buffers.push_back(counts); break;
        case Buffers::out_sizes: buffers.push_back(piece->sizes.data()); break;
        case Buffers::row_values: buffers.push_back(w->values.data); break;
        case Buffers::row_bits: buffers.push_back(w->bits[l].data); break;
      }
    }
    for (const auto& s : kernel_->lowered.scalars) {
      const auto l = static_cast<std::size_t>(s.level);
      const Part* part = s.operand >= 0 ? &tensors_[static_cast<std::size_t>(s.operand)].part() : nullptr;
      switch (s.kind) {
        case Scalars::extent: scalars.push_back(extents_[l]); break;
        case Scalars::stride: scalars.push_back(part ? part->strides[l] : out_strides[l]); break;
        case Scalars::offset: scalars.push_back(part->values_offset); break;
        case Scalars::capacity: scalars.push_back(piece->capacity[l]); break;
      }
    }
    kernel_->executable.call(buffers.data(), scalars.data(), cuts_[chunk], cuts_[chunk + 1], static_cast<i64>(chunk));
  }

  // --- dense results -----------------------------------------------------------------------------------------------

  Tensor dense() const {
    Shape shape;
    for (int i : u_.output) shape.push_back(u_.extents[static_cast<std::size_t>(i)]);
    const auto n = checked_product(shape);
    if (!n || *n > INT64_MAX / 16) throw std::bad_alloc();
    // Where several values meet in memory, it must hold what changes none of them.
    const bool meets = !std::is_sorted(input_.summed.begin(), input_.summed.end());
    Buffer out = filled(*n, meets ? u_.absent : u_.fill);
    std::vector<i64> strides(shape.size()), by_var(extents_.size(), 0);
    i64 step = 1;
    for (std::size_t d = strides.size(); d-- > 0;) {
      strides[d] = step;
      step *= shape[d];
      const auto v = std::find(o_.indices.begin(), o_.indices.end(), u_.output[d]) - o_.indices.begin();
      by_var[static_cast<std::size_t>(v)] = strides[d];
    }
    parallel_for(static_cast<i64>(chunks()), [&](i64 c) { call(static_cast<std::size_t>(c), nullptr, nullptr, out.data, by_var, nullptr); });
    Tensor t = borrow_dense(out, shape, strides);
    if (u_.fill.is_zero()) return t;
    TensorType type = t.type();
    type.fill = u_.fill;
    return make_from_parts(type, {t.part()});
  }

  // --- assembled results -------------------------------------------------------------------------------------------

  std::size_t levels() const { return kernel_->lowered.levels.size(); }
  i64 level_extent(std::size_t l) const { return extents_[static_cast<std::size_t>(kernel_->lowered.levels[l])]; }

  /// How many elements the tree may have between two coordinates of the outermost index; a guess where indices of the
  /// result are not among an operand's.
  double expected(int node, i64 begin, i64 end) const {
    const merging::Node& n = u_.nodes[static_cast<std::size_t>(node)];
    if (n.kind == merging::Node::constant) return -1;
    if (n.kind == merging::Node::access) {
      const auto k = static_cast<std::size_t>(n.operand);
      return input_.operands[k].dense ? -1 : expected_of(k, begin, end);
    }
    double least = -1, sum = 0;
    for (std::size_t k = 0; k < n.arguments.size(); ++k) {
      const int a = n.arguments[k];
      if (n.kind == merging::Node::all && !n.needed[k]) continue;
      if (u_.nodes[static_cast<std::size_t>(a)].kind == merging::Node::constant) continue;
      const double e = expected(a, begin, end);
      if (e < 0) {
        if (n.kind == merging::Node::any) return -1;
        continue;
      }
      least = least < 0 ? e : std::min(least, e);
      sum += e;
    }
    return n.kind == merging::Node::any ? sum : least;
  }

  double expected_of(std::size_t k, i64 begin, i64 end) const {
    const Part& part = tensors_[k].part();
    double stored = static_cast<double>(cuts(k) ? stored_before(part, end) - stored_before(part, begin) : tensors_[k].nse());
    const auto& vars = input_.operands[k].vars;
    for (std::size_t l = 0; l < levels(); ++l)
      if (std::find(vars.begin(), vars.end(), kernel_->lowered.levels[l]) == vars.end())
        stored *= l == 0 ? static_cast<double>(end - begin) : static_cast<double>(level_extent(l));
    return stored;
  }

  std::vector<i64> first_capacity(i64 begin, i64 end) const {
    const auto rows = static_cast<double>(end - begin);
    double all = rows;
    for (std::size_t l = 1; l < levels(); ++l) all *= static_cast<double>(level_extent(l));
    double guess = expected(static_cast<int>(u_.nodes.size()) - 1, begin, end);
    if (guess < 0) guess = all;
    if (kernel_->lowered.workspace >= 0) guess = o_.visits * rows / static_cast<double>(extents_[0]);
    if (u_.mask >= 0 && !u_.complement && !input_.operands[static_cast<std::size_t>(u_.mask)].dense) guess = std::min(guess, expected_of(static_cast<std::size_t>(u_.mask), begin, end));
    guess = std::min({std::max(guess, 1024.0), all, 1e8});
    std::vector<i64> capacity(levels(), static_cast<i64>(guess) + 1);
    for (std::size_t l = 0; l + 1 < levels(); ++l) {  // parents are no more than there are coordinates
      double most = rows;
      for (std::size_t q = 1; q <= l; ++q) most *= static_cast<double>(level_extent(q));
      capacity[l] = static_cast<i64>(std::min(most, guess)) + 1;
    }
    return capacity;
  }

  /// Larger arrays with the same beginning.
  static void grow(Buffer& b, DType dtype, i64 used, i64 size) {
    Buffer more = Buffer::allocate(dtype, size);
    if (used > 0) std::memcpy(more.data, b.data, static_cast<std::size_t>(used) * size_of(dtype));
    b = std::move(more);
  }

  void reserve(Piece& p, std::vector<i64> capacity) const {
    p.crd.resize(levels());
    p.pos.resize(levels());
    p.sizes.resize(levels());
    for (std::size_t l = 0; l < levels(); ++l) {
      if (l > 0 || !input_.dense_top) grow(p.crd[l], input_.crd, p.sizes[l], capacity[l]);
      if (l > 0 && !(l == 1 && input_.dense_top)) grow(p.pos[l], DType::i64, p.sizes[l - 1], capacity[l - 1]);
    }
    grow(p.values, u_.compute, p.sizes.back(), capacity.back());
    p.capacity = std::move(capacity);
  }

  Tensor assembled() const {
    // Every row is computed alone, so how rows are gathered into pieces may follow the threads: one thread has nothing
    // to stitch.
    const i64 windows = static_cast<i64>(chunks()), threads = thread_count();
    const i64 n = threads == 1 ? 1 : std::min<i64>(windows, 4 * threads);
    std::vector<Piece> pieces(static_cast<std::size_t>(n));
    Buffer counts = input_.dense_top ? Buffer::zeros(DType::i64, extents_[0]) : Buffer();
    parallel_for(n, [&](i64 c) {
      Piece& p = pieces[static_cast<std::size_t>(c)];
      const i64 first = windows * c / n, last = windows * (c + 1) / n;
      const Workspace w = kernel_->lowered.workspace >= 0 ? workspace() : Workspace();
      reserve(p, first_capacity(cuts_[static_cast<std::size_t>(first)], cuts_[static_cast<std::size_t>(last)]));
      for (i64 window = first; window < last; ++window) {
        if (window > first) poll_interrupt();
        const std::vector<i64> before = p.sizes;
        call(static_cast<std::size_t>(window), &p, &w, nullptr, {}, counts.data);
        std::vector<i64> needed = p.sizes;
        bool fits = true;
        for (std::size_t l = 0; l < levels(); ++l) {
          fits = fits && needed[l] <= p.capacity[l];
          needed[l] = needed[l] <= p.capacity[l] ? p.capacity[l] : needed[l] + needed[l] / 2;
        }
        if (fits) continue;
        p.sizes = before;  // once more, now that it is known how much is needed
        reserve(p, std::move(needed));
        call(static_cast<std::size_t>(window), &p, &w, nullptr, {}, counts.data);
      }
    });
    return stitch(pieces, counts);
  }

  Tensor stitch(std::vector<Piece>& pieces, const Buffer& counts) const {
    std::vector<std::vector<i64>> starts(levels(), std::vector<i64>(pieces.size() + 1, 0));
    for (std::size_t l = 0; l < levels(); ++l)
      for (std::size_t c = 0; c < pieces.size(); ++c) starts[l][c + 1] = starts[l][c] + pieces[c].sizes[l];
    const i64 stored = starts.back().back();
    const DType pos_dtype = index_dtype_for(stored);
    RawArrays arrays;
    const auto crd_width = static_cast<i64>(size_of(input_.crd)), width = static_cast<i64>(size_of(u_.compute));
    const bool alone = pieces.size() == 1;
    // Memory that is nearly full serves as it is.
    const bool adopt = alone && 2 * stored >= pieces[0].values.size;
    for (std::size_t l = 0; l < levels(); ++l) {
      const int level = static_cast<int>(l);
      if (l == 0 && input_.dense_top) continue;
      const i64 parents = l == 0 ? 1 : l == 1 && input_.dense_top ? extents_[0] : starts[l - 1].back();
      arrays.pos[level] = Buffer::allocate(pos_dtype, parents + 1);
      arrays.pos[level].set_index(0, 0);
      if (l == 0) arrays.pos[level].set_index(1, starts[0].back());
      arrays.crd[level] = adopt ? prefix(pieces[0].crd[l], starts[l].back()) : Buffer::allocate(input_.crd, starts[l].back());
    }
    arrays.values = adopt ? prefix(pieces[0].values, stored) : Buffer::allocate(u_.compute, stored);
    if (input_.dense_top) {
      i64 sum = 0;
      const auto* n = static_cast<const i64*>(counts.data);
      with_index(arrays.pos[1], [&](auto* to) {
        for (i64 x = 0; x < extents_[0]; ++x) to[x + 1] = static_cast<std::decay_t<decltype(*to)>>(sum += n[x]);
      });
    }
    parallel_for(static_cast<i64>(pieces.size()), [&](i64 chunk) {
      const auto c = static_cast<std::size_t>(chunk);
      Piece& p = pieces[c];
      for (std::size_t l = 0; l < levels(); ++l) {
        const int level = static_cast<int>(l);
        if (l == 0 && input_.dense_top) continue;
        if (!adopt && p.sizes[l] > 0)
          std::memcpy(static_cast<char*>(arrays.crd.at(level).data) + starts[l][c] * crd_width, p.crd[l].data,
                      static_cast<std::size_t>(p.sizes[l] * crd_width));
        if (l == 0 || (l == 1 && input_.dense_top)) continue;
        const auto* ends = static_cast<const i64*>(p.pos[l].data);
        with_index(arrays.pos.at(level), [&](auto* to) {
          for (i64 k = 0; k < p.sizes[l - 1]; ++k)
            to[starts[l - 1][c] + k + 1] = static_cast<std::decay_t<decltype(*to)>>(ends[k] + starts[l][c]);
        });
      }
      if (!adopt && p.sizes.back() > 0)
        std::memcpy(static_cast<char*>(arrays.values.data) + starts.back()[c] * width, p.values.data,
                    static_cast<std::size_t>(p.sizes.back() * width));
      if (!adopt) p = {};
    });
    return make_tensor(format(), shape(), std::move(arrays), u_.fill, false);
  }

  static Buffer prefix(Buffer b, i64 size) {
    b.size = size;
    return b;
  }

  template <class F>
  static void with_index(const Buffer& b, const F& f) {
    if (b.dtype == DType::i32) f(static_cast<std::int32_t*>(b.data));
    else f(static_cast<i64*>(b.data));
  }

  Shape shape() const {
    Shape out;
    for (int i : u_.output) out.push_back(u_.extents[static_cast<std::size_t>(i)]);
    return out;
  }

  /// Levels in the order of the loops.
  Format format() const {
    std::vector<std::string> names;
    for (int index : u_.output) names.push_back(u_.names[static_cast<std::size_t>(index)]);
    FormatBuilder b(names);
    std::size_t l = 0;
    for (int index : o_.indices) {
      if (!u_.is_output(index)) continue;
      const auto d = std::find(u_.output.begin(), u_.output.end(), index) - u_.output.begin();
      b.level(b.dim(static_cast<int>(d)), Level{.kind = l == 0 && input_.dense_top ? LevelKind::dense : LevelKind::compressed});
      ++l;
    }
    return b.build();
  }

  const Unit& u_;
  const Order& o_;
  merging::Input input_;
  std::vector<Tensor> tensors_;
  std::vector<i64> extents_;  ///< per variable
  std::shared_ptr<const Kernel> kernel_;
  std::vector<i64> cuts_;
};

}  // namespace

std::string describe_unit(const Unit& unit, const Order& order, const Format& wanted, bool code) {
  return Run(unit, order).describe(wanted, code);
}
std::optional<Tensor> run_unit(const Unit& unit, const Order& order) { return Run(unit, order).run(); }

}  // namespace strata::direct
