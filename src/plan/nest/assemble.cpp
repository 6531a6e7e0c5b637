// Assembled results: how much room their chunks get.
#include "backend/pool.h"
#include "base/share.h"
#include "plan/nest/run.h"

namespace strata::direct {

double Run::expected(int node, i64 begin, i64 end) const {
  const merging::ElementwiseNode& n = u_.nodes[static_cast<std::size_t>(node)];
  if (n.kind == merging::ElementwiseNode::constant) return -1;
  if (n.kind == merging::ElementwiseNode::access) {
    const auto k = static_cast<std::size_t>(n.operand);
    return input().operands[k].dense ? -1 : expected_of(k, begin, end);
  }
  double least = -1, sum = 0;
  for (std::size_t k = 0; k < n.arguments.size(); ++k) {
    const int a = n.arguments[k];
    if (n.kind == merging::ElementwiseNode::all && !n.needed[k]) continue;
    if (u_.nodes[static_cast<std::size_t>(a)].kind == merging::ElementwiseNode::constant) continue;
    const double e = expected(a, begin, end);
    if (e < 0) {
      if (n.kind == merging::ElementwiseNode::any) return -1;
      continue;
    }
    least = least < 0 ? e : std::min(least, e);
    sum += e;
  }
  return n.kind == merging::ElementwiseNode::any ? sum : least;
}

double Run::expected_of(std::size_t k, i64 begin, i64 end) const {
  const Part& part = tensors_[k].part();
  const auto& vars = input().operands[k].vars;
  // What the result's blocks hold counts once.
  const auto in_block = [&](std::size_t level) {
    return part.format.level(static_cast<int>(level)).kind == LevelKind::dense &&
           std::ranges::count(kernel().lowered.tail, vars[level]) > 0;
  };
  std::size_t above = vars.size();
  double each = 1;
  while (above > 1 && in_block(above - 1)) each *= static_cast<double>(std::max<i64>(1, part.ranges[--above].size));
  double stored = is_cut(k) ? static_cast<double>(stored_before(part, end, above) - stored_before(part, begin, above))
                            : static_cast<double>(tensors_[k].nse()) / each;
  for (std::size_t l = 0; l < levels(); ++l)
    if (std::find(vars.begin(), vars.end(), kernel().lowered.levels[l]) == vars.end())
      stored *= l == 0 ? static_cast<double>(end - begin) : static_cast<double>(level_extent(l));
  return stored;
}

std::vector<i64> Run::first_capacity(i64 begin, i64 end) const {
  const auto rows = static_cast<double>(end - begin);
  double all = rows;
  for (std::size_t l = 1; l < levels(); ++l) all *= static_cast<double>(level_extent(l));
  double guess = expected(static_cast<int>(u_.nodes.size()) - 1, begin, end);
  if (guess < 0) guess = all;
  if (const int w = kernel().lowered.workspace; w >= 0) {
    guess = visits_ * rows / static_cast<double>(extents()[0]);
    for (std::size_t v = static_cast<std::size_t>(w) + 1; v < extents().size(); ++v)
      guess /= static_cast<double>(extents()[v]);
  }
  if (o_.blocks)
    guess = std::min(
        guess,
        guess * 4 / static_cast<double>(block()));  // a quarter of each block: with less there will be a second run
  if (u_.mask >= 0 && !u_.complement && !input().operands[static_cast<std::size_t>(u_.mask)].dense)
    guess = std::min(guess, expected_of(static_cast<std::size_t>(u_.mask), begin, end));
  const auto least = std::max(1.0, 1024.0 / static_cast<double>(block()));
  guess = std::min({std::max(guess, least), all, 1e8});
  std::vector<i64> capacity(levels(), static_cast<i64>(guess) + 1);
  for (std::size_t l = 0; l + 1 < levels(); ++l) {  // parents are no more than there are coordinates
    double most = rows;
    for (std::size_t q = 1; q <= l; ++q) most *= static_cast<double>(level_extent(q));
    capacity[l] = static_cast<i64>(std::min(most, guess)) + 1;
  }
  return capacity;
}

bool Run::needs(int node, int operand) const {
  const merging::ElementwiseNode& n = u_.nodes[static_cast<std::size_t>(node)];
  if (n.kind == merging::ElementwiseNode::access) return n.operand == operand;
  const auto argument = [&](std::size_t k) { return needs(n.arguments[k], operand); };
  for (std::size_t k = 0; k < n.arguments.size(); ++k) {
    if (n.kind == merging::ElementwiseNode::all && n.needed[k] && argument(k)) return true;
    if (n.kind == merging::ElementwiseNode::any &&
        u_.nodes[static_cast<std::size_t>(n.arguments[k])].kind != merging::ElementwiseNode::constant && !argument(k))
      return false;
  }
  return n.kind == merging::ElementwiseNode::any || (n.kind == merging::ElementwiseNode::map && argument(0));
}

int Run::bounding() const {
  if (o_.blocks) return -1;
  const auto& result = kernel().lowered.levels;
  for (int k = 0; k < static_cast<int>(tensors_.size()); ++k) {
    const merging::Operand& o = input().operands[static_cast<std::size_t>(k)];
    const LevelKind first = o.dense || o.type.levels.empty() ? LevelKind::dense : o.type.levels[0].kind;
    const bool counts = first == LevelKind::dense || first == LevelKind::compressed;  // exactly, before any coordinate
    const bool above = o.vars.size() >= result.size() && std::equal(result.begin(), result.end(), o.vars.begin());
    if (!o.dense && counts && above && !result.empty() && result[0] == 0 && k != u_.mask &&
        needs(static_cast<int>(u_.nodes.size()) - 1, k))
      return k;
  }
  return -1;
}

i64 Run::block() const {
  if (o_.blocks) return o_.blocks.size();
  i64 out = 1;
  for (int v : kernel().lowered.tail) out *= extents()[static_cast<std::size_t>(v)];
  return out;
}

std::vector<i64> Run::shares(i64 chunks) {
  const i64 threads = thread_count(),
            n = threads == 1 ? 1 : std::min<i64>(chunks, 4 * threads);  // one has no stitching
  std::vector<i64> out;
  for (i64 c = 0; c <= n; ++c) out.push_back(begin_of_share(chunks, c, n));
  return out;
}

execution::AssembledResult Run::assembled(const std::vector<i64>& starts) const {
  execution::AssembledResult r;
  r.levels = levels();
  r.dense_top = input().dense_top;
  r.top_extent = top_extent();
  r.crd = input().crd;
  r.values = u_.compute;
  r.block = block();
  if (const int v = kernel().lowered.workspace; v >= 0) {
    r.workspace = extents()[static_cast<std::size_t>(v)];
    if (o_.blocks) r.workspace = ceil_div(r.workspace, o_.blocks.columns);
    r.holds_mask = kernel().lowered.holds_mask;
  }
  // Where it is known how many come at most, all values have one memory: if as many come, nothing is copied.
  const int bound = bounding();
  const auto most_before = [&](i64 chunk, std::size_t l) {
    return stored_before(tensors_[static_cast<std::size_t>(bound)].part(), starts[static_cast<std::size_t>(chunk)],
                         l + 1);
  };
  const i64 chunks = static_cast<i64>(starts.size()) - 1;
  const std::vector<i64> cuts = shares(chunks);
  if (bound >= 0) r.whole = most_before(chunks, levels() - 1) * r.block;
  for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
    auto& share = r.shares.emplace_back();
    share.first = cuts[c];
    share.last = cuts[c + 1];
    if (bound < 0) {
      share.capacity = first_capacity(row_of(starts[static_cast<std::size_t>(share.first)]),
                                      row_of(starts[static_cast<std::size_t>(share.last)]));
    } else {
      for (std::size_t l = 0; l < levels(); ++l)
        share.capacity.push_back(most_before(share.last, l) - most_before(share.first, l));
      // (Of a list the first level has a position for each element, not for each coordinate.)
      share.capacity[0] = std::min(share.capacity[0], starts[static_cast<std::size_t>(share.last)] -
                                                          starts[static_cast<std::size_t>(share.first)]);
      share.offset = most_before(share.first, levels() - 1) * r.block;
    }
  }
  return r;
}

}  // namespace strata::direct
