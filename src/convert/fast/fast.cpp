#include "convert/fast/fast.h"

#include "convert/fast/support.h"

namespace strata::fast {

std::optional<Tensor> convert(const Tensor& t, const Format& format, const ConvertOptions& options) {
  if (t.num_parts() != 1 || format.num_parts() != 1 || t.rank() != 2 || t.part().value_stride != 1 ||
      t.part().num_batches != 1 || format.num_batch_levels() > 0 || (options.dtype && *options.dtype != t.dtype()) ||
      !aligned_values(t))
    return {};
  // What the target calls unordered or nonunique may be left so; only the general path decides that.
  for (const Level& l : format.levels())
    if (!l.ordered) return {};
  const Goal goal{format, options};
  using Path = std::optional<Tensor> (*)(const Tensor&, const Goal&);
  return while_it_changes(t, [&](const Tensor& source) -> std::optional<Tensor> {
    for (const Path path : {transpose_rows, rows_to_coo, coo_to_rows, rows_to_blocks, blocks_to_rows, rows_to_diagonals,
                            diagonals_to_rows, rows_to_padded, padded_to_rows, rows_to_listed, listed_to_rows,
                            dense_to_rows, rows_to_dense})
      if (auto result = path(source, goal)) return result;
    return {};
  });
}

}  // namespace strata::fast
