#include "execute/job.h"

#include <algorithm>
#include <atomic>

#include "backend/backend.h"
#include "backend/pool.h"
#include "base/checked.h"
#include "base/share.h"
#include "execute/chunks.h"
#include "execute/scatter.h"
#include "strata/error.h"
#include "tensor/values.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;

constexpr i64 at_once = 16;  ///< slots that get the value of a row together

void call(const Job& job, const Arguments& args, i64 chunk) {
  const auto c = static_cast<std::size_t>(chunk);
  job.executable.call(args.buffers(), args.scalars(), job.cuts[c], job.cuts[c + 1], chunk);
}

void call(const Job& job, const Outputs& out, i64 chunk) {
  Arguments args(job.function, job.in, out);
  if (job.windows.empty()) return call(job, args, chunk);
  const Job::Window& window = job.windows[static_cast<std::size_t>(chunk)];
  for (std::size_t n = 0; n < job.function.scalars.size(); ++n) {
    const ScalarBinding& s = job.function.scalars[n];
    if (s.kind == ScalarBinding::walk_begin) args.scalar(n) = window.other_begin;
    if (s.kind == ScalarBinding::walk_end) args.scalar(n) = window.other_end;
  }
  job.executable.call(args.buffers(), args.scalars(), window.begin, window.end, chunk);
}

/// A value of an operand for each slot from `begin` on, as its row has it. `first`: the row of slot `begin`.
template <class T, class P>
void spread(const Part& pattern, const Part& rows, i64 first, i64 begin, i64 end, T* to) {
  const bool dense = pattern.format.level(0).kind == LevelKind::dense;
  const T* row_values = static_cast<const T*>(rows.values.data) + rows.values_offset;
  const auto* pos = static_cast<const P*>(pattern.levels[1].pos.data);
  for (i64 q = first, at = begin; at < end; ++q) {
    const i64 stop = std::min<i64>(end, static_cast<i64>(pos[q + 1])), x = dense ? q : pattern.levels[0].crd.index(q);
    const T value = row_values[x * rows.strides[0]];
    // Whole vectors: where the next row begins is overwritten by it.
    do {
      for (i64 s = 0; s < at_once; ++s) to[at - begin + s] = value;
      at += at_once;
    } while (at < stop);
    at = stop;
  }
}

/// One chunk of slots, for which the values of rows are spread out.
void call_of_rows(const Job& job, const SlotResult& r, const Buffer& values, i64 chunk) {
  const Part& pattern = job.in.part_of(r.pattern);
  const auto c = static_cast<std::size_t>(chunk);
  const i64 begin = job.cuts[c], end = job.cuts[c + 1], rows = iterations(pattern, 0);
  const Buffer& pos = pattern.levels[1].pos;
  const i64 first = partition_point(0, rows, [&](i64 row) { return pos.index(row + 1) <= begin; });
  Arguments args(job.function, job.in, {.values = values.data});
  std::vector<Buffer> spread_out;
  for (const int k : r.of_rows) {
    const DType t = job.in.operands[static_cast<std::size_t>(k)].dtype();
    const Buffer& own = spread_out.emplace_back(backend().allocate(t, end - begin + at_once));
    with_width(size_of(t), [&]<class T>(T) {
      with_index_type(pos.dtype, [&]<class P>(P) {
        spread<T, P>(pattern, job.in.part_of(k), first, begin, end, static_cast<T*>(own.data));
      });
    });
    for (std::size_t n = 0; n < job.function.buffers.size(); ++n)
      if (const BufferBinding& b = job.function.buffers[n]; b.kind == BufferBinding::values && b.operand == k)
        args.buffer(n) = own.data;
  }
  call(job, args, chunk);
}

