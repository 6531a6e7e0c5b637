// Products by generated code: lowered once per part of the driver, compiled, and run chunk by chunk as lower.h agrees.
#include "plan/compiled.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "backend/pool.h"
#include "base/checked.h"
#include "compiler/lower.h"
#include "plan/chunks.h"
#include "plan/dense_view.h"
#include "plan/executable.h"
#include "plan/ordered_rows.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

struct PartKernel : KernelText, Executable {
  i64 free_work = 1;
  i64 output_extent = 0;
};

/// Arguments by position. Batches and windows change entries of a copy.
struct Arguments {
  std::array<void*, max_arguments> buffers;
  std::array<i64, max_arguments> scalars;
  i64 output_step = 0;  ///< bytes from one batch of the output to the next: only outputs in a pattern have batches
};

void make_kernel(PartKernel& k) {
  dump("graph", k.lowered.graph);
  dump("schedule", k.lowered.schedule);
  static_cast<Executable&>(k) = make_executable(k.lowered.function, k.source);
}

/// Is every element of the output one product of values of dense operands?
bool is_one_product(const Product& p) {
  std::vector<char> in_output(static_cast<std::size_t>(p.einsum.num_indices), 0);
  for (int i : p.einsum.output) in_output[static_cast<std::size_t>(i)] = 1;
  return p.pattern_of < 0 && (is_float(p.compute) || is_complex(p.compute)) &&
         std::ranges::all_of(
             in_output, [](char c) { return c != 0; }) &&
         std::ranges::all_of(p.operands, [](const TensorType& t) { return t.format.is_all_dense(); });
}

class CompiledRunner : public Runner {
 public:
  CompiledRunner(Product product, int driver, bool wide_parts, std::vector<PartKernel> parts, std::vector<i64> extents)
      : product_(std::move(product)),
        driver_(driver),
        wide_parts_(wide_parts),
        parts_(std::move(parts)),
        extents_(std::move(extents)),
        one_product_(is_one_product(product_)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    const Scalar a = alpha.as(product_.compute), b = beta.as(product_.compute);
    if (product_.pattern_of >= 0) return run_in_pattern(operands, out, a, b);
    const DenseView view = view_of(out);
    if (!wide_parts_ && !(parts_.size() == 1 && parts_[0].lowered.wide_output)) return run_parts(operands, view, a, b);
    // Sums in memory are kept wide and rounded once.
    Buffer scratch = Buffer::allocate(product_.compute, view.size());
    DenseView wide = view;
    wide.dtype = product_.compute;
    wide.data = static_cast<char*>(scratch.data);
    i64 stride = 1;
    for (int d = wide.rank - 1; d >= 0; --d) {
      wide.strides[d] = stride;
      stride *= wide.shape[d];
    }
    if (!b.is_zero()) assign(wide, view);
    start(wide, b);
    run_parts(operands, wide, a, Scalar::one(product_.compute));
    assign(view, wide);
  }

  std::string name() const override { return parts_[0].function ? "compiled" : "interpreted"; }

