// Where a unit's loops are cut, and what its result is made in.
#include <new>

#include "backend/pool.h"
#include "base/share.h"
#include "execute/chunks.h"
#include "plan/nest/row_order.h"
#include "plan/nest/run.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

using merging::Combine;

constexpr double visit_cost = 1.25;                                 ///< ns
constexpr i64 work_per_chunk = 16384;                               ///< visits and stored elements: some 20 us
constexpr i64 most_chunks = 64, work_between_polls = i64{1} << 26;  ///< Ctrl-C is heard between chunks: some 0.2 s
constexpr i64 slots_of_chunk = 16384;  ///< some 10 us, and what is given of them stays in a cache
constexpr i64 partial_work = 32768;    ///< visits that are worth a result of their own
constexpr i64 most_partials = 8;
constexpr i64 most_samples = 1024;  ///< of a factor that chooses

}  // namespace

execution::Job Run::job(std::optional<Buffer> onto) const {
  execution::Job job{.function = kernel().lowered,
                     .executable = kernel().executable,
                     .in = {.operands = tensors_, .extents = extents(), .bounds = bounds(), .lead = lead_of},
                     .absent = u_.absent,
                     .cuts = {},
                     .result = {}};
  if (o_.pattern >= 0) {
    const Tensor& t = tensors_[static_cast<std::size_t>(o_.pattern)];
    execution::SlotResult r{.size = slots_of_result(t), .onto = std::move(onto)};
    // What lies beyond the bounds of a block is not met, nor are slots that are not used.
    const auto is_padded = [](const Level& l) { return l.kind == LevelKind::padded; };
    const bool unused = t.format().num_batch_levels() > 0 || std::ranges::any_of(t.format().levels(), is_padded);
    if (!u_.bounds.empty() || unused) r.start = u_.fill;
    if (input().slots) {
      r.pattern = o_.pattern;
      for (std::size_t k = 0; k < tensors_.size(); ++k)
        if (input().operands[k].each_slot) r.of_rows.push_back(static_cast<int>(k));
      const i64 n = std::max<i64>(1, r.size / slots_of_chunk);
      for (i64 c = 0; c <= n; ++c) job.cuts.push_back(begin_of_share(r.size, c, n));
    } else if (input().also_cut >= 0) {
      cut_twice(job);
    } else {
      job.cuts = cut(1);
    }
    job.result = std::move(r);
    return job;
  }
  if (input().earlier >= 0) {
    job.cuts = cut(1);
    job.result = numeric(job.cuts);
    return job;
  }
  if (input().also_cut >= 0) {
    execution::DenseResult r = dense(false, std::move(onto));
    if (input().also_cut == input().tile) r.in_turn = cut_tile(job);
    else cut_twice(job);
    job.result = std::move(r);
    return job;
  }
  const i64 partials = this->partials();
  job.cuts = cut(partials);
  if (o_.along >= 0) {
    const i64 rows = u_.extents[static_cast<std::size_t>(u_.output[0])],
              columns = u_.extents[static_cast<std::size_t>(u_.output[1])];
    job.result = execution::StripResult{
        .diagonals = diagonals_, .rows = rows, .columns = columns, .length = o_.along == 0 ? rows : columns};
  } else if (o_.dense_result) {
    execution::DenseResult r = dense(in_parts() || partials > 1, std::move(onto));
    if (add_to_the_same()) r.in_turn = std::max<i64>(1, job.chunks() / partials);
    job.result = std::move(r);
  } else {
    job.result = assembled(job.cuts);
  }
  return job;
}

i64 Run::first_position(const Part& part, i64 x) {
  const Level& first = part.format.level(0);
  const LevelArrays& l = part.levels[0];
  if (first.kind == LevelKind::dense || first.kind == LevelKind::batch) return x;
  if (first.kind != LevelKind::compressed) {  // about: its coordinates cannot be searched
    const i64 n = storage::has_pos(first.kind) ? l.pos.index(1) : storage::width_of(first, part.ranges[0]);
    return static_cast<i64>(static_cast<double>(n) * static_cast<double>(x) / static_cast<double>(part.ranges[0].size));
  }
  return partition_point(0, l.pos.index(1), [&](i64 p) { return l.crd.index(p) < x; });
}

i64 Run::stored_before(const Part& part, i64 x, std::size_t levels) {
  i64 p = first_position(part, x);
  if (part.format.num_batch_levels() > 0)  // batches are taken to have as many each
    return p * (part.values.size / std::max<i64>(1, part.ranges[0].size));
  for (std::size_t l = 1; l < levels; ++l) {
    const Level& level = part.format.level(static_cast<int>(l));
    if (storage::has_pos(level.kind)) p = part.levels[l].pos.index(p);
    else if (level.kind != LevelKind::singleton) p *= storage::width_of(level, part.ranges[l]);
  }
  return p;
}

