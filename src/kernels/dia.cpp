// Diagonals times a dense vector or matrix.
#include <vector>

#include "format/recognise.h"
#include "kernels/builtin.h"
#include "kernels/match.h"

namespace strata::kernels {

namespace {

bool accepts_dia(const Query& q, std::string& why) {
  const auto m = match_matrix_product(q, why);
  if (!m) return false;
  if (diagonals_of(q.operands[static_cast<std::size_t>(m->sparse)].format) >= 0) return true;
  why = "the format is not (j - i : compressed, i or j : range)";
  return false;
}

void run_dia(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) {
  std::string why;
  const MatrixProduct m = *match_matrix_product(q, why);
  const Tensor& a = operands[static_cast<std::size_t>(m.sparse)];
  const Part& part = a.part();
  const i64 diagonals = part.levels[0].pos.index(1);
  // The transposed matrix has the negated offsets.
  std::vector<i64> offsets(static_cast<std::size_t>(diagonals));
  for (i64 k = 0; k < diagonals; ++k) offsets[static_cast<std::size_t>(k)] = (m.row_dim == 0 ? 1 : -1) * part.levels[0].crd.index(k);
  const bool by_row = diagonals_of(part.format) == m.row_dim;
  const i64 rows = a.shape()[static_cast<std::size_t>(m.row_dim)], columns = a.shape()[static_cast<std::size_t>(m.inner_dim)];
  const auto run = [&]<class V>(const Loops<V>& l) {
    const Dense<V> d = dense_arguments<V>(m, operands, out, alpha, beta);
    const i64 chunks = chunk_count(product_work(rows * (diagonals + 1), d.columns));
    const auto body = [&](i64 c) {
      l.plain.dia(rows * c / chunks, rows * (c + 1) / chunks, offsets.data(), diagonals, static_cast<const V*>(part.values.data), by_row ? rows : columns, by_row, rows, columns, d);
    };
    if (chunks == 1) body(0);
    else parallel_for(chunks, body);
  };
  if (a.dtype() == DType::f64) run(loops().f64);
  else run(loops().f32);
}

}  // namespace

const BuiltinKernel dia_kernel{"dia_product", accepts_dia, run_dia};

}  // namespace strata::kernels
