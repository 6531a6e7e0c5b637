// Diagonals times a dense vector or matrix.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/share.h"
#include "format/recognise.h"
#include "kernels/builtin.h"
#include "kernels/caches.h"
#include "kernels/match.h"

namespace strata::kernels {

namespace {

/// In which order rows are computed: those of a tile of every plane, then those of the next tile. (One plane: row after
/// row.)
struct Planes {
  i64 rows;  ///< of a plane
  i64 tile;  ///< rows of a tile
};

/// The diagonals of a stencil in space lie in groups, a plane of the grid apart. What a group reads of x the next one
/// reads again a plane later; where so much does not stay in the second level, rows are computed tile by tile, as many
/// rows of all planes as do.
Planes planes_of(std::vector<i64> offsets, i64 rows, i64 row_bytes) {
  const Planes in_order{.rows = rows, .tile = rows};
  const i64 holds = machine().second_level * 3 / 4 / row_bytes;  // rows of x
  if (offsets.size() < 3 || rows <= holds) return in_order;
  std::ranges::sort(offsets);
  if (offsets.back() - offsets.front() <= holds) return in_order;
  i64 widest = 0;
  for (std::size_t k = 1; k < offsets.size(); ++k) widest = std::max(widest, offsets[k] - offsets[k - 1]);
  i64 centre = 0, groups = 0, between = 0,
      reach = 0;  // reach: rows that groups read besides those of the tile, on both sides
  for (std::size_t first = 0, k = 1; k <= offsets.size(); ++k) {
    if (k < offsets.size() && offsets[k] - offsets[k - 1] <= widest / 2) continue;
    const i64 here = (offsets[first] + offsets[k - 1]) / 2;
    if (groups == 1) between = here - centre;
    if (groups > 1 && std::abs(here - centre - between) > 1) return in_order;
    reach += offsets[k - 1] - offsets[first];
    centre = here;
    first = k;
    ++groups;
  }
  if (groups < 2 || between <= 0 || between >= rows) return in_order;
  const i64 tile = std::min((holds - reach) / groups, between);
  return 4 * (tile + reach) < 3 * groups * tile ? Planes{.rows = between, .tile = tile} : in_order;
}

bool accepts_dia(const Query& q, std::string& why) {
  const auto m = match_matrix_product(q, why);
  if (!m) return false;
  if (diagonals_of(q.operands[static_cast<std::size_t>(m->sparse)].format) >= 0) return true;
  why = "the format is not (j - i : compressed, i or j : range)";
  return false;
}

void run_dia(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
             const Scalar& beta) {
  std::string why;
  const MatrixProduct m = *match_matrix_product(q, why);
  const Tensor& a = operands[static_cast<std::size_t>(m.sparse)];
  const Part& part = a.part();
  const i64 diagonals = part.levels[0].pos.index(1);
  // The transposed matrix has the negated offsets.
  std::vector<i64> offsets(static_cast<std::size_t>(diagonals));
  for (i64 k = 0; k < diagonals; ++k)
    offsets[static_cast<std::size_t>(k)] = (m.row_dim == 0 ? 1 : -1) * part.levels[0].crd.index(k);
  const bool by_row = diagonals_of(part.format) == m.row_dim;
  const i64 rows = a.shape()[static_cast<std::size_t>(m.row_dim)],
            columns = a.shape()[static_cast<std::size_t>(m.inner_dim)];
  const auto run = [&]<class V>(const ValueLoops<V>& l) {
    Dense<V> d = dense_arguments<V>(m, operands, out, alpha, beta);
    const i64 row_bytes = d.columns * static_cast<i64>(sizeof(V));
    d.near = columns * row_bytes <= machine().second_level / 2;
    const Planes planes = d.columns > 1 ? planes_of(offsets, rows, row_bytes) : Planes{.rows = rows, .tile = rows};
    const auto work = [&](i64 begin, i64 end) {
      l.plain.dia(begin, end, offsets.data(), diagonals, static_cast<const V*>(part.values.data),
                  by_row ? rows : columns, by_row, columns, d);
    };
    if (planes.tile == rows) {
      const i64 chunks = chunk_count(product_work(rows * (diagonals + 1), d.columns));
      return parallel_for(chunks,
                          [&](i64 c) { work(begin_of_share(rows, c, chunks), begin_of_share(rows, c + 1, chunks)); });
    }
    const i64 tiles = (planes.rows + planes.tile - 1) / planes.tile, count = (rows + planes.rows - 1) / planes.rows;
    const i64 parts = std::min(count, (32 + tiles - 1) / tiles);  // threads share the tiles, or a few planes of each
    parallel_for(tiles * parts, [&](i64 c) {
      const i64 from = c / parts * planes.tile, to = std::min(from + planes.tile, planes.rows);
      for (i64 p = begin_of_share(count, c % parts, parts), end = begin_of_share(count, c % parts + 1, parts); p < end;
           ++p)
        work(std::min(p * planes.rows + from, rows), std::min(p * planes.rows + to, rows));
    });
  };
  if (a.dtype() == DType::f64) run(loops().f64);
  else run(loops().f32);
}

}  // namespace

const BuiltinKernel dia_kernel{"dia_product", accepts_dia, run_dia};

}  // namespace strata::kernels