double Run::visits_of_usual_cost() const {
  // (What is computed in vectors takes less.)
  const double each = o_.cost > 0 ? std::clamp(o_.cost / o_.visits, 0.1, visit_cost) : visit_cost;
  return visits_ * (each / visit_cost);
}
i64 Run::work() const { return static_cast<i64>(std::min(visits_of_usual_cost(), 1e15)); }

std::vector<i64> Run::cut(i64 partials) const {
  const bool in_turn = add_to_the_same();
  if (in_turn && !(o_.dense_result && o_.along < 0)) return {0, top_extent()};
  // Coordinates of a vector that stand in no array would be counted from the first one on in every chunk.
  for (std::size_t k = 0; k < tensors_.size(); ++k)
    if (is_cut(k) && tensors_[k].rank() == 1 &&
        !storage::lists_coordinates(tensors_[k].format().level(0), extents()[0]))
      return {0, top_extent()};
  const i64 all = extents()[0], tops = top_extent();
  i64 heaviest = 0, work = this->work();
  const Part* by = nullptr;
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    if (!is_cut(k)) continue;
    if (!tensors_[k].format().level(0).ordered) return {0, top_extent()};  // what lies between two cuts nobody knows
    const i64 n = stored_before(tensors_[k].part(), all);
    work += n;
    if (n <= heaviest) continue;
    heaviest = n;
    by = &tensors_[k].part();
  }
  const i64 most = std::min(std::clamp<i64>(work / work_between_polls, most_chunks, 4096), all),
            n = in_turn ? partials * std::clamp<i64>(work / partials / work_between_polls, 1, 4096)
                        : std::clamp<i64>(work / work_per_chunk, 1, std::max<i64>(1, most));
  // Equal stored elements, with some weight on rows that have none.
  const double each = static_cast<double>(heaviest) / 4 / static_cast<double>(all);
  const auto weight = [&](i64 top) {
    const i64 row = row_of(top);
    return stored_before(*by, row) + static_cast<i64>(static_cast<double>(row) * each);
  };
  std::vector<i64> out{0};
  for (i64 c = 1; c <= n; ++c) {
    const i64 x = by ? execution::begin_of_weighed_share(tops, c, n, weight) : begin_of_share(tops, c, n);
    if (x > out.back() || c == n || in_turn) out.push_back(x);
  }
  return out;
}

void Run::cut_twice(execution::Job& job) const {
  const i64 all = extents()[0], rows = extents()[1];
  // What stands below a row, where an operand says.
  const Part* by = nullptr;
  for (std::size_t k = 0; k < tensors_.size() && !by; ++k) {
    const merging::Operand& o = input().operands[k];
    if (o.dense || o.vars.size() < 3 || o.vars[0] != 0 || o.vars[1] != 1) continue;
    const Part& p = tensors_[k].part();
    const bool says = o.type.levels[0].kind == LevelKind::dense && o.type.levels[1].kind == LevelKind::dense &&
                      storage::has_pos(p.format.level(2).kind);
    if (says) by = &p;
  }
  const bool batches = by && by->format.num_batch_levels() > 0;
  const auto stored_before = [&](i64 top, i64 row) {
    const Buffer& pos = by->levels[2].pos;
    const i64 start = batches ? top * by->pos_strides[2] : top * rows;
    return pos.index(start + row) - pos.index(start);
  };
  const i64 work = this->work() / all;
  const i64 n = std::min(std::clamp<i64>(work / work_per_chunk, 1, ceil_div(most_chunks, all)), rows);
  for (i64 top = 0; top < all; ++top) {
    const double each = by ? static_cast<double>(stored_before(top, rows)) / 4 / static_cast<double>(rows) : 1;
    const auto weight = [&](i64 row) {
      return (by ? stored_before(top, row) : 0) + static_cast<i64>(static_cast<double>(row) * each);
    };
    i64 from = 0;
    for (i64 c = 1; c <= n; ++c) {
      const i64 to = execution::begin_of_weighed_share(rows, c, n, weight);
      if (to == from && c < n) continue;
      job.windows.push_back({top, top + 1, from, to});
      from = to;
    }
  }
}

