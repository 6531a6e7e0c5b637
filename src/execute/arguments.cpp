#include "execute/arguments.h"

namespace strata::execution {
namespace {

using i64 = std::int64_t;

void* address(const BufferBinding& b, const Inputs& in, const Outputs& out) {
  if (const Buffer* array = array_of(b, in)) return array->data;
  const auto level = static_cast<std::size_t>(b.level);
  switch (b.kind) {
    case BufferBinding::output: return out.values;
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
    case ScalarBinding::level_size: return part->ranges[level].size;
    case ScalarBinding::level_slots: return part->format.level(s.level).arg;
    case ScalarBinding::stride: return part ? part->strides[level] : out.strides[level];
    case ScalarBinding::offset: return part ? part->values_offset : out.offset;
    case ScalarBinding::walk_begin: return 0;
    case ScalarBinding::walk_end: return in.extents[level];
    case ScalarBinding::pos_stride: return part->pos_strides[level];
    case ScalarBinding::crd_stride: return part->crd_strides[level];
    case ScalarBinding::batch_stride: return part->values_batch_stride;
    case ScalarBinding::lead: return in.lead(*part);
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

}  // namespace strata::execution
