// Assembled results: how much room their chunks get, and their format.
#include "backend/pool.h"
#include "base/share.h"
#include "ops/convert_elements.h"
#include "ops/direct/run.h"
#include "strata/settings.h"

namespace strata::direct {

double Run::expected(int node, i64 begin, i64 end) const {
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

double Run::expected_of(std::size_t k, i64 begin, i64 end) const {
  const Part& part = tensors_[k].part();
  const auto& vars = input_.operands[k].vars;
  // What the result's blocks hold counts once.
  const auto in_block = [&](std::size_t level) {
    return part.format.level(static_cast<int>(level)).kind == LevelKind::dense &&
           std::ranges::count(kernel_->lowered.tail, vars[level]) > 0;
  };
  std::size_t above = vars.size();
  double each = 1;
  while (above > 1 && in_block(above - 1)) each *= static_cast<double>(std::max<i64>(1, part.ranges[--above].size));
  double stored = cuts(k) ? static_cast<double>(stored_before(part, end, above) - stored_before(part, begin, above))
                          : static_cast<double>(tensors_[k].nse()) / each;
  for (std::size_t l = 0; l < levels(); ++l)
    if (std::find(vars.begin(), vars.end(), kernel_->lowered.levels[l]) == vars.end())
      stored *= l == 0 ? static_cast<double>(end - begin) : static_cast<double>(level_extent(l));
  return stored;
}

std::vector<i64> Run::first_capacity(i64 begin, i64 end) const {
  const auto rows = static_cast<double>(end - begin);
  double all = rows;
  for (std::size_t l = 1; l < levels(); ++l) all *= static_cast<double>(level_extent(l));
  double guess = expected(static_cast<int>(u_.nodes.size()) - 1, begin, end);
  if (guess < 0) guess = all;
  if (const int w = kernel_->lowered.workspace; w >= 0) {
    guess = o_.visits * rows / static_cast<double>(extents_[0]);
    for (std::size_t v = static_cast<std::size_t>(w) + 1; v < extents_.size(); ++v)
      guess /= static_cast<double>(extents_[v]);
  }
  if (o_.blocks)
    guess = std::min(
        guess,
        guess * 4 / static_cast<double>(block()));  // a quarter of each block: with less there will be a second run
  if (u_.mask >= 0 && !u_.complement && !input_.operands[static_cast<std::size_t>(u_.mask)].dense)
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
  const merging::Node& n = u_.nodes[static_cast<std::size_t>(node)];
  if (n.kind == merging::Node::access) return n.operand == operand;
  const auto argument = [&](std::size_t k) { return needs(n.arguments[k], operand); };
  for (std::size_t k = 0; k < n.arguments.size(); ++k) {
    if (n.kind == merging::Node::all && n.needed[k] && argument(k)) return true;
    if (n.kind == merging::Node::any &&
        u_.nodes[static_cast<std::size_t>(n.arguments[k])].kind != merging::Node::constant && !argument(k))
      return false;
  }
  return n.kind == merging::Node::any || (n.kind == merging::Node::map && argument(0));
}

int Run::bounding() const {
  if (o_.blocks) return -1;
  const auto& result = kernel_->lowered.levels;
  for (int k = 0; k < static_cast<int>(tensors_.size()); ++k) {
    const merging::Operand& o = input_.operands[static_cast<std::size_t>(k)];
    const bool above = o.vars.size() >= result.size() && std::equal(result.begin(), result.end(), o.vars.begin());
    if (!o.dense && above && !result.empty() && result[0] == 0 && k != u_.mask &&
        needs(static_cast<int>(u_.nodes.size()) - 1, k))
      return k;
  }
  return -1;
}

execution::Assembly Run::assembly() const {
  execution::Assembly out;
  out.levels = levels();
  out.dense_top = input_.dense_top;
  out.top_extent = top_extent();
  out.crd = input_.crd;
  out.values = u_.compute;
  out.block = block();
  return out;
}

Tensor Run::assembled() const {
  // Every row is computed alone, so how rows are gathered into pieces may follow the threads: one thread has nothing
  // to stitch.
  const i64 windows = chunks(), threads = thread_count();
  const i64 n = threads == 1 ? 1 : std::min<i64>(windows, 4 * threads);
  const execution::Assembly assembly = this->assembly();
  std::vector<execution::Piece> pieces(static_cast<std::size_t>(n));
  const Buffer counts = input_.dense_top ? Buffer::zeros(DType::i64, top_extent()) : Buffer();
  // Where it is known how many come at most, all values have one memory: if as many come, nothing is copied.
  const int bound = bounding();
  const auto most_before = [&](i64 window, std::size_t l) {
    return stored_before(tensors_[static_cast<std::size_t>(bound)].part(), cuts_[static_cast<std::size_t>(window)],
                         l + 1);
  };
  const Buffer whole =
      bound >= 0 ? Buffer::allocate(u_.compute, most_before(windows, levels() - 1) * block()) : Buffer();
  parallel_for(n, [&](i64 c) {
    execution::Piece& p = pieces[static_cast<std::size_t>(c)];
    const i64 first = begin_of_share(windows, c, n), last = begin_of_share(windows, c + 1, n);
    const Workspace w = kernel_->lowered.workspace >= 0 ? workspace() : Workspace();
    std::vector<i64> capacity;
    if (bound < 0)
      capacity =
          first_capacity(row_of(cuts_[static_cast<std::size_t>(first)]), row_of(cuts_[static_cast<std::size_t>(last)]));
    else
      for (std::size_t l = 0; l < levels(); ++l) capacity.push_back(most_before(last, l) - most_before(first, l));
    if (bound >= 0) {
      p.values = whole;
      p.values.data = static_cast<char*>(whole.data) +
                      most_before(first, levels() - 1) * block() * static_cast<i64>(size_of(u_.compute));
      p.values.size = capacity.back() * block();
    }
    assembly.reserve(p, std::move(capacity));
    for (i64 window = first; window < last; ++window) {
      if (window > first) poll_interrupt();
      assembly.append(p, [&] {
        call(window, {.values = p.values.data,
                      .crd = p.crd,
                      .pos = p.pos,
                      .counts = counts.data,
                      .sizes = p.sizes.data(),
                      .capacity = p.capacity.data(),
                      .row_values = w.values.data,
                      .row_mask = w.mask.data,
                      .row_bits = {w.bits[0].data, w.bits[1].data, w.bits[2].data}});
      });
    }
  });
  return make_tensor(format(levels()), shape(), assembly.stitch(pieces, counts, whole), u_.fill, false);
}

Shape Run::shape() const {
  Shape out;
  for (int i : u_.output) out.push_back(u_.extents[static_cast<std::size_t>(i)]);
  return out;
}

Format Run::format(std::size_t levels) const {
  std::vector<std::string> names;
  for (int index : u_.output) names.push_back(u_.names[static_cast<std::size_t>(index)]);
  FormatBuilder b(names);
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
