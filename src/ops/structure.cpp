#include "strata/structure.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <unordered_map>

#include "base/checked.h"
#include "ops/structure.h"
#include "strata/ops.h"

namespace strata {
namespace {

/// A CSR matrix with 64-bit indices: sorted, without duplicates.
struct Csr {
  std::int64_t rows, columns;
  Buffer pos_buffer, crd_buffer, values;
  const std::int64_t* pos;
  const std::int64_t* crd;
};

Csr as_csr(const Tensor& t) {
  const Tensor csr =
      convert(t, parse_format("CSR"),
              {.dtype = {}, .pos_dtype = DType::i64, .crd_dtype = DType::i64, .zeros = Zeros::automatic, .split = {}});
  Csr m{t.shape()[0], t.shape()[1], csr.pos(1), csr.crd(1), csr.part().values, nullptr, nullptr};
  m.pos = static_cast<const std::int64_t*>(m.pos_buffer.data);
  m.crd = static_cast<const std::int64_t*>(m.crd_buffer.data);
  return m;
}

void measure_rows(const Csr& m, Structure& s) {
  s.shortest_row = m.rows > 0 ? INT64_MAX : 0;
  double squares = 0;
  for (std::int64_t i = 0; i < m.rows; ++i) {
    const std::int64_t n = m.pos[i + 1] - m.pos[i];
    s.shortest_row = std::min(s.shortest_row, n);
    s.longest_row = std::max(s.longest_row, n);
    s.empty_rows += n == 0;
    squares += static_cast<double>(n) * static_cast<double>(n);
    std::int64_t next = 0;
    for (std::int64_t p = m.pos[i]; p < m.pos[i + 1]; ++p) {
      const std::int64_t gap = m.crd[p] - next;
      s.slots_delta4 += 1 + gap / 16;
      s.slots_delta8 += 1 + gap / 256;
      next = m.crd[p] + 1;
    }
  }
  if (m.rows == 0) return;
  s.mean_row = static_cast<double>(s.nse) / static_cast<double>(m.rows);
  s.deviation_row = std::sqrt(std::max(0.0, squares / static_cast<double>(m.rows) - s.mean_row * s.mean_row));
}

void measure_columns(const Csr& m, Structure& s) {
  // Columns by the billion with few elements: count the distinct ones by sorting.
  std::int64_t used = 0;
  if (m.columns <= 8 * s.nse + (1 << 20)) {
    std::vector<bool> seen(static_cast<std::size_t>(m.columns), false);
    for (std::int64_t p = 0; p < s.nse; ++p) {
      const auto j = static_cast<std::size_t>(m.crd[p]);
      used += !seen[j];
      seen[j] = true;
    }
  } else {
    std::vector<std::int64_t> all(m.crd, m.crd + s.nse);
    std::sort(all.begin(), all.end());
    used = std::unique(all.begin(), all.end()) - all.begin();
  }
  s.empty_columns = m.columns - used;
}

std::int64_t diagonal_length(const Csr& m, std::int64_t offset) {
  return offset >= 0 ? std::min(m.rows, m.columns - offset) : std::min(m.rows + offset, m.columns);
}

void measure_diagonals(const Csr& m, Structure& s) {
  std::vector<Diagonal> found;
  const auto span = checked_add(m.rows, m.columns);
  if (span && *span <= 8 * s.nse + (1 << 20)) {
    std::vector<std::int64_t> count(static_cast<std::size_t>(*span), 0);
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t p = m.pos[i]; p < m.pos[i + 1]; ++p) ++count[static_cast<std::size_t>(m.crd[p] - i + m.rows)];
    for (std::size_t k = 0; k < count.size(); ++k)
      if (count[k] > 0) found.push_back({static_cast<std::int64_t>(k) - m.rows, count[k], 0});
  } else {
    std::unordered_map<std::int64_t, std::int64_t> count;
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t p = m.pos[i]; p < m.pos[i + 1]; ++p) ++count[m.crd[p] - i];
    for (const auto& [offset, n] : count) found.push_back({offset, n, 0});
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  }
  s.num_diagonals = std::ssize(found);
  double room = 0;
  for (Diagonal& d : found) {
    d.length = diagonal_length(m, d.offset);
    room += static_cast<double>(d.length);
    s.lower_bandwidth = std::max(s.lower_bandwidth, -d.offset);
    s.upper_bandwidth = std::max(s.upper_bandwidth, d.offset);
  }
  s.diagonal_fill = room > 0 ? static_cast<double>(s.nse) / room : 0;
  s.lower_triangular = s.upper_bandwidth == 0 && s.nse > 0;
  s.upper_triangular = s.lower_bandwidth == 0 && s.nse > 0;
  constexpr std::size_t shown = 64;
  if (found.size() > shown) {
    std::nth_element(found.begin(), found.begin() + shown, found.end(),
                     [](const auto& a, const auto& b) { return a.fill() > b.fill(); });
    found.resize(shown);
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  }
  s.diagonals = std::move(found);
}

/// Distinct r x c blocks that hold an element, over every `step`-th block row; `elements` counts the elements seen.
std::int64_t count_blocks(const Csr& m, std::int64_t r, std::int64_t c, std::int64_t step,
                          std::vector<std::int64_t>& stamp, std::int64_t& mark, std::int64_t& elements) {
  std::int64_t blocks = 0;
  elements = 0;
  for (std::int64_t ib = 0; ib * r < m.rows; ib += step) {
    ++mark;
    for (std::int64_t p = m.pos[ib * r]; p < m.pos[std::min(m.rows, (ib + 1) * r)]; ++p) {
      auto& seen = stamp[static_cast<std::size_t>(m.crd[p] / c)];
      blocks += seen != mark;
      seen = mark;
      ++elements;
    }
  }
  return blocks;
}