i64 Run::cut_tile(execution::Job& job) const {
  const std::vector<i64> cuts = cut(1);
  const i64 all = extents()[static_cast<std::size_t>(input().tile)], vectors = ceil_div(all, i64{input().lanes}),
            n = std::clamp<i64>(work() / work_per_chunk, 1, std::min<i64>(vectors, thread_count()));
  for (i64 w = 0; w < n; ++w)
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c)
      job.windows.push_back({cuts[c], cuts[c + 1], begin_of_share(vectors, w, n) * input().lanes,
                             std::min(all, begin_of_share(vectors, w + 1, n) * input().lanes)});
  return std::ssize(cuts) - 1;
}

execution::DenseResult Run::dense(bool apart, std::optional<Buffer> onto) const {
  const EmptyResult& empty = *fitted_->dense;
  if (empty.size < 0 || empty.size > INT64_MAX / 16) throw std::bad_alloc();
  execution::DenseResult r{.size = empty.size,
                           .strides = empty.strides,
                           .start = {},
                           .onto = std::move(onto),
                           .apart = apart,
                           .combine = u_.combine};
  // (In a semiring loops are left out where a factor says that nothing comes.)
  const bool stores_all = !u_.ring && u_.combine == Combine::plus && u_.mask < 0 && u_.bounds.empty() &&
                          u_.strides.empty() && std::ranges::all_of(u_.accesses, &Access::dense) &&
                          std::ranges::none_of(u_.summed, [](char s) { return s != 0; });
  // Where several values meet in memory, it must hold what changes none of them.
  if (!input().joins && !stores_all && (apart || !sums_everywhere())) r.start = meets() || apart ? u_.absent : u_.fill;
  if (u_.skew) r.offset = u_.skew->offset;
  return r;
}

execution::NumericResult Run::numeric(const std::vector<i64>& starts) const {
  const Part& pattern = tensors_.back().part();
  execution::NumericResult r{.size = used_values(pattern), .ends = {}, .shares = shares(std::ssize(starts) - 1)};
  for (std::size_t c = 0; c < starts.size(); ++c) {
    // Where the outermost index is summed there is one chunk, of the whole result.
    const i64 x = c == 0 ? 0 : c + 1 == starts.size() ? level_extent(0) : starts[c];
    auto& ends = r.ends.emplace_back();
    for (std::size_t l = 0; l < levels(); ++l) ends.push_back(stored_before(pattern, x, l + 1));
  }
  if (const int v = kernel().lowered.workspace; v >= 0) {
    r.workspace = extents()[static_cast<std::size_t>(v)];
    r.slots = tensors_.back().type().pos_dtype;
    r.holds_mask = kernel().lowered.holds_mask;
  }
  return r;
}

i64 Run::partials() const {
  if (!o_.dense_result || !input().summed[0] || in_parts() || u_.others || u_.combine == Combine::first ||
      !u_.strides.empty())
    return 1;
  const i64 n = fitted_->dense ? fitted_->dense->size : 0;
  if (n <= 0) return 1;
  const auto most_of = [&](double visits) {
    const i64 work = static_cast<i64>(std::min(visits, 1e15));
    return std::min({work / 4 / n, work / partial_work, most_partials, extents()[0]});
  };
  const double all = visits_of_usual_cost();
  if (most_of(all) <= 1) return 1;
  const i64 most = most_of(all * chosen_share());
  // How floats are summed must not depend on the threads; the least of numbers is the same in any order.
  const bool any_order = u_.combine != Combine::plus || is_integer(u_.compute);
  return std::max<i64>(1, any_order ? std::min<i64>(most, thread_count()) : most);
}

double Run::chosen_share() const {
  double share = 1;
  for (std::size_t n = 0; n < u_.nodes.size(); ++n) {
    if (!merging::annihilates(input(), static_cast<int>(n))) continue;
    const auto k = static_cast<std::size_t>(u_.nodes[n].operand);
    if (!input().operands[k].dense || input().operands[k].vars != std::vector<int>{0}) continue;
    const Part& p = tensors_[k].part();
    const i64 all = extents()[0], samples = std::min(all, most_samples);
    const auto count = [&]<class T>(T nothing) {
      i64 chosen = 0;
      for (i64 s = 0; s < samples; ++s)
        chosen += static_cast<const T*>(p.values.data)[p.values_offset + all / samples * s * p.strides[0]] != nothing;
      share = std::min(share, static_cast<double>(chosen) / static_cast<double>(samples));
    };
    if (tensors_[k].dtype() == DType::boolean) count(std::uint8_t{0});
    else if (tensors_[k].dtype() == DType::f32) count(static_cast<float>(u_.absent.to_double()));
    else if (tensors_[k].dtype() == DType::f64) count(u_.absent.to_double());
  }
  return share;
}

}  // namespace strata::direct
