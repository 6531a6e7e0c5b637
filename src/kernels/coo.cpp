// COO, sorted by the row, times a vector. Generated code walks each run of equal rows, whose end is a guess; where rows
// are short an addition in memory for each element is none. (Several columns are worth the run: generated code.)
#include "base/share.h"
#include "format/recognise.h"
#include "kernels/builtin.h"
#include "kernels/match.h"

namespace strata::kernels {

namespace {

bool accepts_coo(const Query& q, std::string& why) {
  const auto m = match_matrix_product(q, why);
  if (!m || !known_indices(q.operands[static_cast<std::size_t>(m->sparse)], why)) return false;
  const Format& f = q.operands[static_cast<std::size_t>(m->sparse)].format;
  const auto d = coordinates_of(f);
  if (!d || !f.level(0).ordered || !(*d == DimPair{m->row_dim, m->inner_dim})) {
    why = "the format is not (row : compressed(nonunique), column : singleton), sorted";
    return false;
  }
  if (m->out_free >= 0) {
    why = "generated code is faster: there are several columns";
    return false;
  }
  return true;
}

/// Elements [begin, end): out += alpha * A * x.
template <bool Unit, class V, class C>
void by_elements(i64 begin, i64 end, const C* rows, const C* columns, const V* values, const Dense<V>& d) {
  const i64 ldx = Unit ? 1 : d.ldx, ldo = Unit ? 1 : d.ldo;
  for (i64 k = begin; k < end; ++k)
    d.out[static_cast<i64>(rows[k]) * ldo] += d.alpha * values[k] * d.x[static_cast<i64>(columns[k]) * ldx];
}

/// The same where ends of rows are no guess, or rare: four sums in turn, since each addition waits for the one before.
template <class V, class C>
void by_rows(i64 begin, i64 end, const C* rows, const C* columns, const V* values, const Dense<V>& d) {
  constexpr i64 stride = 8;  // rows ascend: what lies between two that are the same is the same too
  for (i64 k = begin, stop; k < end; k = stop) {
    const C row = rows[k];
    stop = k + 1;
    while (stop + stride <= end && rows[stop + stride - 1] == row) stop += stride;
    while (stop < end && rows[stop] == row) ++stop;
    V sum[4] = {};
    const auto term = [&](i64 p) { return values[p] * d.x[static_cast<i64>(columns[p]) * d.ldx]; };
    i64 p = k;
    for (; p + 4 <= stop; p += 4)
      for (int s = 0; s < 4; ++s) sum[s] += term(p + s);
    for (; p < stop; ++p) sum[0] += term(p);
    d.out[static_cast<i64>(row) * d.ldo] += d.alpha * ((sum[0] + sum[1]) + (sum[2] + sum[3]));
  }
}

/// Is where a row ends no guess, since most rows are as long as the one before? Some in the middle tell.
template <class C> bool are_alike(const C* rows, i64 stored) {
  constexpr int looked_at = 32;
  int alike = 0, runs = 0;
  i64 last = 0;
  for (i64 k = stored / 2, stop; k < stored && runs < looked_at; k = stop, ++runs) {
    stop = k + 1;
    while (stop < stored && rows[stop] == rows[k]) ++stop;
    alike += stop - k == last;
    last = stop - k;
  }
  return 4 * alike >= 3 * runs;
}

template <class V, class C>
void run_coo(const MatrixProduct& m, const Tensor& a, const Dense<V>& d) {
  const Part& part = a.part();
  const C* rows = static_cast<const C*>(part.levels[0].crd.data);
  const C* columns = static_cast<const C*>(part.levels[1].crd.data);
  const V* values = static_cast<const V*>(part.values.data);
  const i64 stored = part.levels[0].pos.index(1), chunks = chunk_count(stored);
  const auto cut = [&](i64 c) {  // chunks end where a row ends
    if (c == chunks) return stored;
    i64 k = begin_of_share(stored, c, chunks);
    while (k > 0 && k < stored && rows[k] == rows[k - 1]) ++k;
    return k;
  };
  constexpr i64 short_row = 24;  // measured: 0.8 to 1.1 ns an element in memory, with a guess for each row 2.9 for rows
                                 // of 3, 1.4 of 13, 1.0 of 30
  const i64 num_rows = a.shape()[static_cast<std::size_t>(m.row_dim)];
  const bool in_memory = stored < short_row * num_rows && !are_alike(rows, stored);
  const bool unit = d.ldx == 1 && d.ldo == 1;
  const auto loop = [&](i64 begin, i64 end) {
    if (begin >= end) return;
    if (!in_memory) return by_rows(begin, end, rows, columns, values, d);
    if (unit) return by_elements<true>(begin, end, rows, columns, values, d);
    by_elements<false>(begin, end, rows, columns, values, d);
  };
  if (chunks == 1) return loop(0, stored);
  parallel_for(chunks, [&](i64 c) { loop(cut(c), cut(c + 1)); });
}

void run(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) {
  std::string why;
  const MatrixProduct m = *match_matrix_product(q, why);
  const Tensor& a = operands[static_cast<std::size_t>(m.sparse)];
  const auto of = [&]<class V>(V) {
    const Dense<V> d = accumulate_arguments<V>(m, operands, out, alpha, beta);
    if (a.type().crd_dtype == DType::u16) run_coo<V, u16>(m, a, d);
    else if (a.type().crd_dtype == DType::i64) run_coo<V, i64>(m, a, d);
    else run_coo<V, i32>(m, a, d);
  };
  if (a.dtype() == DType::f64) of(double{});
  else of(float{});
}

}  // namespace

const BuiltinKernel coo_kernel{"coo_product", accepts_coo, run};

}  // namespace strata::kernels