RawArrays make(const Job& job, const DenseResult& r) {
  const i64 groups = job.chunks() / r.in_turn;
  const auto group = [&](i64 g, void* values) {
    for (i64 c = g * r.in_turn; c < (g + 1) * r.in_turn; ++c) {
      if (c > g * r.in_turn) poll_interrupt();
      call(job, {.values = values, .strides = r.strides, .offset = r.offset}, c);
    }
  };
  const bool numbers = r.apart && r.size == 1;
  Buffer out = r.onto    ? *r.onto
               : r.start ? backend().filled(*r.start, numbers ? groups : r.size)
                         : backend().allocate(job.absent.dtype, r.size);
  if (r.onto && r.start) fill(view_of(out.dtype, out.data, r.size), *r.start);
  const auto width = static_cast<i64>(size_of(out.dtype));
  if (r.apart && !numbers) {
    const DenseView all = view_of(out.dtype, out.data, r.size);
    scatter(all, groups, job.absent, r.combine, [&](i64 g, const DenseView& to) { group(g, to.data); });
  } else {
    in_chunks(groups, [&](i64 g) { group(g, static_cast<char*>(out.data) + (numbers ? g * width : 0)); });
  }
  if (numbers) combine_in_pairs(out, r.combine);
  out.size = r.size;
  RawArrays arrays;
  arrays.values = std::move(out);
  return arrays;
}

RawArrays make(const Job& job, const SlotResult& r) {
  RawArrays arrays;
  arrays.values = r.onto    ? *r.onto
                  : r.start ? backend().filled(*r.start, r.size)
                            : backend().allocate(job.absent.dtype, r.size);
  in_chunks(job.chunks(), [&](i64 c) {
    if (r.pattern >= 0) call_of_rows(job, r, arrays.values, c);
    else call(job, {.values = arrays.values.data}, c);
  });
  return arrays;
}

RawArrays make(const Job& job, const StripResult& r) {
  const auto n = static_cast<i64>(r.diagonals.size()), chunks = job.chunks();
  // All other diagonals have the strip behind the last one, which stays empty.
  Buffer table = backend().allocate(DType::i32, r.rows + r.columns - 1);
  auto* strip = static_cast<std::int32_t*>(table.data);
  std::fill(strip, strip + table.size, static_cast<std::int32_t>(n));
  for (i64 k = 0; k < n; ++k)
    strip[r.diagonals[static_cast<std::size_t>(k)] + r.rows - 1] = static_cast<std::int32_t>(k);
  Buffer values = backend().filled(job.absent, (n + 1) * r.length);
  const Buffer met = backend().filled(Scalar::zero(DType::u8), chunks * (n + 1));
  auto* flags = static_cast<std::uint8_t*>(met.data);
  in_chunks(chunks,
            [&](i64 c) { call(job, {.values = values.data, .strips = table.data, .met = flags + c * (n + 1)}, c); });
  const auto is_met = [&](i64 k) {
    for (i64 c = 0; c < chunks; ++c)
      if (flags[c * (n + 1) + k]) return true;
    return false;
  };
  if (is_met(n)) throw InternalError("a value lies on a diagonal that no operand leads to");
  std::vector<i64> kept;
  for (i64 k = 0; k < n; ++k)
    if (is_met(k)) kept.push_back(k);
  const auto count = static_cast<i64>(kept.size());
  RawArrays arrays;
  arrays.pos[0] = backend().filled(Scalar::zero(DType::i32), 2);
  arrays.pos[0].set_index(1, count);
  Buffer& crd = arrays.crd[0] = backend().allocate(index_dtype_for(std::max(r.rows, r.columns)), count);
  for (i64 k = 0; k < count; ++k)
    crd.set_index(k, r.diagonals[static_cast<std::size_t>(kept[static_cast<std::size_t>(k)])]);
  if (count < n) {
    const i64 bytes = r.length * static_cast<i64>(size_of(values.dtype));
    const Buffer fewer = backend().allocate(values.dtype, count * r.length);
    for (i64 k = 0; k < count; ++k)
      backend().copy(static_cast<char*>(fewer.data) + k * bytes,
                     static_cast<const char*>(values.data) + kept[static_cast<std::size_t>(k)] * bytes, bytes);
    values = fewer;
  }
  values.size = count * r.length;
  arrays.values = std::move(values);
  return arrays;
}

struct WorkspaceBuffers {
  Buffer values, bits[3], mask;
};

