#pragma once
// Runs a lowered kernel as lower.h says, chunk by chunk, in the plainest way; nothing here is shared with plan/.
#include <cstring>
#include <random>
#include <set>

#include "backend/kernel.h"
#include "compiler/lower.h"
#include "unit/plan/support.h"

namespace lowered_test {

using namespace strata;
using strata::testing::Rng;

struct Arguments {
  std::vector<void*> buffers;
  std::vector<std::int64_t> scalars;
};

inline std::vector<std::int64_t> dimension_strides(const Tensor& out) {
  std::vector<std::int64_t> strides(out.shape().size());
  for (int l = 0; l < out.format().num_levels(); ++l) {
    const auto& spec = out.format().spec();
    strides[static_cast<std::size_t>(spec.exprs[static_cast<std::size_t>(out.format().level(l).expr)].a)] =
        out.part().strides[static_cast<std::size_t>(l)];
  }
  return strides;
}

/// One batch of one part.
inline Arguments gather(const LoweredProduct& l, const LowerInput& in, std::span<const Tensor> operands,
                        const Tensor& out, std::int64_t batch, void* alpha, void* beta,
                        std::span<const std::int64_t> extents) {
  Arguments a;
  const Part& part = operands[static_cast<std::size_t>(in.driver)].part(in.part);
  const auto moved = [](const Buffer& b, std::int64_t elements) {
    return static_cast<void*>(static_cast<char*>(b.data) + elements * static_cast<std::int64_t>(size_of(b.dtype)));
  };
  for (const auto& b : l.buffers) {
    const auto level = static_cast<std::size_t>(b.level);
    switch (b.kind) {
      case BufferBinding::pos:
        a.buffers.push_back(moved(part.levels[level].pos, batch * part.pos_strides[level]));
        break;
      case BufferBinding::crd:
        a.buffers.push_back(moved(part.levels[level].crd, batch * part.crd_strides[level]));
        break;
      case BufferBinding::values:
        a.buffers.push_back(b.operand == in.driver ? moved(part.values, batch * part.values_batch_stride)
                                                   : operands[static_cast<std::size_t>(b.operand)].part().values.data);
        break;
      case BufferBinding::output: a.buffers.push_back(out.part().values.data); break;
      case BufferBinding::alpha: a.buffers.push_back(alpha); break;
      case BufferBinding::beta: a.buffers.push_back(beta); break;
      default: throw std::runtime_error("a binding of another kernel");
    }
  }
  for (const auto& s : l.scalars) {
    const auto level = static_cast<std::size_t>(s.level);
    const Part* of = s.operand == in.driver ? &part
                     : s.operand >= 0       ? &operands[static_cast<std::size_t>(s.operand)].part()
                                            : &out.part();
    std::int64_t v = 0;
    switch (s.kind) {
      case ScalarBinding::extent: v = extents[level]; break;
      case ScalarBinding::dim_extent: v = operands[static_cast<std::size_t>(s.operand)].shape()[level]; break;
      case ScalarBinding::level_lo: v = of->ranges[level].lo; break;
      case ScalarBinding::level_size: v = of->ranges[level].size; break;
      case ScalarBinding::level_slots: v = of->format.level(s.level).arg; break;
      case ScalarBinding::stride: v = s.operand >= 0 ? of->strides[level] : dimension_strides(out)[level]; break;
      case ScalarBinding::offset: v = of->values_offset; break;
      case ScalarBinding::walk_begin: v = 0; break;
      case ScalarBinding::lead: v = 16; break;
      case ScalarBinding::walk_end:
        v = of->format.level(s.level).kind == LevelKind::compressed ? of->levels[level].pos.index(1)
                                                                    : of->ranges[level].size;
        break;
      case ScalarBinding::batch_coordinate: {
        std::int64_t below = 1;
        for (int q = s.level + 1; q < part.format.num_batch_levels(); ++q)
          below *= part.ranges[static_cast<std::size_t>(q)].size;
        v = part.ranges[level].lo + batch / below % part.ranges[level].size;
        break;
      }
      default: throw std::runtime_error("a binding of another kernel");
    }
    a.scalars.push_back(v);
  }
  return a;
}

inline std::int64_t read_index(const Part& part, int level, bool crd, std::int64_t batch, std::int64_t i) {
  const auto l = static_cast<std::size_t>(level);
  const Buffer& b = crd ? part.levels[l].crd : part.levels[l].pos;
  return b.index(batch * (crd ? part.crd_strides[l] : part.pos_strides[l]) + i);
}

/// Random legal cuts of the domain, in random order.
inline std::vector<std::pair<std::int64_t, std::int64_t>> random_chunks(const Launch& launch, const Part& part,
                                                                        std::int64_t batch, const Tensor& out,
                                                                        Rng& rng) {
  std::int64_t n = 1;
  if (launch.kind == Launch::output_window) n = out.shape()[static_cast<std::size_t>(launch.output_dim)];
  else if (launch.kind != Launch::serial)
    n = part.format.level(launch.level).kind == LevelKind::dense
            ? part.ranges[static_cast<std::size_t>(launch.level)].size
            : read_index(part, launch.level, false, batch, 1);
  std::set<std::int64_t> cuts{0, n};
  if (launch.kind != Launch::serial)
    for (int k = 0; k < 2; ++k) {
      std::int64_t c = strata::testing::pick(rng, 0, n) / launch.granule * launch.granule;
      if (launch.kind == Launch::outer_aligned)
        while (c > 0 && c < n &&
               read_index(part, launch.level, true, batch, c) == read_index(part, launch.level, true, batch, c - 1))
          ++c;
      cuts.insert(c);
    }
  std::vector<std::pair<std::int64_t, std::int64_t>> chunks;
  for (auto it = cuts.begin(); std::next(it) != cuts.end(); ++it) chunks.emplace_back(*it, *std::next(it));
  std::shuffle(chunks.begin(), chunks.end(), rng);
  return chunks;
}

/// out = alpha * einsum + beta * out for one part; `out` has dtype `compute` where the kernel wants a wide output.
inline void run_lowered(const LoweredProduct& l, const Kernel& kernel, const LowerInput& in,
                        std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta,
                        std::span<const std::int64_t> extents, Rng& rng) {
  alignas(16) unsigned char a[16], b[16];
  std::memcpy(a, alpha.bits, 16);
  std::memcpy(b, beta.bits, 16);
  const Part& part = operands[static_cast<std::size_t>(in.driver)].part(in.part);
  const std::int64_t batches =
      operands[static_cast<std::size_t>(in.driver)].format().part(in.part).is_all_dense() ? 1 : part.num_batches;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const Arguments args = gather(l, in, operands, out, batch, a, b, extents);
    for (const auto& [begin, end] : random_chunks(l.launch, part, batch, out, rng))
      if (kernel.run({args.buffers.data(), args.scalars.data()}, begin, end, 0) != 0)
        throw std::runtime_error("status");
  }
}

}  // namespace lowered_test
