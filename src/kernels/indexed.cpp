// CSR, bitmap rows and BSR times a dense vector or matrix: matching a query to the loops of src/kernels/isa.
#include <cstring>
#include <vector>

#include "base/far_apart.h"
#include "base/part_dtype.h"
#include "base/row_order.h"
#include "base/share.h"
#include "format/recognise.h"
#include "kernels/builtin.h"
#include "kernels/even_rows.h"
#include "kernels/match.h"
#include "kernels/panels.h"
#include "kernels/row_pieces.h"

namespace strata::kernels {

namespace {

/// Calls f with the loops for the element and index types of `t`: f(loops, V*, P*, C*) (pointers only carry the types).
template <class F> void with_types(const TensorType& t, const F& f) {
  const auto indices = [&]<class V>(const ValueLoops<V>& l) {
    if (t.pos_dtype == DType::i32 && t.crd_dtype == DType::u16)
      f(l.i32_u16, static_cast<V*>(nullptr), static_cast<i32*>(nullptr), static_cast<u16*>(nullptr));
    else if (t.pos_dtype == DType::i32)
      f(l.i32_i32, static_cast<V*>(nullptr), static_cast<i32*>(nullptr), static_cast<i32*>(nullptr));
    else if (t.crd_dtype == DType::i64)
      f(l.i64_i64, static_cast<V*>(nullptr), static_cast<i64*>(nullptr), static_cast<i64*>(nullptr));
    else f(l.i64_i32, static_cast<V*>(nullptr), static_cast<i64*>(nullptr), static_cast<i32*>(nullptr));
  };
  if (part_dtype(t.dtype) == DType::f64) indices(loops().f64);
  else indices(loops().f32);
}

/// Is the format (row : dense, column : KIND) with these dimensions?
bool has_rows(const Format& f, LevelKind kind, int outer, int inner) {
  const auto d = rows_of(f, kind);
  return d && *d == DimPair{outer, inner};
}

struct Accepted {
  MatrixProduct product;
  bool ok = false;
};
Accepted accept(const Query& q, std::string& why, bool complex_too = false) {
  const auto m = match_matrix_product(q, why, complex_too);
  if (!m || !known_indices(q.operands[static_cast<std::size_t>(m->sparse)], why)) return {};
  return {*m, true};
}
const Format& sparse_format(const Query& q, const MatrixProduct& m) {
  return q.operands[static_cast<std::size_t>(m.sparse)].format;
}

// --- CSR: the dense level is the row -----------------------------------------------------------------------------
bool accepts_csr(const Query& q, std::string& why) {
  const auto [m, ok] = accept(q, why, true);
  if (!ok) return false;
  if (is_complex(q.compute)) {
    const i64 columns = m.out_free < 0 ? 1 : q.output.shape[static_cast<std::size_t>(m.out_free)];
    why = "rows of less than a cache line of complex numbers";  // compiled code is up to 1.4 times as fast
    if (columns * static_cast<i64>(size_of(q.compute)) < line_bytes) return false;
  }
  if (has_rows(sparse_format(q, m), LevelKind::compressed, m.row_dim, m.inner_dim)) return true;
  why = "the format is not (row : dense, column : compressed)";
  return false;
}
void run_csr(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
             const Scalar& beta) {
  std::string why;
  const MatrixProduct m = *match_matrix_product(q, why, true);
  const Tensor& a = operands[static_cast<std::size_t>(m.sparse)];
  const Part& part = a.part();
  with_types(a.type(), [&]<class L, class V, class P, class C>(const L& l, V*, P*, C*) {
    const Dense<V> whole = dense_arguments<V>(m, operands, out, alpha, beta, true);
    const i64 rows = a.shape()[static_cast<std::size_t>(m.row_dim)],
              columns = a.shape()[static_cast<std::size_t>(m.inner_dim)];
    const P* pos = static_cast<const P*>(part.levels[1].pos.data);
    const C* crd = static_cast<const C*>(part.levels[1].crd.data);
    const V* values = static_cast<const V*>(part.values.data);
    const i64 stored = rows > 0 ? static_cast<i64>(pos[rows]) : 0;
    const bool pairs = is_complex(a.dtype());
    const auto plain_loop = pairs ? l.complex_csr : l.csr;
    // A product with one vector looks after its long rows itself.
    const auto loop = [&](i64 begin, i64 end, const Dense<V>& d) {
      if (d.columns == 1) return plain_loop(begin, end, pos, crd, values, d);
      rows_in_pieces(begin, end, pos, crd, values, d, pairs, plain_loop);
    };
    // Where x lies decides how a row is summed, and what is asked for.
    const Machine& how = machine();
    const auto placed_vector = [&](Dense<V>& d, i64 x_bytes) {
      constexpr i64 short_row = line_bytes / 2;  // bytes of values
      const i64 value_bytes = stored * static_cast<i64>(size_of(a.dtype()));
      if (how.streamed_bytes > 0) d.stream = value_bytes + stored * static_cast<i64>(sizeof(C)) > how.streamed_bytes;
      const bool waits = d.stream && !d.near && far_apart(crd, stored), short_rows = value_bytes <= rows * short_row;
      d.scattered = waits && x_bytes > std::max(how.second_level,
                                                short_rows ? how.vector_bytes_of_short_rows : how.vector_bytes_far);
      d.second = how.vector_second_level;
      if (d.columns == 1 && !d.gathers && !d.scattered)
        d.fours = fours_for_rows(rows, pos, how.row_costs[sizeof(V) == 8][waits]);
    };
    const auto placed_by_order = [&](Dense<V>& d, i64 row_bytes, i64 x_bytes) {
      const SampledOrder s = row_order(rows, pos, crd, order_slack(row_bytes));
      if (s.order != RowOrder::along && how.rows_by_order != ByOrder::always) return false;
      d.lead = s.lead;
      d.near = d.along = s.order == RowOrder::along;
      d.scattered = s.order == RowOrder::steps;
      d.twice = s.order == RowOrder::none && x_bytes > (row_bytes < 4 * line_bytes ? 2 * twice_bytes : twice_bytes);
      return true;
    };
    const auto placed = [&](Dense<V> d) {
      const i64 row_bytes = d.columns * static_cast<i64>(sizeof(V)), x_bytes = columns * row_bytes;
      d.near = x_bytes <= machine().second_level / 2;
      d.gathers = fast_gathers();
      if (d.columns <= (pairs ? 2 : 1)) {
        placed_vector(d, x_bytes);
        return d;
      }
      if (!pairs && part.format.level(1).ordered) d.tile = tile_bytes(rows, stored, x_bytes).size;
      if (how.rows_by_order != ByOrder::never && !d.near && d.tile == 0 && placed_by_order(d, row_bytes, x_bytes))
        return d;
      if (how.rows_by_order == ByOrder::always) return d;
      const bool wherever = how.scattered_anywhere && reaches_far(rows, pos, crd, row_bytes);
      d.scattered = x_bytes > how.scattered_bytes && (wherever || (d.stream && far_apart(crd, stored)));
      return d;
    };
    // Few slices where each reads tiles, or packs a panel, anew; elsewhere so many that threads end together and Ctrl-C
    // is heard, for each begins and ends slower than it goes on. (What a row sums, and how, does not depend on them.)
    const auto slices_of = [&](const Dense<V>& d) {
      if (d.tile > 0) return std::clamp<i64>(rows / 256, std::min(2 * thread_count(), 256), 256);
      return std::min<i64>(256,
                           thread_count() > 1 ? 32 * thread_count() : 1 + product_work(stored, d.columns) / slice_work);
    };
    const auto multiply = [&](const Dense<V>& d) {
      for_balanced_rows(rows, pos, d.columns, [&](i64 begin, i64 end) { loop(begin, end, d); }, slices_of(d));
    };
    const i64 width = panel_columns(rows, columns, pos, crd, part.format.level(1).ordered && !pairs,
                                    pairs ? 2 * line_bytes : line_bytes, whole);
    if (width == 0) return multiply(placed(whole));
    Panels<V> panels(part_dtype(a.dtype()), columns, width, whole);
    if (stored * panels.count() < enough_of_packed * columns * thread_count()) {
      for (i64 p = 0; p < panels.count(); ++p) multiply(placed(panels.shared(p)));
      return;
    }
    const i64 work = product_work(stored, width),
              slices =
                  std::max(1 + work / slice_work, std::min(4 * thread_count() / panels.count(), chunk_count(work)));
    parallel_for(panels.count() * slices, [&](i64 t) {
      const i64 begin = balanced_row(rows, pos, t % slices, slices),
                end = balanced_row(rows, pos, t % slices + 1, slices);
      if (begin < end) loop(begin, end, placed(panels.own(t / slices)));
    });
  });
}

// --- bitmap, times a vector: generated code is as fast beside several columns. ---
bool accepts_bitmap(const Query& q, std::string& why) {
  const auto m = match_matrix_product(q, why);
  if (!m) return false;
  const TensorType& a = q.operands[static_cast<std::size_t>(m->sparse)];
  const Format& f = a.format;
  if (a.pos_dtype != DType::i32 && a.pos_dtype != DType::i64) why = "positions are neither int32 nor int64";
  else if (m->out_free >= 0) why = "generated code is as fast beside several columns";
  else if (has_rows(f, LevelKind::bitmap, m->row_dim, m->inner_dim)) return true;
  else why = "the format is not (row : dense, column : bitmap)";
  return false;
}
void run_bitmap(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
                const Scalar& beta) {
  std::string why;
  const MatrixProduct m = *match_matrix_product(q, why);
  const Tensor& a = operands[static_cast<std::size_t>(m.sparse)];
  const Part& part = a.part();
  const i64 rows = a.shape()[static_cast<std::size_t>(m.row_dim)],
            columns = a.shape()[static_cast<std::size_t>(m.inner_dim)];
  const auto run = [&]<class L, class V, class P>(const L& l, V*, const P* pos) {
    const Dense<V> d = dense_arguments<V>(m, operands, out, alpha, beta);
    for_balanced_rows(rows, pos, d.columns, [&](i64 begin, i64 end) {
      l.bitmap_vector(begin, end, static_cast<const u64*>(part.levels[1].crd.data), (columns + 63) / 64, pos,
                      static_cast<const V*>(part.values.data), part.values.size, columns, d);
    });
  };
  const auto indices = [&]<class V>(const ValueLoops<V>& l, V* v) {
    if (a.type().pos_dtype == DType::i32) run(l.i32_i32, v, static_cast<const i32*>(part.levels[1].pos.data));
    else run(l.i64_i64, v, static_cast<const i64*>(part.levels[1].pos.data));
  };
  if (a.dtype() == DType::f64) indices(loops().f64, static_cast<double*>(nullptr));
  else indices(loops().f32, static_cast<float*>(nullptr));
}

// --- BSR: blocks of 3 x 3 times a vector, high ones times few columns. Generated code is faster elsewhere. ---
bool accepts_bsr(const Query& q, std::string& why) {
  const auto [m, ok] = accept(q, why);
  if (!ok) return false;
  const TensorType& a = q.operands[static_cast<std::size_t>(m.sparse)];
  const auto b = blocked_rows_of(a.format);
  const auto refuse = [&](const char* reason) {
    why = reason;
    return false;
  };
  if (!b || b->dims != DimPair{m.row_dim, m.inner_dim} || b->column_major)
    return refuse("the format is not BSR with rows of blocks");
  if (a.shape[static_cast<std::size_t>(m.row_dim)] % b->rows != 0 ||
      a.shape[static_cast<std::size_t>(m.inner_dim)] % b->columns != 0)
    return refuse("blocks overhang");
  constexpr i64 high = 32;
  const auto& loops_here = loops().f64.i32_i32;
  if (m.out_free < 0) {
    if (b->rows != 3 || b->columns != 3) return refuse("generated code is faster: blocks are not 3 x 3");
    return loops_here.bsr_3x3_vector || refuse("the processor lacks AVX2");
  }
  const i64 columns = q.output.shape[static_cast<std::size_t>(m.out_free)];
  if (b->rows < high || b->rows % 8 != 0 ||
      columns > (a.dtype == DType::f64 ? few_columns<double> : few_columns<float>))
    return refuse("generated code is faster: blocks have fewer than 32 rows, or columns take more than a line");
  return loops_here.bsr_few_columns || refuse("the processor lacks AVX-512");
}
void run_bsr(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
             const Scalar& beta) {
  std::string why;
  const MatrixProduct m = *match_matrix_product(q, why);
  const Tensor& a = operands[static_cast<std::size_t>(m.sparse)];
  const Part& part = a.part();
  const BlockedRows b = *blocked_rows_of(part.format);
  with_types(a.type(), [&]<class L, class V, class P, class C>(const L& l, V*, P*, C*) {
    const Dense<V> d = dense_arguments<V>(m, operands, out, alpha, beta);
    const P* pos = static_cast<const P*>(part.levels[1].pos.data);
    const C* crd = static_cast<const C*>(part.levels[1].crd.data);
    const V* values = static_cast<const V*>(part.values.data);
    for_balanced_rows(part.ranges[0].size, pos, d.columns * b.rows * b.columns, [&](i64 begin, i64 end) {
      if (m.out_free < 0) l.bsr_3x3_vector(begin, end, pos, crd, values, d);
      else l.bsr_few_columns(begin, end, pos, crd, values, b.rows, b.columns, d);
    });
  });
}

}  // namespace

const BuiltinKernel csr_kernel{
    .name = "csr_product", .accepts = accepts_csr, .run = run_csr, .packs = true, .keeps_digits = true};
const BuiltinKernel bitmap_kernel{"bitmap_product", accepts_bitmap, run_bitmap};
const BuiltinKernel bsr_kernel{"bsr_product", accepts_bsr, run_bsr};

}  // namespace strata::kernels