WorkspaceBuffers workspace(const Job& job, const AssembledResult& r) {
  WorkspaceBuffers w;
  if (r.workspace < 0) return w;
  w.values = backend().filled(job.absent, r.workspace * r.block);
  i64 words = ceil_div(r.workspace, 64);
  if (r.holds_mask) w.mask = backend().filled(Scalar::zero(DType::i64), words);
  for (auto& b : w.bits) {
    b = backend().filled(Scalar::zero(DType::i64), words);
    words = ceil_div(words, 64);
  }
  return w;
}

RawArrays make(const Job& job, const AssembledResult& r) {
  std::vector<Piece> pieces(r.shares.size());
  const Buffer counts = r.dense_top ? backend().filled(Scalar::zero(DType::i64), r.top_extent) : Buffer();
  const Buffer whole = r.whole >= 0 ? backend().allocate(r.values, r.whole) : Buffer();
  in_chunks(static_cast<i64>(pieces.size()), [&](i64 c) {
    Piece& p = pieces[static_cast<std::size_t>(c)];
    const AssembledResult::ChunkShare& share = r.shares[static_cast<std::size_t>(c)];
    const WorkspaceBuffers w = workspace(job, r);
    if (r.whole >= 0) {
      p.values = whole;
      p.values.data = static_cast<char*>(whole.data) + share.offset * static_cast<i64>(size_of(r.values));
      p.values.size = share.capacity.back() * r.block;
    }
    r.reserve(p, share.capacity);
    for (i64 chunk = share.first; chunk < share.last; ++chunk) {
      if (chunk > share.first) poll_interrupt();
      r.append(p, [&] {
        call(job,
             {.values = p.values.data,
              .crd = p.crd,
              .pos = p.pos,
              .counts = counts.data,
              .sizes = p.sizes.data(),
              .capacity = p.capacity.data(),
              .row_values = w.values.data,
              .row_mask = w.mask.data,
              .row_bits = {w.bits[0].data, w.bits[1].data, w.bits[2].data}},
             chunk);
      });
    }
  });
  return r.stitch(pieces, counts, whole);
}

std::optional<RawArrays> make(const Job& job, const NumericResult& r) {
  RawArrays arrays;
  arrays.values = backend().allocate(job.absent.dtype, r.size);
  std::atomic<bool> differs{false};
  in_chunks(static_cast<i64>(r.shares.size()) - 1, [&](i64 share) {
    const i64 first = r.shares[static_cast<std::size_t>(share)], last = r.shares[static_cast<std::size_t>(share) + 1];
    Buffer slots, met, mask;
    if (r.workspace >= 0) {
      slots = backend().filled(Scalar::of(std::int64_t{-1}).as(r.slots), r.workspace);
      met = backend().filled(Scalar::zero(DType::u8), r.workspace);
      if (r.holds_mask) mask = backend().filled(Scalar::zero(DType::i64), ceil_div(r.workspace, 64));
    }
    for (i64 chunk = first; chunk < last && !differs.load(std::memory_order_relaxed); ++chunk) {
      if (chunk > first) poll_interrupt();
      const auto c = static_cast<std::size_t>(chunk);
      std::vector<i64> before = r.ends[c];
      const Arguments args(job.function, job.in,
                           {.values = arrays.values.data,
                            .sizes = before.data(),
                            .capacity = r.ends[c + 1].data(),
                            .row_mask = mask.data,
                            .row_slots = slots.data,
                            .row_met = met.data});
      const std::int32_t status =
          job.executable.launch(args.buffers(), args.scalars(), job.cuts[c], job.cuts[c + 1], chunk);
      if (status == merging::other_pattern) differs.store(true, std::memory_order_relaxed);
      else if (status != 0) throw InternalError("a numeric phase failed with status " + std::to_string(status));
    }
  });
  return differs.load() ? std::nullopt : std::optional(std::move(arrays));
}

}  // namespace

std::optional<RawArrays> run(const Job& job) {
  return std::visit([&](const auto& result) -> std::optional<RawArrays> { return make(job, result); }, job.result);
}

}  // namespace strata::execution
