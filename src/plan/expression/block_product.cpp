// Rows of a sparse tensor times matrices that their coordinates choose, as in a mixture of experts.
#include "plan/expression/block_product.h"

#include <algorithm>

#include "backend/pod_array.h"
#include "base/checked.h"
#include "expr/chain.h"
#include "kernels/rows_times_matrices.h"
#include "plan/expression/ways.h"
#include "plan/nest/plain.h"
#include "plan/nest/unit.h"
#include "strata/convert.h"

namespace strata::evaluation {
namespace {

using i64 = std::int64_t;

constexpr i64 most_matrices = i64{1} << 24;

int place(const std::vector<std::string>& names, const std::string& name) {
  const auto at = std::find(names.begin(), names.end(), name);
  return at == names.end() || std::count(names.begin(), names.end(), name) > 1 ? -1
                                                                               : static_cast<int>(at - names.begin());
}

/// Levels that are dense or compressed, the last one dense; the dimension of each.
std::optional<std::vector<int>> levels_of_rows(const TensorType& t) {
  if (t.format.num_parts() != 1 || t.shape.size() < 2 || !t.fill.is_zero() || t.shared_value) return std::nullopt;
  const auto order = direct::storage_order(t.format);
  const int levels = t.format.num_levels();
  if (!order || t.format.level(levels - 1).kind != LevelKind::dense ||
      t.format.level(levels - 2).kind != LevelKind::compressed)
    return std::nullopt;
  return order;
}

/// Which matrix each row takes.
PodArray<std::int32_t> matrices_of(const Tensor& t, const std::vector<int>& order, const BlockProduct& p) {
  const Part& part = t.part();
  PodArray<std::int32_t> keys(1);
  keys[0] = 0;
  for (std::size_t l = 0; l + 1 < order.size(); ++l) {
    const auto d = static_cast<std::size_t>(order[l]);
    const auto extent =
        static_cast<std::int32_t>(std::count(p.choosing.begin(), p.choosing.end(), order[l]) ? t.shape()[d] : 1);
    const bool dense = part.format.level(static_cast<int>(l)).kind == LevelKind::dense;
    const auto parents = static_cast<i64>(keys.size());
    PodArray<std::int32_t> below(
        static_cast<std::size_t>(dense ? parents * t.shape()[d] : part.levels[l].pos.index(parents)));
    for (i64 q = 0, n = 0; q < parents; ++q) {
      const i64 end = dense ? n + t.shape()[d] : part.levels[l].pos.index(q + 1);
      for (i64 c = 0; n < end; ++n, ++c) {
        const i64 x = extent == 1 ? 0 : dense ? c : part.levels[l].crd.index(n);
        below[static_cast<std::size_t>(n)] = keys[static_cast<std::size_t>(q)] * extent + static_cast<std::int32_t>(x);
      }
    }
    keys = std::move(below);
  }
  return keys;
}

}  // namespace

std::optional<BlockProduct> as_block_product(const Assignment& a, const Operands& operands, const Asked& options,
                                             std::string& why) {
  const auto no = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  if (const char* reason = hand_written_refusal(a, options)) return no(reason);
  if (a.value.op() != Operator::sum || a.value.argument().op() != Operator::multiply)
    return no("it is not one sum over a product of two");
  const Expression product = a.value.argument();
  if (product.node().arguments.size() != 2 || !plain_indices(product.argument(0)) ||
      !plain_indices(product.argument(1)))
    return no("it is not one sum over a product of two");
  int sparse = -1;
  for (int k : {0, 1})
    if (!operands.at(product.argument(static_cast<std::size_t>(k)).node().name).format().is_all_dense())
      sparse = sparse < 0 ? k : 2;
  if (sparse < 0 || sparse > 1) return no("not one of two operands is sparse");
  const Expression rows = product.argument(static_cast<std::size_t>(sparse)),
                   matrices = product.argument(static_cast<std::size_t>(1 - sparse));
  const Lazy &t = operands.at(rows.node().name), &m = operands.at(matrices.node().name);
  const auto order = levels_of_rows(t.type());
  if (!order) return no("the sparse operand has no dense last level below compressed ones");
  if (t.dtype() != m.dtype() || (t.dtype() != DType::f32 && t.dtype() != DType::f64))
    return no("not both operands are float32, or float64");
  if (options.result_dtype && *options.result_dtype != t.dtype()) return no("the result has another dtype");
  const auto in_rows = *plain_indices(rows), in_matrices = *plain_indices(matrices);
  const std::string& summed = a.value.node().name;
  BlockProduct p{rows.node().name, {}, {}, place(in_matrices, summed), -1};
  if (p.depth < 0 || place(in_rows, summed) != order->back() ||
      m.shape()[static_cast<std::size_t>(p.depth)] != t.shape()[static_cast<std::size_t>(order->back())])
    return no("the sum is not over the last level of the sparse operand");
  for (const auto& name : in_matrices) {
    const int k = place(in_rows, name);
    p.choosing.push_back(name == summed ? -1 : k);
    if (place(in_matrices, name) < 0) return no("an index occurs twice");
    if (k < 0) {
      if (p.columns >= 0) return no("the dense operand has two indices of its own");
      p.columns = static_cast<int>(p.choosing.size()) - 1;
    } else if (name != summed && t.shape()[static_cast<std::size_t>(k)] != m.shape()[p.choosing.size() - 1]) {
      return no("an extent of 1 is stretched");
    }
  }
  if (p.columns < 0) return no("the dense operand has no index of its own");
  std::vector<std::string> result = in_rows;
  result[static_cast<std::size_t>(order->back())] = in_matrices[static_cast<std::size_t>(p.columns)];
  for (const auto& name : in_rows)
    if (place(in_rows, name) < 0) return no("an index occurs twice");
  if (a.indices != result || !(wanted_format(a, operands, options) == t.format()))
    return no("the result has not the pattern of the sparse operand");
  p.matrices = direct::strided(m);
  if (direct::dimension_strides(p.matrices)[static_cast<std::size_t>(p.columns)] != 1)
    return no("the rows of the matrices are not contiguous");
  p.count = 1;
  for (std::size_t d = 0; d < p.choosing.size(); ++d)
    if (p.choosing[d] >= 0) p.count = checked_mul(p.count, m.shape()[d]).value_or(INT64_MAX);
  if (p.count > most_matrices) return no("there are more than 2^24 matrices");
  return p;
}

namespace {

Tensor computed(const BlockProduct* p, const Tensor& t, const Tensor& m) {
  const auto order = *levels_of_rows(t.type());
  const std::vector<i64> strides = direct::dimension_strides(m);
  // Rows by matrix: counted, then placed.
  const auto keys = matrices_of(t, order, *p);
  PodArray<i64> starts(static_cast<std::size_t>(p->count) + 1), rows(keys.size());
  std::fill(starts.begin(), starts.end(), 0);
  for (std::size_t r = 0; r < keys.size(); ++r) ++starts[static_cast<std::size_t>(keys[r]) + 1];
  for (std::size_t k = 0; k < static_cast<std::size_t>(p->count); ++k) starts[k + 1] += starts[k];
  std::vector<kernels::RowsTask> tasks;
  for (i64 k = 0; k < p->count; ++k) {
    const i64 begin = starts[static_cast<std::size_t>(k)], end = starts[static_cast<std::size_t>(k) + 1];
    if (begin == end) continue;
    // The key counts the choosing dimensions in the order of the levels.
    i64 rest = k, at = m.part().values_offset;
    for (std::size_t l = order.size() - 1; l-- > 0;)
      for (std::size_t d = 0; d < p->choosing.size(); ++d)
        if (p->choosing[d] == order[l]) {
          at += rest % m.shape()[d] * strides[d];
          rest /= m.shape()[d];
        }
    for (i64 b = begin; b < end; b += kernels::rows_of_task)
      tasks.push_back({b, std::min(end, b + kernels::rows_of_task), at});
  }
  for (std::size_t r = 0; r < keys.size(); ++r)
    rows[static_cast<std::size_t>(starts[static_cast<std::size_t>(keys[r])]++)] = static_cast<i64>(r);
  const i64 depth = m.shape()[static_cast<std::size_t>(p->depth)],
            columns = m.shape()[static_cast<std::size_t>(p->columns)];
  const auto size = checked_mul(static_cast<i64>(keys.size()), columns);
  if (!size || *size > INT64_MAX / 16) throw std::bad_alloc();
  Part part = t.part();
  TensorType type = t.type();
  type.shape[static_cast<std::size_t>(order.back())] = columns;
  part.ranges = part.format.level_ranges(type.shape);
  part.values = Buffer::allocate(t.dtype(), *size);
  kernels::rows_times_matrices(t.dtype(), {rows.data(), rows.size()}, tasks, t.part().values.data, m.part().values.data,
                               strides[static_cast<std::size_t>(p->depth)], part.values.data, depth, columns);
  return make_from_parts(std::move(type), {std::move(part)});
}

}  // namespace

std::optional<Lazy> block_product(const Assignment& a, const Operands& operands, const Asked& options,
                                  const std::function<Lazy()>& otherwise, std::string& why) {
  const auto p = as_block_product(a, operands, options, why);
  if (!p) return std::nullopt;
  const Lazy& t = operands.at(p->rows);
  TensorType type = t.type();
  type.shape = Shape(t.shape());
  const auto last = static_cast<std::size_t>(levels_of_rows(type)->back());
  type.shape[last] = p->matrices.shape()[static_cast<std::size_t>(p->columns)];
  Lazy::Step step{
      .inputs = {t, p->matrices},
      .make = [p = *p](Lazy::Inputs& in) -> std::optional<Tensor> {
        const bool contiguous = direct::dimension_strides(in[1])[static_cast<std::size_t>(p.columns)] == 1;
        if (in[0].part().value_stride != 1 || !contiguous) return std::nullopt;
        return computed(&p, in[0], in[1]);
      },
      .otherwise = otherwise,
      .code = [text = a.to_string()] { return std::pair("hand-written: rows times matrices", text + "\n"); },
      .work = t.stats().slots * static_cast<double>(type.shape[last])};
  return Lazy::made(std::move(type), std::move(step), t);
}

}  // namespace strata::evaluation
