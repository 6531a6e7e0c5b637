// Rows times the matrices that are chosen for them, rows with the same matrix together.
#include "kernels/rows_times_matrices.h"

#include "backend/pool.h"
#include "kernels/isa/isa.h"

namespace strata::kernels {
namespace {

using i64 = std::int64_t;

template <class V>
void multiply(const ValueLoops<V>& table, std::span<const i64> rows, std::span<const RowsTask> tasks, const V* x,
              const V* w, i64 step, V* out, i64 depth, i64 columns) {
  parallel_for(static_cast<i64>(tasks.size()), [&](i64 k) {
    const RowsTask& task = tasks[static_cast<std::size_t>(k)];
    const V* from[rows_of_task];
    V* to[rows_of_task];
    for (i64 r = task.begin; r < task.end; ++r) {
      from[r - task.begin] = x + rows[static_cast<std::size_t>(r)] * depth;
      to[r - task.begin] = out + rows[static_cast<std::size_t>(r)] * columns;
    }
    table.plain.fibres(task.end - task.begin, from, to, depth, w + task.matrix, step, columns);
  });
}

}  // namespace

void rows_times_matrices(DType dtype, std::span<const i64> rows, std::span<const RowsTask> tasks, const void* x,
                         const void* matrices, i64 step, void* out, i64 depth, i64 columns) {
  const auto run = [&]<class V>(const ValueLoops<V>& table) {
    multiply<V>(table, rows, tasks, static_cast<const V*>(x), static_cast<const V*>(matrices), step,
                static_cast<V*>(out), depth, columns);
  };
  if (dtype == DType::f64) run(loops().f64);
  else run(loops().f32);
}

}  // namespace strata::kernels
