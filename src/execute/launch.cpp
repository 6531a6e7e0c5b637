#include "execute/launch.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "backend/backend.h"
#include "backend/pool.h"
#include "base/checked.h"
#include "compiler/merge/merge.h"
#include "execute/chunks.h"
#include "execute/scatter.h"
#include "levels/level_storage.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;

constexpr i64 most_copies = 8;

void call(const LaunchedKernel& k, const Arguments& args, i64 begin, i64 end, i64 chunk) {
  k.call(args.buffers(), args.scalars(), begin, end, chunk);
}

/// How many results for shares of the walk pay, where one counts for `size` stored elements.
i64 partial_results(const Domain& domain, i64 size) {
  return std::min<i64>({most_copies, domain.chunks(), domain.stored() / 4 / std::max<i64>(1, size)});
}

/// Where the bounds of the walk stand among the scalars of a kernel that takes them.
std::optional<std::pair<std::size_t, std::size_t>> walk_span(const LaunchedKernel& k) {
  const std::vector<ScalarBinding>& scalars = k.lowered.scalars;
  const auto first = std::ranges::find(scalars, ScalarBinding::walk_begin, &ScalarBinding::kind);
  const auto last = std::ranges::find(scalars, ScalarBinding::walk_end, &ScalarBinding::kind);
  if (first == scalars.end() || last == scalars.end()) return std::nullopt;
  return std::pair(static_cast<std::size_t>(first - scalars.begin()), static_cast<std::size_t>(last - scalars.begin()));
}

/// Windows that each walk the whole driver do so in slices, between which Ctrl-C is heard.
void call_in_slices(const LaunchedKernel& k, const Arguments& args, i64 slices, i64 begin, i64 end, i64 chunk) {
  const auto span = slices > 1 ? walk_span(k) : std::nullopt;
  if (!span) return call(k, args, begin, end, chunk);
  Arguments mine = args;
  i64 &from = mine.scalar(span->first), &to = mine.scalar(span->second);
  const i64 all = to, each = std::max<i64>(1, ceil_div(all, slices));
  for (i64 at = 0; at < all; at += each) {
    if (at > 0) poll_interrupt();
    from = at;
    to = std::min(all, at + each);
    call(k, mine, begin, end, chunk);
  }
}

/// Chunks add to the same output. `run` is as call().
template <class F>
void scatter(const LaunchedKernel& k, const Domain& domain, const DenseView& out, const Arguments& args, i64 copies,
             const F& run) {
  // A copy's share may last for seconds: it is walked in slices, between which Ctrl-C is heard.
  const i64 slices = ceil_div(domain.slices(), copies);
  const auto walk = [&](i64 c, const Arguments& mine) {
    for (i64 s = c * slices; s < (c + 1) * slices; ++s) {
      if (s > c * slices) poll_interrupt();
      const i64 begin = domain.cut(s, copies * slices), end = domain.cut(s + 1, copies * slices);
      if (begin < end) run(k, mine, begin, end, c);
    }
  };
  scatter(out, copies, Scalar::zero(out.dtype), merging::Combine::plus, [&](i64 c, const DenseView& to) {
    if (c == 0) return walk(c, args);
    Arguments mine = args;
    mine.write_to(k.lowered, to.data, to.strides);
    walk(c, mine);
  });
}

/// Windows that each walk the whole driver share out what a stored element costs, a vector at least each; results of
/// their own for shares of the walk share out everything. False where these would cost more than they bring.
bool scatter_instead(const LaunchedKernel& k, const Part& part, const DenseView& out, const Arguments& args) {
  const auto span = walk_span(k);
  if (!span || k.lowered.applies_beta) return false;
  Launch walk;
  walk.kind = Launch::outer_scatter;
  walk.level = k.lowered.scalars[span->second].level;
  for (int l = walk.level + 1; l < part.format.num_levels() && walk.weight_level < 0; ++l)
    if (const LevelKind kind = part.format.level(l).kind; storage::has_pos(kind)) walk.weight_level = l;
  const Domain domain(walk, part, 0, k.output_extent, k.free_work);
  const i64 copies = partial_results(domain, out.size() / std::max<i64>(1, k.free_work));
  if (copies < 2) return false;
  scatter(k, domain, out, args, copies,
          [&](const LaunchedKernel& kernel, Arguments mine, i64 begin, i64 end, i64 chunk) {
            mine.scalar(span->first) = begin;
            mine.scalar(span->second) = end;
            call(kernel, mine, 0, kernel.output_extent, chunk);
          });
  return true;
}

/// All chunks of one batch, whose arguments are `args`.
void launch_batch(const LaunchedKernel& k, const Part& part, const DenseView& out, i64 batch, const Arguments& args) {
  const Launch& n = k.lowered.launch;
  const Domain domain(n, part, batch, k.output_extent, k.free_work);
  if (domain.size() == 0) return;
  if (n.kind == Launch::outer_scatter)
    return scatter(k, domain, out, args, std::max<i64>(1, partial_results(domain, out.size())), call);
  if (n.kind == Launch::output_window && scatter_instead(k, part, out, args)) return;
  const i64 chunks = domain.chunks();
  if (chunks <= 1) return call_in_slices(k, args, domain.slices(), 0, domain.size(), 0);
  in_chunks(chunks, [&](i64 c) {
    const i64 begin = domain.cut(c, chunks), end = domain.cut(c + 1, chunks);
    if (begin < end) call_in_slices(k, args, domain.slices() / chunks, begin, end, c);
  });
}

}  // namespace

void launch(const LaunchedKernel& k, const Inputs& in, const DenseView& out) {
  const LoweredProduct& l = k.lowered;
  const Part& part = *in.part;
  const Arguments args(l, in, {.values = out.data, .strides = out.strides});
  // All-dense drivers have their batch levels among the strides.
  if (part.format.num_batch_levels() == 0 || !part.strides.empty()) return launch_batch(k, part, out, 0, args);
  if (l.independent_batches && part.num_batches > 1) {
    // Small batches are the chunks; a few large ones are cut themselves.
    const Domain first(l.launch, part, 0, k.output_extent, k.free_work);
    if (part.num_batches >= 8 || first.chunks() == 1) {
      const i64 groups =
          std::clamp<i64>(part.num_batches * std::max<i64>(1, first.chunks()), 1, std::min<i64>(part.num_batches, 256));
      in_chunks(groups, [&](i64 g) {
        Arguments mine = args;
        for (i64 batch = part.num_batches * g / groups; batch < part.num_batches * (g + 1) / groups; ++batch) {
          mine.move_to(batch, l, in, args);
          const Domain domain(l.launch, part, batch, k.output_extent, k.free_work);
          if (domain.size() > 0) call(k, mine, 0, domain.size(), 0);
        }
      });
      return;
    }
  }
  Arguments mine = args;
  for (i64 batch = 0; batch < part.num_batches; ++batch) {
    mine.move_to(batch, l, in, args);
    launch_batch(k, part, out, batch, mine);
  }
}

}  // namespace strata::execution
