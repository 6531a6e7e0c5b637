// Sparse matrix times sparse matrix: a dense row of sums with one bit a column, rows in chunks that are stitched at the end.
//
// Source: Gustavson, "Two fast algorithms for sparse matrices: multiplication and permuted transposition", ACM TOMS 4 (1978).
#include "ops/fast/sparse_product.h"

#include "ops/fast/support.h"
#include "ops/pod_array.h"

namespace strata::fast {
namespace {

/// By components, as NumPy multiplies: std::complex would make infinities of some NaNs.
template <class R> struct Pair {
  R re, im;
  friend Pair operator*(Pair a, Pair b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Pair operator+(Pair a, Pair b) { return {a.re + b.re, a.im + b.im}; }
};

template <class S> struct Rows {
  i64 rows = 0, columns = 0;
  const S *pos = nullptr, *crd = nullptr;
};

/// Rows [begin, end) of the product, one behind the other.
template <class S, class V> struct Piece {
  i64 begin = 0, end = 0;
  PodArray<S> crd;
  PodArray<V> values;
  PodArray<i64> stored;  ///< per row
};

/// Columns of one row in ascending order, and their bits cleared: by a walk over the words where many are set, otherwise by sorting.
template <class S> void take_sorted(PodArray<S>& list, std::uint64_t* bits) {
  const auto [low, high] = std::minmax_element(list.begin(), list.end());
  const i64 first = *low / 64, last = *high / 64;
  if (last - first > 2 * static_cast<i64>(list.size())) {
    std::sort(list.begin(), list.end());
    for (S j : list) bits[j / 64] = 0;
    return;
  }
  std::size_t n = 0;
  for (i64 w = first; w <= last; ++w) {
    for (std::uint64_t word = bits[w]; word; word &= word - 1) list[n++] = static_cast<S>(w * 64 + __builtin_ctzll(word));
    bits[w] = 0;
  }
}

template <class S, class V> void multiply(const Rows<S>& a, const V* av, const Rows<S>& b, const V* bv, Piece<S, V>& out) {
  const Buffer marks = Buffer::zeros(DType::u64, ceil_div(b.columns, 64) + 1);
  auto* const bits = static_cast<std::uint64_t*>(marks.data);
  PodArray<V> sums(static_cast<std::size_t>(b.columns));
  PodArray<S> list;
  out.stored.resize(static_cast<std::size_t>(out.end - out.begin));
  for (i64 i = out.begin; i < out.end; ++i) {
    std::size_t n = 0;
    for (i64 p = a.pos[i]; p < static_cast<i64>(a.pos[i + 1]); ++p) {
      const i64 j = a.crd[p], first = b.pos[j], last = b.pos[j + 1];
      const V x = av[p];
      list.resize(n + static_cast<std::size_t>(last - first));
      S* const columns = list.data();
      for (i64 q = first; q < last; ++q) {
        const S k = b.crd[q];
        const std::uint64_t bit = std::uint64_t{1} << (k % 64);
        const V product = static_cast<V>(x * bv[q]);
        if (bits[k / 64] & bit) {
          sums[static_cast<std::size_t>(k)] = static_cast<V>(sums[static_cast<std::size_t>(k)] + product);
        } else {
          bits[k / 64] |= bit;
          sums[static_cast<std::size_t>(k)] = product;
          columns[n++] = k;
        }
      }
    }
    list.resize(n);
    out.stored[static_cast<std::size_t>(i - out.begin)] = static_cast<i64>(n);
    if (n == 0) continue;
    take_sorted(list, bits);
    const std::size_t at = out.crd.size();
    out.crd.append(list.data(), n);
    out.values.resize(at + n);
    for (std::size_t k = 0; k < n; ++k) out.values[at + k] = sums[static_cast<std::size_t>(list[k])];
  }
}

template <class S, class V> Tensor product(const Rows<S>& a, const V* av, const Rows<S>& b, const V* bv, DType dtype) {
  // Chunks of equal work, which is the number of products.
  PodArray<i64> work(static_cast<std::size_t>(a.rows) + 1);
  for_even(a.rows, a.pos[a.rows], [&](i64 begin, i64 end) {
    for (i64 i = begin; i < end; ++i) {
      i64 n = 1;
      for (i64 p = a.pos[i]; p < static_cast<i64>(a.pos[i + 1]); ++p) n += b.pos[a.crd[p] + 1] - b.pos[a.crd[p]];
      work[static_cast<std::size_t>(i) + 1] = n;
    }
  });
  const i64 total = scan(work.data(), a.rows);
  // Each chunk starts with an empty row of sums, whose bits take columns / 8 bytes.
  const i64 chunks = std::clamp<i64>(std::min(total / 65536, 16 * total / (b.columns + 1)), 1, 256);
  std::vector<Piece<S, V>> pieces(static_cast<std::size_t>(chunks));
  parallel_for(chunks, [&](i64 c) {
    Piece<S, V>& piece = pieces[static_cast<std::size_t>(c)];
    piece.begin = cut_rows(work.data(), a.rows, c, chunks);
    piece.end = cut_rows(work.data(), a.rows, c + 1, chunks);
    if (piece.begin < piece.end) multiply(a, av, b, bv, piece);
  });
  Buffer pos = Buffer::zeros(DType::i64, a.rows + 1);
  i64* const starts = static_cast<i64*>(pos.data);
  for (const auto& piece : pieces)
    if (piece.begin < piece.end) std::copy(piece.stored.begin(), piece.stored.end(), starts + piece.begin + 1);
  const i64 stored = scan(starts, a.rows);
  Buffer crd = Buffer::allocate(dtype_of<S>(), stored), values = Buffer::allocate(dtype, stored);
  parallel_for(chunks, [&](i64 c) {
    const Piece<S, V>& piece = pieces[static_cast<std::size_t>(c)];
    if (piece.crd.size() == 0) return;
    std::memcpy(static_cast<S*>(crd.data) + starts[piece.begin], piece.crd.data(), piece.crd.size() * sizeof(S));
    std::memcpy(static_cast<V*>(values.data) + starts[piece.begin], piece.values.data(), piece.values.size() * sizeof(V));
  });
  RawArrays arrays;
  arrays.pos[1] = as_dtype(pos, index_dtype_for(stored));
  arrays.crd[1] = as_dtype(crd, index_dtype_for(std::max<i64>(b.columns - 1, 0)));
  arrays.values = values;
  return make_tensor(parse_format("CSR"), {a.rows, b.columns}, std::move(arrays), {}, false);
}

/// `t` as rows by its dimension `outer`, every in-range slot kept; nothing where extents exceed what its elements could pay for.
std::optional<Tensor> as_rows(const Tensor& t, int outer, DType index) {
  const i64 affordable = (i64{1} << 20) + 16 * t.nse();
  if (t.shape()[0] > affordable || t.shape()[1] > affordable) return {};
  const Format rows = parse_format(outer == 0 ? "CSR" : "CSC");
  ConvertOptions options;
  options.zeros = Zeros::keep;
  options.pos_dtype = options.crd_dtype = index;
  return strata::convert(t, rows, options);
}

/// Which dimension of operand k is index i; -1: none, or not alone.
int dim_of(const Einsum& e, std::size_t k, int i) {
  const auto& indices = e.operands[k];
  if (indices.size() != 2 || indices[0] == indices[1]) return -1;
  return indices[0] == i ? 0 : indices[1] == i ? 1 : -1;
}

}  // namespace

std::optional<Tensor> sparse_product(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options) {
  if (operands.size() != 2 || e.operands.size() != 2 || e.output.size() != 2 || e.output[0] == e.output[1] || e.num_indices != 3) return {};
  if (options.semiring != Semiring::plus_times || options.mask || (!e.conjugate.empty() && (e.conjugate[0] || e.conjugate[1]))) return {};
  const DType dtype = operands[0].dtype();
  if (operands[1].dtype() != dtype || options.dtype.value_or(dtype) != dtype) return {};
  for (const Tensor& t : operands)
    if (t.format().is_all_dense() || t.rank() != 2 || !t.fill().same_bits(Scalar::zero(dtype))) return {};
  const int row = dim_of(e, 0, e.output[0]), column = dim_of(e, 1, e.output[1]);
  if (row < 0 || column < 0) return {};
  const int inner_a = 1 - row, inner_b = 1 - column;
  if (e.operands[0][static_cast<std::size_t>(inner_a)] != e.operands[1][static_cast<std::size_t>(inner_b)] ||
      extent(operands[0], inner_a) != extent(operands[1], inner_b))
    return {};
  i64 largest = 0;
  for (const Tensor& t : operands) largest = std::max({largest, t.nse(), t.shape()[0], t.shape()[1]});
  const DType index = largest < index_max(DType::i32) && largest <= settings().int32_limit ? DType::i32 : DType::i64;
  const auto a = as_rows(operands[0], row, index), b = as_rows(operands[1], inner_b, index);
  if (!a || !b || !aligned_values(*a) || !aligned_values(*b)) return {};

  std::optional<Tensor> result;
  with_index(index, [&]<class S>(S) {
    const auto rows = [&](const Tensor& t, int outer) {
      const LevelArrays& l = t.part().levels[1];
      return Rows<S>{extent(t, outer), extent(t, 1 - outer), static_cast<const S*>(l.pos.data), static_cast<const S*>(l.crd.data)};
    };
    const auto run = [&]<class V>(V) {
      result = product<S, V>(rows(*a, row), static_cast<const V*>(a->part().values.data), rows(*b, inner_b), static_cast<const V*>(b->part().values.data), dtype);
    };
    switch (dtype) {
      case DType::f64: return run(double{});
      case DType::f32: return run(float{});
      case DType::i32: return run(std::uint32_t{});  // wraps
      case DType::i64: return run(std::uint64_t{});
      case DType::c64: return run(Pair<float>{});
      case DType::c128: return run(Pair<double>{});
      default: return;
    }
  });
  if (!result) return {};
  if (options.format) return strata::convert(*result, *options.format);
  std::map<std::string, TensorType> types;
  for (std::size_t k = 0; k < 2; ++k) types.emplace(operand_name(k), operands[k].type());
  return strata::convert(*result, result_format(to_assignment(e), types).format);
}

}  // namespace strata::fast