  std::vector<std::pair<std::string, std::string>> details() const override {
    std::vector<std::pair<std::string, std::string>> out;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const std::string part = parts_.size() > 1 ? " of part " + std::to_string(k) : "";
      out.emplace_back("schedule" + part, parts_[k].lowered.schedule);
      out.emplace_back("chunks" + part, describe(parts_[k].lowered));
      out.emplace_back("engine" + part, parts_[k].engine);
    }
    if (scatters_rows())
      out.emplace_back("advice", "what is stored scatters into the result: where the product repeats, convert " +
                                     operand_name(static_cast<std::size_t>(driver_)) +
                                     " once to a format whose rows are the result's, such as " +
                                     operand_name(static_cast<std::size_t>(driver_)) + ".to(\"CSR\")");
    return out;
  }

  std::string show() const override {
    const std::vector<KernelText> texts(parts_.begin(), parts_.end());
    return show_kernels(texts);
  }

 private:
  /// Does a matrix add to a vector element by element, as a transposed view does?
  bool scatters_rows() const {
    const auto& types = product_.operands;
    return types.size() == 2 && product_.output.shape.size() == 1 &&
           types[static_cast<std::size_t>(driver_)].shape.size() == 2 &&
           parts_[0].lowered.launch.kind == Launch::outer_scatter;
  }

  static std::string describe(const Lowered& l) {
    const Launch& n = l.launch;
    switch (n.kind) {
      case Launch::serial: return "one";
      case Launch::outer_uniform: return "slices of level " + std::to_string(n.level);
      case Launch::outer_weighted: return "slices of level " + std::to_string(n.level) + " with equal stored elements";
      case Launch::outer_aligned:
        return "stored elements, cut where the coordinate of level " + std::to_string(n.level) + " changes";
      case Launch::outer_scatter:
        return "slices of level " + std::to_string(n.level) +
               ", each into a copy of the output (at most 8) added in order";
      default:
        return "windows of output dimension " + std::to_string(n.output_dim) +
               (n.preferred > 0 ? " of " + std::to_string(n.preferred) : "");
    }
  }

  void run_parts(std::span<const Tensor> operands, const DenseView& out, const Scalar& alpha,
                 const Scalar& beta) const {
    for (std::size_t k = 0; k < parts_.size(); ++k)
      run_part(parts_[k], operands, static_cast<int>(k), out, alpha, k == 0 ? beta : Scalar::one(product_.compute));
  }

  /// Each part stores in values of its own.
  void run_in_pattern(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                      const Scalar& beta) const {
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const Part& part = out.part(static_cast<int>(k));
      DenseView values;
      values.dtype = out.dtype();
      values.data = static_cast<char*>(part.values.data);
      values.rank = 1;
      values.shape[0] = part.values.size;
      values.strides[0] = 1;
      if (parts_[k].free_work == 0) {  // sums over nothing
        scale_narrow(values, beta);
        continue;
      }
      run_part(parts_[k], operands, static_cast<int>(k), values, alpha, beta,
               part.values_batch_stride * static_cast<i64>(size_of(values.dtype)));
    }
  }

  /// beta * out, to which the kernel adds. What is one product, and no sum, keeps the sign of a zero: it starts from
  /// -0.0, which changes nothing that is added to it.
  void start(const DenseView& out, const Scalar& beta) const {
    if (!one_product_ || !beta.is_zero()) return scale(out, beta);
    Scalar zero = Scalar::of(std::complex<double>(-0.0, -0.0)).as(out.dtype);
    DenseView everywhere = out;
    everywhere.data = reinterpret_cast<char*>(zero.bits);
    std::fill_n(everywhere.strides, everywhere.rank, 0);
    assign(out, everywhere);
  }

  /// Storage dtypes have no arithmetic of their own.
  static void scale_narrow(const DenseView& values, const Scalar& beta) {
    if (beta.is_zero()) {
      std::memset(values.data, 0, static_cast<std::size_t>(values.size()) * size_of(values.dtype));
    } else if (beta.dtype == values.dtype) {
      scale(values, beta);
    } else {
      Buffer wide = Buffer::allocate(beta.dtype, values.size());
      DenseView w = values;
      w.dtype = beta.dtype;
      w.data = static_cast<char*>(wide.data);
      assign(w, values);
      scale(w, beta);
      assign(values, w);
    }
  }

  void run_part(const PartKernel& k, std::span<const Tensor> operands, int part_index, const DenseView& out,
                const Scalar& alpha, const Scalar& beta, i64 output_step = 0) const {
    const Lowered& l = k.lowered;
    const Part& part = operands[static_cast<std::size_t>(driver_)].part(part_index);
    alignas(16) unsigned char a[16], b[16];
    std::memcpy(a, alpha.bits, 16);
    std::memcpy(b, beta.bits, 16);
    if (!l.applies_beta) start(out, beta);
    Arguments args;
    gather(l, operands, part, out, a, b, args);
    args.output_step = output_step;
    // All-dense drivers have their batch levels among the strides.
    if (part.format.num_batch_levels() == 0 || !part.strides.empty()) return run_batch(k, part, out, 0, args);
    if (l.independent_batches && part.num_batches > 1) {
      // Small batches are the chunks; a few large ones are cut themselves.
      const Domain first(l.launch, part, 0, k.output_extent, k.free_work);
      if (part.num_batches >= 8 || first.chunks() == 1) {
        const i64 groups = std::clamp<i64>(part.num_batches * std::max<i64>(1, first.chunks()), 1,
                                           std::min<i64>(part.num_batches, 256));
        run_chunks(groups, [&](i64 g) {
          Arguments mine = args;
          for (i64 batch = part.num_batches * g / groups; batch < part.num_batches * (g + 1) / groups; ++batch) {
            rebase(l, part, batch, args, mine);
            const Domain domain(l.launch, part, batch, k.output_extent, k.free_work);
            if (domain.size() > 0) call(k, mine, 0, domain.size(), 0);
          }
        });
        return;
      }
    }
    Arguments mine = args;
    for (i64 batch = 0; batch < part.num_batches; ++batch) {
      rebase(l, part, batch, args, mine);
      run_batch(k, part, out, batch, mine);
    }
  }

  /// All chunks of one batch, whose arguments are `args`.
  void run_batch(const PartKernel& k, const Part& part, const DenseView& out, i64 batch, const Arguments& args) const {
    const Launch& launch = k.lowered.launch;
    const Domain domain(launch, part, batch, k.output_extent, k.free_work);
    if (domain.size() == 0) return;
    if (launch.kind == Launch::outer_scatter) {
      return scatter(k, domain, out, args, std::max<i64>(1, partial_results(domain, out.size())), call);
    }
    if (launch.kind == Launch::output_window && scatter_instead(k, part, out, args)) return;
    const i64 chunks = domain.chunks();
    if (chunks <= 1) return call_in_slices(k, args, domain.slices(), 0, domain.size(), 0);
    run_chunks(chunks, [&](i64 c) {
      const i64 begin = domain.cut(c, chunks), end = domain.cut(c + 1, chunks);
      if (begin < end) call_in_slices(k, args, domain.slices() / chunks, begin, end, c);
    });
  }

  /// How many results for shares of the walk pay, where one counts for `size` stored elements.
  static i64 partial_results(const Domain& domain, i64 size) {
    return std::min<i64>({8, domain.chunks(), domain.stored() / 4 / std::max<i64>(1, size)});
  }

  /// Where the bounds of the walk stand among the scalars of a kernel that takes them.
  static std::optional<std::pair<std::size_t, std::size_t>> walk_span(const PartKernel& k) {
    const std::vector<ScalarBinding>& scalars = k.lowered.scalars;
    const auto first = std::ranges::find(scalars, ScalarBinding::walk_begin, &ScalarBinding::kind);
    const auto last = std::ranges::find(scalars, ScalarBinding::walk_end, &ScalarBinding::kind);
    if (first == scalars.end() || last == scalars.end()) return std::nullopt;
    return std::pair(static_cast<std::size_t>(first - scalars.begin()),
                     static_cast<std::size_t>(last - scalars.begin()));
  }

  /// Windows that each walk the whole driver share out what a stored element costs, a vector at least each; results of
  /// their own for shares of the walk share out everything. False where these would cost more than they bring.
  static bool scatter_instead(const PartKernel& k, const Part& part, const DenseView& out, const Arguments& args) {
    const auto span = walk_span(k);
    if (!span || k.lowered.applies_beta) return false;
    Launch walk;
    walk.kind = Launch::outer_scatter;
    walk.level = k.lowered.scalars[span->second].level;
    for (int l = walk.level + 1; l < part.format.num_levels() && walk.weight_level < 0; ++l)
      if (const LevelKind kind = part.format.level(l).kind;
          kind == LevelKind::compressed || kind == LevelKind::delta || kind == LevelKind::bitmap)
        walk.weight_level = l;
    const Domain domain(walk, part, 0, k.output_extent, k.free_work);
    const i64 copies = partial_results(domain, out.size() / std::max<i64>(1, k.free_work));
    if (copies < 2) return false;
    scatter(k, domain, out, args, copies, [&](const PartKernel& kernel, Arguments mine, i64 begin, i64 end, i64 chunk) {
      mine.scalars[span->first] = begin;
      mine.scalars[span->second] = end;
      call(kernel, mine, 0, kernel.output_extent, chunk);
    });
    return true;
  }

  /// Windows that each walk the whole driver do so in slices, between which Ctrl-C is heard.
  static void call_in_slices(const PartKernel& k, const Arguments& args, i64 slices, i64 begin, i64 end, i64 chunk) {
    const auto span = slices > 1 ? walk_span(k) : std::nullopt;
    if (!span) return call(k, args, begin, end, chunk);
    Arguments mine = args;
    i64 &from = mine.scalars[span->first], &to = mine.scalars[span->second];
    const i64 all = to, each = std::max<i64>(1, ceil_div(all, slices));
    for (i64 at = 0; at < all; at += each) {
      if (at > 0) poll_interrupt();
      from = at;
      to = std::min(all, at + each);
      call(k, mine, begin, end, chunk);
    }
  }

  /// Of a part's first level.
  static i64 iterations(const Part& part, int level) {
    const auto l = static_cast<std::size_t>(level);
    if (part.format.level(level).kind != LevelKind::compressed) return part.ranges[l].size;
    return read_index(part.levels[l].pos.dtype, part.levels[l].pos.data, 1);
  }

  /// Chunk 0 adds to the output, the others to zeroed copies that are then added in order. `run` is as call().
  template <class F>
  static void scatter(const PartKernel& k, const Domain& domain, const DenseView& out, const Arguments& args,
                      i64 copies, const F& run) {
    // A copy's share may last for seconds: it is walked in slices, between which Ctrl-C is heard.
    const i64 slices = ceil_div(domain.slices(), copies);
    const auto walk = [&](i64 c, const Arguments& mine) {
      for (i64 s = c * slices; s < (c + 1) * slices; ++s) {
        if (s > c * slices) poll_interrupt();
        const i64 begin = domain.cut(s, copies * slices), end = domain.cut(s + 1, copies * slices);
        if (begin < end) run(k, mine, begin, end, c);
      }
    };
    if (copies == 1) return walk(0, args);
    const i64 size = out.size(), width = static_cast<i64>(size_of(out.dtype));
    Buffer scratch = Buffer::allocate(out.dtype, size * (copies - 1));
    std::array<DenseView, 8> views;
    run_chunks(copies, [&](i64 c) {
      if (c == 0) return walk(c, args);
      DenseView& mine = views[static_cast<std::size_t>(c)] =
          contiguous_like(out, static_cast<char*>(scratch.data) + (c - 1) * size * width);
      std::memset(mine.data, 0, static_cast<std::size_t>(size * width));
      Arguments other = args;
      bind_output(k.lowered, mine, other);
      walk(c, other);
    });
    for (i64 c = 1; c < copies; ++c) add(out, views[static_cast<std::size_t>(c)]);
  }

  template <class F> static void run_chunks(i64 n, const F& f) {
    if (n == 1) return f(i64{0});
    parallel_for(n, [&f](i64 c) { f(c); });
  }

  static void call(const PartKernel& k, const Arguments& args, i64 begin, i64 end, i64 chunk) {
    k.call(args.buffers.data(), args.scalars.data(), begin, end, chunk);
  }

  void gather(const Lowered& l, std::span<const Tensor> operands, const Part& part, const DenseView& out, void* alpha,
              void* beta, Arguments& args) const {
    std::size_t n = 0;
    for (const BufferBinding& b : l.buffers) {
      const auto level = static_cast<std::size_t>(b.level);
      switch (b.kind) {
        case BufferBinding::pos: args.buffers[n++] = part.levels[level].pos.data; break;
        case BufferBinding::crd: args.buffers[n++] = part.levels[level].crd.data; break;
        case BufferBinding::values:
          args.buffers[n++] = b.operand == driver_ ? part.values.data
                                                   : operands[static_cast<std::size_t>(b.operand)].part().values.data;
          break;
        case BufferBinding::output: args.buffers[n++] = out.data; break;
        case BufferBinding::alpha: args.buffers[n++] = alpha; break;
        case BufferBinding::beta: args.buffers[n++] = beta; break;
      }
    }
    n = 0;
    for (const ScalarBinding& s : l.scalars) {
      const auto level = static_cast<std::size_t>(s.level);
      const Part* of = s.operand == driver_ ? &part
                       : s.operand >= 0     ? &operands[static_cast<std::size_t>(s.operand)].part()
                                            : nullptr;
      i64 value = 0;
      switch (s.kind) {
        case ScalarBinding::extent: value = extents_[level]; break;
        case ScalarBinding::dim_extent:
          value = s.operand < 0 ? product_.output.shape[level]
                                : product_.operands[static_cast<std::size_t>(s.operand)].shape[level];
          break;
        case ScalarBinding::level_lo: value = of->ranges[level].lo; break;
        case ScalarBinding::level_size: value = of->ranges[level].size; break;
        case ScalarBinding::level_slots: value = of->format.level(s.level).arg; break;
        case ScalarBinding::stride: value = of ? of->strides[level] : out.strides[level]; break;
        case ScalarBinding::offset: value = of ? of->values_offset : 0; break;  // a view starts at its first element
        case ScalarBinding::walk_begin: value = 0; break;
        case ScalarBinding::walk_end: value = iterations(*of, s.level); break;
        case ScalarBinding::lead: value = lead_of(*of); break;
        case ScalarBinding::batch_coordinate: value = of->ranges[level].lo; break;
      }
      args.scalars[n++] = value;
    }
  }

  static void bind_output(const Lowered& l, const DenseView& out, Arguments& args) {
    for (std::size_t n = 0; n < l.buffers.size(); ++n)
      if (l.buffers[n].kind == BufferBinding::output) args.buffers[n] = out.data;
    for (std::size_t n = 0; n < l.scalars.size(); ++n)
      if (l.scalars[n].operand < 0 && l.scalars[n].kind == ScalarBinding::stride)
        args.scalars[n] = out.strides[l.scalars[n].level];
  }

  /// Points `mine` at a batch; `base` holds the arguments of batch 0.
  void rebase(const Lowered& l, const Part& part, i64 batch, const Arguments& base, Arguments& mine) const {
    const auto moved = [&](const Buffer& b, std::size_t n, i64 stride) {
      return static_cast<void*>(static_cast<char*>(base.buffers[n]) +
                                batch * stride * static_cast<i64>(size_of(b.dtype)));
    };
    for (std::size_t n = 0; n < l.buffers.size(); ++n) {
      const BufferBinding& b = l.buffers[n];
      const auto level = static_cast<std::size_t>(b.level);
      if (b.kind == BufferBinding::pos) mine.buffers[n] = moved(part.levels[level].pos, n, part.pos_strides[level]);
      else if (b.kind == BufferBinding::crd)
        mine.buffers[n] = moved(part.levels[level].crd, n, part.crd_strides[level]);
      else if (b.kind == BufferBinding::values && b.operand == driver_)
        mine.buffers[n] = moved(part.values, n, part.values_batch_stride);
      else if (b.kind == BufferBinding::output && base.output_step != 0)
        mine.buffers[n] = static_cast<char*>(base.buffers[n]) + batch * base.output_step;
    }
    for (std::size_t n = 0; n < l.scalars.size(); ++n) {
      const ScalarBinding& s = l.scalars[n];
      if (s.kind != ScalarBinding::batch_coordinate) continue;
      i64 below = 1;  // batches per step of this level (row-major)
      for (int q = s.level + 1; q < part.format.num_batch_levels(); ++q)
        below *= part.ranges[static_cast<std::size_t>(q)].size;
      const LevelRange& r = part.ranges[static_cast<std::size_t>(s.level)];
      mine.scalars[n] = r.lo + (r.size > 0 ? batch / below % r.size : 0);
    }
  }

  Product product_;
  int driver_;
  bool wide_parts_;
  std::vector<PartKernel> parts_;
  std::vector<i64> extents_;
  bool one_product_;
};

}  // namespace

RunnerPtr compile_product(const Product& product, int driver, std::string& why, RowOrder order) {
  std::vector<KernelText> texts = lower_product(product, driver, why, host_target(), order);
  if (texts.empty()) return nullptr;
  std::vector<Shape> shapes;
  for (const auto& t : product.operands) shapes.push_back(t.shape);
  const std::vector<i64> extents = index_extents(product.einsum, shapes);
  std::vector<PartKernel> parts(texts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    PartKernel& p = parts[k];
    static_cast<KernelText&>(p) = std::move(texts[k]);
    for (int i : p.lowered.free_indices)
      if (__builtin_mul_overflow(p.free_work, extents[static_cast<std::size_t>(i)], &p.free_work))
        p.free_work = INT64_MAX / 2;
    if (p.lowered.launch.kind == Launch::output_window)
      p.output_extent = product.output.shape[static_cast<std::size_t>(p.lowered.launch.output_dim)];
    make_kernel(p);
  }
  return std::make_shared<CompiledRunner>(product, driver, adds_wide_parts(product, driver), std::move(parts), extents);
}

}  // namespace strata::planning
