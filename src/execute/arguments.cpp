#include "execute/arguments.h"

#include "execute/chunks.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;

void* address(const BufferBinding& b, const Inputs& in, const Outputs& out) {
  if (const Buffer* array = array_of(b, in)) return array->data;
  const auto level = static_cast<std::size_t>(b.level);
  switch (b.kind) {
    case BufferBinding::output: return out.values;
    case BufferBinding::alpha: return const_cast<unsigned char*>(in.alpha->bits);
    case BufferBinding::beta: return const_cast<unsigned char*>(in.beta->bits);
    case BufferBinding::out_crd: return out.crd[level].data;
    case BufferBinding::out_pos: return out.pos[level].data;
    case BufferBinding::out_counts: return out.counts;
    case BufferBinding::out_sizes: return out.sizes;
    case BufferBinding::out_strips: return out.strips;
    case BufferBinding::out_met: return out.met;
    case BufferBinding::row_values: return out.row_values;
    case BufferBinding::row_bits: return out.row_bits[level];
    case BufferBinding::row_mask: return out.row_mask;
    case BufferBinding::row_slots: return out.row_slots;
    case BufferBinding::row_met: return out.row_met;
    default: return nullptr;
  }
}

i64 number(const ScalarBinding& s, const Inputs& in, const Outputs& out) {
  const auto level = static_cast<std::size_t>(s.level);
  const Part* part = s.operand >= 0 ? &in.part_of(s.operand) : nullptr;
  switch (s.kind) {
    case ScalarBinding::extent: return in.extents[level];
    case ScalarBinding::bound: return in.bounds[level];
    case ScalarBinding::dim_extent: return in.operands[static_cast<std::size_t>(s.operand)].shape()[level];
    case ScalarBinding::level_lo: return part->ranges[level].lo;
    case ScalarBinding::level_size: return part->ranges[level].size;
    case ScalarBinding::level_slots: return part->format.level(s.level).arg;
    case ScalarBinding::stride: return part ? part->strides[level] : out.strides[level];
    case ScalarBinding::offset: return part ? part->values_offset : out.offset;
    case ScalarBinding::walk_begin: return 0;
    case ScalarBinding::walk_end: return part ? iterations(*part, s.level) : in.extents[level];
    case ScalarBinding::pos_stride: return part->pos_strides[level];
    case ScalarBinding::crd_stride: return part->crd_strides[level];
    case ScalarBinding::batch_stride: return part->values_batch_stride;
    case ScalarBinding::lead: return in.lead(*part);
    case ScalarBinding::batch_coordinate: return part->ranges[level].lo;
    case ScalarBinding::capacity: return out.capacity[level];
  }
  return 0;
}

}  // namespace

const Buffer* array_of(const BufferBinding& b, const Inputs& in) {
  if (b.kind == BufferBinding::values) return &in.part_of(b.operand).values;
  if (b.kind != BufferBinding::pos && b.kind != BufferBinding::crd) return nullptr;
  const LevelArrays& l = in.part_of(b.operand).levels[static_cast<std::size_t>(b.level)];
  return b.kind == BufferBinding::pos ? &l.pos : &l.crd;
}

Arguments::Arguments(const BoundFunction& kernel, const Inputs& in, const Outputs& out)
    : buffers_(kernel.buffers.size()), scalars_(kernel.scalars.size()) {
  for (std::size_t n = 0; n < kernel.buffers.size(); ++n) buffer(n) = address(kernel.buffers[n], in, out);
  for (std::size_t n = 0; n < kernel.scalars.size(); ++n) scalar(n) = number(kernel.scalars[n], in, out);
}

void Arguments::write_to(const BoundFunction& kernel, void* values, std::span<const i64> strides) {
  for (std::size_t n = 0; n < kernel.buffers.size(); ++n)
    if (kernel.buffers[n].kind == BufferBinding::output) buffer(n) = values;
  for (std::size_t n = 0; n < kernel.scalars.size(); ++n)
    if (const ScalarBinding& s = kernel.scalars[n]; s.operand < 0 && s.kind == ScalarBinding::stride)
      scalar(n) = strides[static_cast<std::size_t>(s.level)];
}

void Arguments::move_to(i64 batch, const BoundFunction& kernel, const Inputs& in, const Arguments& first) {
  const Part& part = *in.part;
  for (std::size_t n = 0; n < kernel.buffers.size(); ++n) {
    const BufferBinding& b = kernel.buffers[n];
    const auto level = static_cast<std::size_t>(b.level);
    const auto move = [&](i64 bytes) { buffer(n) = static_cast<char*>(first.buffers()[n]) + batch * bytes; };
    const auto move_in = [&](const Buffer& of, i64 stride) { move(stride * static_cast<i64>(size_of(of.dtype))); };
    if (b.kind == BufferBinding::pos) move_in(part.levels[level].pos, part.pos_strides[level]);
    else if (b.kind == BufferBinding::crd) move_in(part.levels[level].crd, part.crd_strides[level]);
    else if (b.kind == BufferBinding::values && b.operand == in.walked) move_in(part.values, part.values_batch_stride);
  }
  for (std::size_t n = 0; n < kernel.scalars.size(); ++n) {
    const ScalarBinding& s = kernel.scalars[n];
    if (s.kind != ScalarBinding::batch_coordinate) continue;
    i64 below = 1;  // batches per step of this level (row-major)
    for (int q = s.level + 1; q < part.format.num_batch_levels(); ++q)
      below *= part.ranges[static_cast<std::size_t>(q)].size;
    const LevelRange& r = part.ranges[static_cast<std::size_t>(s.level)];
    scalar(n) = r.lo + (r.size > 0 ? batch / below % r.size : 0);
  }
}

}  // namespace strata::execution
