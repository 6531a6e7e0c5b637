#include "plan/pattern.h"

#include <algorithm>

#include "backend/backend.h"
#include "plan/align_first.h"
#include "plan/compiled.h"
#include "plan/pack_first.h"
#include "plan/sum_in_panels.h"
#include "tensor/part_view.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

/// perm[o]: the dimension of the operand that output dimension o is.
std::vector<int> order_of(const Einsum& e, std::size_t operand) {
  std::vector<int> perm;
  for (int i : e.output) {
    const auto& own = e.operands[operand];
    perm.push_back(static_cast<int>(std::find(own.begin(), own.end(), i) - own.begin()));
  }
  return perm;
}

/// Slots in the arrays of one batch.
i64 slots(const Part& part, i64 batch) { return level_counts(part, level_views(part, batch)).back(); }

/// Does every slot of a part name an element of the tensor?
bool all_inside(const Part& part, const Shape& shape) {
  for (const Level& level : part.format.levels())
    if (level.kind == LevelKind::padded) return false;
  return DimensionMap(part.format, part.ranges, shape).tests.empty();
}

bool same_memory(const Buffer& a, const Buffer& b) {
  return a.data == b.data && a.size == b.size && a.dtype == b.dtype;
}

bool shares_arrays(const Tensor& a, const Tensor& b) {
  for (int k = 0; k < a.num_parts(); ++k)
    for (std::size_t l = 0; l < a.part(k).levels.size(); ++l)
      if (!same_memory(a.part(k).levels[l].pos, b.part(k).levels[l].pos) ||
          !same_memory(a.part(k).levels[l].crd, b.part(k).levels[l].crd))
        return false;
  return true;
}

bool overlap(const Buffer& a, const Buffer& b) {
  const auto *x = static_cast<const char*>(a.data), *y = static_cast<const char*>(b.data);
  return a.bytes() > 0 && b.bytes() > 0 && x < y + b.bytes() && y < x + a.bytes();
}

bool overlaps_values(const Tensor& out, const Tensor& t) {
  for (int o = 0; o < out.num_parts(); ++o)
    for (int k = 0; k < t.num_parts(); ++k) {
      const Part& p = t.part(k);
      if (overlap(out.part(o).values, p.values)) return true;
      for (const auto& l : p.levels)
        if (overlap(out.part(o).values, l.pos) || overlap(out.part(o).values, l.crd)) return true;
    }
  return false;
}

}  // namespace

int pattern_operand(std::span<const TensorType> operands, const TensorType& output) {
  if (output.format.is_all_dense()) return -1;
  for (std::size_t k = 0; k < operands.size(); ++k)
    if (!operands[k].format.is_all_dense()) return static_cast<int>(k);
  return -1;
}

TensorType type_in_pattern(const Einsum& e, std::span<const TensorType> operands, const Shape& shape, DType dtype) {
  std::size_t walked = operands.size();
  std::string names;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    if (operands[k].format.is_all_dense()) continue;
    walked = std::min(walked, k);
    names += (names.empty() ? "" : ", ") + operand_name(k);
  }
  if (walked == operands.size()) refuse("no operand has a pattern", "one sparse operand", "dense operands");
  if (names.size() > 1) refuse("several operands are sparse", "one sparse operand", names, "use evaluate()");
  const TensorType& t = operands[walked];
  if (!t.fill.is_zero())
    refuse("absent elements of " + names + " are not zero", "fill 0", "fill " + t.fill.to_string());
  auto own = e.operands[walked], wanted = e.output;
  std::sort(own.begin(), own.end());
  std::sort(wanted.begin(), wanted.end());
  TensorType out = t;
  if (own != wanted || std::adjacent_find(own.begin(), own.end()) != own.end())
    refuse("the result does not have the pattern of " + names, "the indices of " + names + " in the output, each once",
           e.to_string());
  const auto perm = order_of(e, walked);
  for (std::size_t o = 0; o < perm.size(); ++o) out.shape[o] = t.shape[static_cast<std::size_t>(perm[o])];
  if (out.shape != shape)
    refuse("a dimension of " + names + " broadcasts", "extents as the result's", t.to_string(),
           "compute a dense result, or evaluate() with format=");
  out.format = t.format.transpose(perm);
  out.dtype = dtype;
  out.fill = Scalar::zero(dtype);
  out.shared_value = false;
  return out;
}

RunnerPtr choose_in_pattern(const Product& product, std::vector<Report>& reports) {
  const std::string name = operand_name(static_cast<std::size_t>(product.pattern_of));
  std::string why;
  RunnerPtr runner = sum_in_panels(product, align_first(product, pack_first(product, why)));
  const std::string candidate = "compiled, walking " + name;
  if (!runner)
    throw Unsupported({.what = "nothing here computes " + product.einsum.to_string() + " in the pattern of " + name,
                       .expected = "a candidate that accepts",
                       .got = candidate + ": " + why,
                       .fix = "use evaluate()"});
  reports.push_back({candidate, true, "values in the pattern of " + name + ", whose arrays the result shares", 0});
  return runner;
}

Tensor fresh_in_pattern(const Choice& choice, std::span<const Tensor> operands) {
  const Tensor& source = operands[static_cast<std::size_t>(choice.product.pattern_of)];
  TensorType type = choice.product.output;
  std::vector<Part> parts;
  for (int k = 0; k < source.num_parts(); ++k) {
    Part part = source.part(k);
    const i64 count = batches(part);
    i64 most = 0, least = INT64_MAX;
    for (i64 b = 0; b < count; ++b) {
      const i64 n = slots(part, b);
      most = std::max(most, n);
      least = std::min(least, n);
    }
    const i64 size = part.value_stride == 0 ? most * count : part.values.size;
    const bool whole = count > 0 && least * count == size && all_inside(part, source.shape());
    part.format = source.num_parts() == 1 ? type.format : type.format.part(k);
    part.values = whole ? backend().allocate(type.dtype, size) : backend().filled(Scalar::zero(type.dtype), size);
    part.value_stride = 1;
    part.values_batch_stride = batch_levels(part) > 0 && count > 0 ? size / count : 0;
    parts.push_back(std::move(part));
  }
  return make_from_parts(std::move(type), std::move(parts));
}

void run_in_pattern(const Choice& choice, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                    const Scalar& beta) {
  const Tensor& source = operands[static_cast<std::size_t>(choice.product.pattern_of)];
  if (!(out.type() == choice.product.output))
    refuse("the output is of another type", choice.product.output.to_string(), out.type().to_string());
  if (!shares_arrays(out, source))
    refuse("the output has a pattern of its own", "the pos and crd arrays of the sparse operand", "other arrays",
           "give what run() returned for this operand");
  for (int k = 0; k < out.num_parts(); ++k)
    if (out.part(k).values.read_only)
      refuse("the output is read-only", "memory that may be written", "a read-only buffer", "pass a copy");
  if (std::none_of(operands.begin(), operands.end(), [&](const Tensor& t) { return overlaps_values(out, t); }))
    return choice.runner->run(operands, out, alpha, beta);
  const Tensor scratch = fresh_in_pattern(choice, operands);  // the output lies over an operand: see Plan::run
  const auto copy = [](const Tensor& to, const Tensor& from) {
    for (int k = 0; k < to.num_parts(); ++k)
      std::memcpy(to.part(k).values.data, from.part(k).values.data,
                  static_cast<std::size_t>(to.part(k).values.bytes()));
  };
  if (!beta.is_zero()) copy(scratch, out);
  choice.runner->run(operands, scratch, alpha, beta);
  copy(out, scratch);
}

}  // namespace strata::planning
