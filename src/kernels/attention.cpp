// Attention over stored keys, row by row: no scores leave a core's caches.
#include "kernels/attention.h"

#include <algorithm>
#include <vector>

#include "backend/pool.h"
#include "kernels/isa/isa.h"

namespace strata::kernels {
namespace {

struct AttentionTask {
  i64 matrix, begin, end, longest;
};

/// A task's worth of elements, where a row without any counts as some: 0.1 ms of work.
constexpr i64 of_task = 1 << 14, of_row = 4;

std::vector<AttentionTask> tasks_of(const AttentionPatterns& p, i64 queries) {
  std::vector<AttentionTask> tasks;
  for (i64 m = 0; m < static_cast<i64>(p.which.size()); ++m) {
    const i64* pos = p.pos + p.which[static_cast<std::size_t>(m)] * queries;
    AttentionTask task{m, 0, 0, 0};
    i64 work = 0;
    for (i64 i = 0; i < queries; ++i) {
      const i64 count = pos[i + 1] - pos[i];
      work += count + of_row;
      task.longest = std::max(task.longest, count);
      task.end = i + 1;
      if (work < of_task && i + 1 < queries) continue;
      tasks.push_back(task);
      task = {m, i + 1, i + 1, 0};
      work = 0;
    }
  }
  return tasks;
}

template <class V>
void attend(const ValueLoops<V>& table, const AttentionPatterns& p, const AttentionOperands& o, V* out, V* one,
            V* top) {
  constexpr i64 vector = 64 / static_cast<i64>(sizeof(V));  // of the widest instruction set
  const auto in_vectors = [](i64 n) { return (n + vector - 1) / vector * vector; };
  const std::vector<AttentionTask> tasks = tasks_of(p, o.queries);
  parallel_for(static_cast<i64>(tasks.size()), [&](i64 k) {
    const auto [m, begin, end, longest] = tasks[static_cast<std::size_t>(k)];
    const i64* pos = p.pos + p.which[static_cast<std::size_t>(m)] * o.queries;
    std::vector<V> scratch(static_cast<std::size_t>(in_vectors(o.features) + in_vectors(longest)));
    const i64 rows = m * o.queries, keys = m * o.keys;
    const Attention<V> a{
        .q = static_cast<const V*>(o.q) + rows * o.features,
        .k = static_cast<const V*>(o.k) + keys * o.features,
        .v = static_cast<const V*>(o.v) + keys * o.columns,
        .features = o.features,
        .columns = o.columns,
        .scale = static_cast<V>(o.scale),
        .bias = o.bias ? static_cast<const V*>(o.bias) + o.bias_at[static_cast<std::size_t>(m)] - pos[0] : nullptr,
        .hidden = o.hidden ? static_cast<const V*>(o.hidden) + keys : nullptr,
        .out = out + rows * o.columns,
        .one = one + rows,
        .top = top + rows,
        .scratch = scratch.data()};
    table.plain.attend(begin, end, pos, p.crd, a);
  });
}

}  // namespace

void attention(DType dtype, const AttentionPatterns& p, const AttentionOperands& o, void* out, void* one, void* top) {
  if (dtype == DType::f64)
    attend(loops().f64, p, o, static_cast<double*>(out), static_cast<double*>(one), static_cast<double*>(top));
  else attend(loops().f32, p, o, static_cast<float*>(out), static_cast<float*>(one), static_cast<float*>(top));
}

}  // namespace strata::kernels
