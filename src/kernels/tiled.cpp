// CSR in tiles times a dense vector.
#include "base/share.h"
#include "format/recognise.h"
#include "kernels/builtin.h"
#include "kernels/match.h"

namespace strata::kernels {

namespace {

/// Calls f with the loop for the element and index types of `t`: f(loop, V*, P*, C*) (pointers only carry the types).
template <class F> void with_loop(const TensorType& t, const F& f) {
  const auto indices = [&]<class V>(const ValueLoops<V>& l, V* v) {
    if (t.crd_dtype == DType::u8) f(l.tiled_i32_u8.tiled, v, static_cast<i32*>(nullptr), static_cast<u8*>(nullptr));
    else if (t.crd_dtype == DType::u16)
      f(l.tiled_i32_u16.tiled, v, static_cast<i32*>(nullptr), static_cast<u16*>(nullptr));
    else if (t.crd_dtype == DType::i32)
      f(l.tiled_i32_i32.tiled, v, static_cast<i32*>(nullptr), static_cast<i32*>(nullptr));
    else f(l.tiled_i64_i64.tiled, v, static_cast<i64*>(nullptr), static_cast<i64*>(nullptr));
  };
  if (t.dtype == DType::f64) indices(loops().f64, static_cast<double*>(nullptr));
  else indices(loops().f32, static_cast<float*>(nullptr));
}

bool accepts_tiled(const Query& q, std::string& why) {
  const auto m = match_matrix_product(q, why);
  if (!m) return false;
  const TensorType& a = q.operands[static_cast<std::size_t>(m->sparse)];
  const auto b = tiled_rows_of(a.format);
  if (!b || b->dims != DimPair{m->row_dim, m->inner_dim}) {
    why = "the format is not TiledCSR with rows of tiles";
    return false;
  }
  if (m->out_free >= 0) {
    why = "generated code is faster: there are several columns";
    return false;
  }
  const bool narrow =
      a.pos_dtype == DType::i32 && (a.crd_dtype == DType::u8 || a.crd_dtype == DType::u16 || a.crd_dtype == DType::i32);
  if (narrow || (a.pos_dtype == DType::i64 && a.crd_dtype == DType::i64)) return true;
  why = "index types other than int32/uint8, int32/uint16, int32/int32, int64/int64";
  return false;
}

void run_tiled(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
               const Scalar& beta) {
  std::string why;
  const MatrixProduct m = *match_matrix_product(q, why);
  const Tensor& a = operands[static_cast<std::size_t>(m.sparse)];
  const Part& part = a.part();
  const BlockedRows b = *tiled_rows_of(part.format);
  const i64 rows = a.shape()[static_cast<std::size_t>(m.row_dim)];
  const Tiling tiling{b.rows, b.columns, part.ranges[1].size};
  with_loop(a.type(), [&]<class Loop, class V, class P, class C>(Loop loop, V*, P*, C*) {
    if (tiling.tiles == 0)
      return void(accumulate_arguments<V>(m, operands, out, alpha, beta));  // the first tile is what writes
    Dense<V> d = dense_arguments<V>(m, operands, out, alpha, beta);
    d.gathers = fast_gathers();
    const P* pos = static_cast<const P*>(part.levels[3].pos.data);
    const i64 slots = part.ranges[0].size * tiling.tiles * tiling.height,
              stored = slots > 0 ? static_cast<i64>(pos[slots]) : 0;
    // Few chunks, for each reads x anew. (What a row sums, and how, does not depend on them.)
    const i64 most = std::clamp<i64>(rows / 256, 1, std::min(4 * thread_count(), 256));
    const i64 chunks = std::min(most, chunk_count(product_work(stored + slots, d.columns)));
    parallel_for(chunks, [&](i64 c) {
      loop(begin_of_share(rows, c, chunks), begin_of_share(rows, c + 1, chunks), pos,
           static_cast<const C*>(part.levels[3].crd.data), static_cast<const V*>(part.values.data), tiling, d);
    });
  });
}

}  // namespace

const BuiltinKernel tiled_csr_kernel{"tiled_csr_product", accepts_tiled, run_tiled};

}  // namespace strata::kernels
