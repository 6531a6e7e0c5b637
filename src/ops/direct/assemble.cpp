// Assembled results: each chunk appends to a piece of its own, with more room where it did not fit; pieces are
// stitched.
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

void Run::grow(Buffer& b, DType dtype, i64 used, i64 size) {
  Buffer more = Buffer::allocate(dtype, size);
  if (used > 0) std::memcpy(more.data, b.data, static_cast<std::size_t>(used) * size_of(dtype));
  b = std::move(more);
}

void Run::reserve(Piece& p, std::vector<i64> capacity) const {
  p.crd.resize(levels());
  p.pos.resize(levels());
  p.sizes.resize(levels());
  for (std::size_t l = 0; l < levels(); ++l) {
    if (l > 0 || !input_.dense_top) grow(p.crd[l], input_.crd, p.sizes[l], capacity[l]);
    if (l > 0 && !(l == 1 && input_.dense_top)) grow(p.pos[l], DType::i64, p.sizes[l - 1], capacity[l - 1]);
  }
  if (p.values.size < capacity.back() * block())
    grow(p.values, u_.compute, p.sizes.back() * block(), capacity.back() * block());
  p.capacity = std::move(capacity);
}

Tensor Run::assembled() const {
  // Every row is computed alone, so how rows are gathered into pieces may follow the threads: one thread has nothing
  // to stitch.
  const i64 windows = static_cast<i64>(chunks()), threads = thread_count();
  const i64 n = threads == 1 ? 1 : std::min<i64>(windows, 4 * threads);
  std::vector<Piece> pieces(static_cast<std::size_t>(n));
  Buffer counts = input_.dense_top ? Buffer::zeros(DType::i64, top_extent()) : Buffer();
  // Where it is known how many come at most, all values have one memory: if as many come, nothing is copied.
  const int bound = bounding();
  const auto most_before = [&](i64 window, std::size_t l) {
    return stored_before(tensors_[static_cast<std::size_t>(bound)].part(), cuts_[static_cast<std::size_t>(window)],
                         l + 1);
  };
  const Buffer whole =
      bound >= 0 ? Buffer::allocate(u_.compute, most_before(windows, levels() - 1) * block()) : Buffer();
  parallel_for(n, [&](i64 c) {
    Piece& p = pieces[static_cast<std::size_t>(c)];
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
    reserve(p, std::move(capacity));
    for (i64 window = first; window < last; ++window) {
      if (window > first) poll_interrupt();
      const std::vector<i64> before = p.sizes;
      for (;;) {
        call(static_cast<std::size_t>(window), &p, &w, nullptr, {}, counts.data);
        std::vector<i64> needed = p.sizes;
        bool fits = true;
        for (std::size_t l = 0; l < levels(); ++l) {
          fits = fits && needed[l] <= p.capacity[l];
          needed[l] = needed[l] <= p.capacity[l] ? p.capacity[l] : needed[l] + needed[l] / 2;
        }
        if (fits) break;
        p.sizes = before;  // once more, now that it is known how much is needed (unless an operand changes meanwhile)
        reserve(p, std::move(needed));
      }
    }
  });
  return stitch(pieces, counts, whole);
}

Tensor Run::stitch(std::vector<Piece>& pieces, const Buffer& counts, const Buffer& whole) const {
  std::vector<std::vector<i64>> starts(levels(), std::vector<i64>(pieces.size() + 1, 0));
  for (std::size_t l = 0; l < levels(); ++l)
    for (std::size_t c = 0; c < pieces.size(); ++c) starts[l][c + 1] = starts[l][c] + pieces[c].sizes[l];
  const i64 each = block(), stored = starts.back().back() * each;
  const DType pos_dtype = index_dtype_for(starts.back().back());
  RawArrays arrays;
  const auto crd_width = static_cast<i64>(size_of(input_.crd)), width = static_cast<i64>(size_of(u_.compute));
  const bool alone = pieces.size() == 1;
  // Memory that is nearly full serves as it is.
  const bool adopt = alone && 2 * stored >= pieces[0].values.size,
             in_place = !adopt && stored > 0 && whole.size == stored;
  for (std::size_t l = 0; l < levels(); ++l) {
    const int level = static_cast<int>(l);
    if (l == 0 && input_.dense_top) continue;
    const i64 parents = l == 0 ? 1 : l == 1 && input_.dense_top ? top_extent() : starts[l - 1].back();
    arrays.pos[level] = Buffer::allocate(pos_dtype, parents + 1);
    arrays.pos[level].set_index(0, 0);
    if (l == 0) arrays.pos[level].set_index(1, starts[0].back());
    arrays.crd[level] =
        adopt ? prefix(pieces[0].crd[l], starts[l].back()) : Buffer::allocate(input_.crd, starts[l].back());
  }
  arrays.values = adopt ? prefix(pieces[0].values, stored) : in_place ? whole : Buffer::allocate(u_.compute, stored);
  if (input_.dense_top) {
    i64 sum = 0;
    const auto* n = static_cast<const i64*>(counts.data);
    with_index(arrays.pos[1], [&](auto* to) {
      for (i64 x = 0; x < top_extent(); ++x) to[x + 1] = static_cast<std::decay_t<decltype(*to)>>(sum += n[x]);
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
    if (!adopt && !in_place && p.sizes.back() > 0)
      std::memcpy(static_cast<char*>(arrays.values.data) + starts.back()[c] * each * width, p.values.data,
                  static_cast<std::size_t>(p.sizes.back() * each * width));
    if (!adopt) p = {};
  });
  return make_tensor(format(levels()), shape(), std::move(arrays), u_.fill, false);
}

Buffer Run::prefix(Buffer b, i64 size) {
  b.size = size;
  return b;
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