void measure_blocks(const Csr& m, Structure& s) {
  s.best_block = {1, 1, s.nse, 1.0};
  if (s.nse == 0 || m.columns > 8 * s.nse + (1 << 20)) return;
  constexpr std::int64_t sizes[][2] = {{2, 2}, {3, 3}, {4, 4}, {5, 5}, {6, 6}, {8, 8}, {16, 16}, {32, 32},
                                       {1, 2}, {1, 4}, {1, 8}, {2, 1}, {4, 1}, {8, 1}, {3, 2},   {2, 3}};
  std::vector<std::int64_t> stamp(static_cast<std::size_t>(m.columns) + 1, 0);
  std::int64_t mark = 0, elements = 0;
  const auto width = static_cast<double>(size_of(s.dtype));
  double best =
      1.05 * (width + 4);  // bytes per element: a value and its column; blocks that cost as much still save work
  std::vector<std::pair<double, BlockFit>> promising;
  for (const auto& [r, c] : sizes) {
    if (r > m.rows || c > m.columns) continue;
    // About 200,000 elements tell how full the blocks are.
    const std::int64_t step = std::max<std::int64_t>(1, s.nse / 200000);
    const std::int64_t blocks = count_blocks(m, r, c, step, stamp, mark, elements);
    if (elements == 0) continue;
    const BlockFit fit{r, c, blocks,
                       static_cast<double>(elements) / (static_cast<double>(blocks) * static_cast<double>(r * c))};
    s.blocks.push_back(fit);
    const double bytes = width / fit.fill + 4.0 * static_cast<double>(blocks) / static_cast<double>(elements);
    if (bytes < 1.02 * best) promising.emplace_back(bytes, fit);
  }
  std::sort(promising.begin(), promising.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  if (promising.size() > 3) promising.resize(3);
  for (auto& [estimate, fit] : promising) {
    fit.blocks = count_blocks(m, fit.rows, fit.columns, 1, stamp, mark, elements);
    const double slots = static_cast<double>(fit.blocks) * static_cast<double>(fit.rows * fit.columns);
    fit.fill = static_cast<double>(s.nse) / slots;
    const double bytes = width / fit.fill + 4.0 * static_cast<double>(fit.blocks) / static_cast<double>(s.nse);
    if (bytes < best) best = bytes, s.best_block = fit;
  }
}

/// Element (i, j) has a partner (j, i) for each stored one? The rows' own cursors tell: rows come in order, so do their
/// partners.
template <class T>
void measure_symmetry(const Csr& m, const T* v, Structure& s) {
  if (m.rows != m.columns || m.rows == 0) return;
  std::vector<std::int64_t> next(m.pos, m.pos + m.rows);
  bool symmetric = true, skew = true, hermitian = true;
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t p = m.pos[i]; p < m.pos[i + 1]; ++p) {
      const std::int64_t j = m.crd[p];
      std::int64_t& q = next[static_cast<std::size_t>(j)];
      if (q >= m.pos[j + 1] || m.crd[q] != i) return;
      const T a = v[p], b = v[q++];
      symmetric = symmetric && a == b;
      skew = skew && a == static_cast<T>(-b);
      if constexpr (std::is_same_v<T, std::complex<double>>) hermitian = hermitian && a == std::conj(b);
    }
  s.pattern_symmetric = true;
  s.symmetric = symmetric && s.nse > 0;
  s.skew = skew && s.nse > 0;
  s.hermitian = s.nse > 0 && (is_complex(s.dtype) ? hermitian : symmetric);
}

}  // namespace

Structure describe_structure(const Tensor& t) {
  if (t.rank() != 2)
    throw TensorError({.what = "the structure of matrices alone is known",
                       .expected = "a tensor of 2 dimensions",
                       .got = std::to_string(t.rank()) + " dimensions"});
  Structure s;
  s.rows = t.shape()[0];
  s.columns = t.shape()[1];
  s.dtype = t.dtype();
  // Billions of empty rows would cost CSR its pos; such a matrix is described by its non-empty rows alone.
  if (s.rows > 64 * t.nse() + (1 << 24)) {
    s.nse = t.nse();
    s.mean_row = s.rows > 0 ? static_cast<double>(s.nse) / static_cast<double>(s.rows) : 0;
    s.slots_delta4 = s.slots_delta8 = INT64_MAX / 32;
    s.best_block = {1, 1, s.nse, 1.0};
    estimate_formats(s);
    return s;
  }
  const Csr m = as_csr(t);
  s.nse = m.pos[m.rows];
  measure_rows(m, s);
  measure_columns(m, s);
  measure_diagonals(m, s);
  measure_blocks(m, s);
  if (is_complex(s.dtype)) {
    const Buffer v = m.values.cast(DType::c128);
    measure_symmetry(m, static_cast<const std::complex<double>*>(v.data), s);
  } else {
    const Buffer v =
        m.values.dtype == DType::f64 ? m.values : m.values.cast(is_float(s.dtype) ? DType::f64 : DType::i64);
    if (is_float(s.dtype)) measure_symmetry(m, static_cast<const double*>(v.data), s);
    else measure_symmetry(m, static_cast<const std::int64_t*>(v.data), s);
  }
  estimate_formats(s);
  return s;
}

}  // namespace strata
