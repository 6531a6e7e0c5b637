#pragma once
// The named formats and builders: each writes its text. Sources: the NamedFormats of NVIDIA's universal sparse tensor
// and MatX's aliases (Bik, "The Universal Sparse Tensor"), PyTorch's batched and hybrid layouts; ELL, blocked ELL,
// bitmap and nested blocks are ours.
#include "strata/format_fault.h"

namespace strata::detail {

inline constexpr int max_format_arguments = 8;

enum class NamedFamily : std::uint8_t {
  scalar,
  dense_vector,
  sparse_vector,
  dense,
  dense_left,
  coo,
  csr,
  csc,
  dcsr,
  dcsc,
  crow,
  ccol,
  dia_i,
  dia_j,
  skew_dia_i,
  skew_dia_j,
  batched_csr,
  batched_dia_i,
  batched_dia_j,
  uniform_dia_i,
  uniform_dia_j,
  block_vector,
  bsr,
  bsr_left,
  bsc,
  bsc_left,
  bsr3,
  delta,
  structured,
  ell,
  blocked_ell,
  bitmap,
  tiled_csr,
  nested_bsr,
  coo_dense,
  csf
};

struct NamedFormat {
  std::string_view name;
  NamedFamily family;
  std::string_view numbers;  ///< what may stand between parentheses, for people
  std::string_view meaning;  ///< the text, or its pattern
  int rank = 0;              ///< the one rank of a name that is not the whole family (DnMat, COO3); 0: any
};

/// Every name; the first of a family is the one that Format::name() gives. Case is ignored.
inline constexpr NamedFormat named_formats[] = {
    {"Scalar", NamedFamily::scalar, "", "() -> ()"},
    {"DenseVector", NamedFamily::dense_vector, "", "(i) -> (i : dense)"},
    {"DnVec", NamedFamily::dense_vector, "", "(i) -> (i : dense)"},
    {"SparseVector", NamedFamily::sparse_vector, "", "(i) -> (i : compressed)"},
    {"SpVec", NamedFamily::sparse_vector, "", "(i) -> (i : compressed)"},
    {"dense", NamedFamily::dense, "[rank]", "(i, j) -> (i : dense, j : dense)"},
    {"DenseRight", NamedFamily::dense, "[rank]", "(i, j) -> (i : dense, j : dense)"},
    {"DensedRight", NamedFamily::dense, "[rank]", "(i, j) -> (i : dense, j : dense)"},
    {"DenseMatrixRight", NamedFamily::dense, "", "(i, j) -> (i : dense, j : dense)", 2},
    {"DnMat", NamedFamily::dense, "", "(i, j) -> (i : dense, j : dense)", 2},
    {"Dn3", NamedFamily::dense, "", "(i, j, k) -> (i : dense, j : dense, k : dense)", 3},
    {"Dn4", NamedFamily::dense, "", "(i, j, k, l) -> (i : dense, j : dense, k : dense, l : dense)", 4},
    {"Dn5", NamedFamily::dense, "", "(i, j, k, l, m) -> (i : dense, j : dense, k : dense, l : dense, m : dense)", 5},
    {"DenseLeft", NamedFamily::dense_left, "[rank]", "(i, j) -> (j : dense, i : dense)"},
    {"DensedLeft", NamedFamily::dense_left, "[rank]", "(i, j) -> (j : dense, i : dense)"},
    {"DenseMatrixLeft", NamedFamily::dense_left, "", "(i, j) -> (j : dense, i : dense)", 2},
    {"DnMatCol", NamedFamily::dense_left, "", "(i, j) -> (j : dense, i : dense)", 2},
    {"COO", NamedFamily::coo, "[rank]", "(i, j) -> (i : compressed(nonunique), j : singleton)"},
    {"COO3", NamedFamily::coo, "", "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : singleton)", 3},
    {"COO4", NamedFamily::coo, "",
     "(i, j, k, l) -> (i : compressed(nonunique), j : singleton, k : singleton, l : singleton)", 4},
    {"COO5", NamedFamily::coo, "",
     "(i, j, k, l, m) -> (i : compressed(nonunique), j : singleton, k : singleton, l : singleton, m : singleton)", 5},
    {"CSR", NamedFamily::csr, "[batch[, dense]]", "(i, j) -> (i : dense, j : compressed)"},
    {"CSRd", NamedFamily::csr, "[batch[, dense]]", "(i, j) -> (i : dense, j : compressed)"},
    {"CSC", NamedFamily::csc, "[batch[, dense]]", "(i, j) -> (j : dense, i : compressed)"},
    {"CSCd", NamedFamily::csc, "[batch[, dense]]", "(i, j) -> (j : dense, i : compressed)"},
    {"DCSR", NamedFamily::dcsr, "", "(i, j) -> (i : compressed, j : compressed)"},
    {"DCSC", NamedFamily::dcsc, "", "(i, j) -> (j : compressed, i : compressed)"},
    {"CROW", NamedFamily::crow, "", "(i, j) -> (i : compressed, j : dense)"},
    {"CCOL", NamedFamily::ccol, "", "(i, j) -> (j : compressed, i : dense)"},
    {"DIAI", NamedFamily::dia_i, "", "(i, j) -> (j - i : compressed, i : range)"},
    {"DIAJ", NamedFamily::dia_j, "", "(i, j) -> (j - i : compressed, j : range)"},
    {"DIA", NamedFamily::dia_j, "", "(i, j) -> (j - i : compressed, j : range)"},  // SciPy's layout
    {"SkewDIAI", NamedFamily::skew_dia_i, "", "(i, j) -> (i + j : compressed, i : range)"},
    {"SkewDIAJ", NamedFamily::skew_dia_j, "", "(i, j) -> (i + j : compressed, j : range)"},
    {"BatchedCSR", NamedFamily::batched_csr, "", "(b, i, j) -> (b : dense, i : dense, j : compressed)"},
    {"BatchedDIAINonUniform", NamedFamily::batched_dia_i, "",
     "(b, i, j) -> (b : dense, j - i : compressed, i : range)"},
    {"BatchedDIANonUniform", NamedFamily::batched_dia_i, "", "(b, i, j) -> (b : dense, j - i : compressed, i : range)"},
    {"BatchedDIAJNonUniform", NamedFamily::batched_dia_j, "",
     "(b, i, j) -> (b : dense, j - i : compressed, j : range)"},
    {"BatchedDIAIUniform", NamedFamily::uniform_dia_i, "", "(b, i, j) -> (j - i : compressed, b : dense, i : range)"},
    {"BatchedDIAUniform", NamedFamily::uniform_dia_i, "", "(b, i, j) -> (j - i : compressed, b : dense, i : range)"},
    {"BatchedDIAJUniform", NamedFamily::uniform_dia_j, "", "(b, i, j) -> (j - i : compressed, b : dense, j : range)"},
    {"BlockVector", NamedFamily::block_vector, "n", "(i) -> (i / n : compressed, i % n : dense)"},
    {"BSR", NamedFamily::bsr, "m, n[, batch[, dense]]",
     "(i, j) -> (i / m : dense, j / n : compressed, i % m : dense, j % n : dense)"},
    {"BSRRight", NamedFamily::bsr, "m, n[, batch[, dense]]",
     "(i, j) -> (i / m : dense, j / n : compressed, i % m : dense, j % n : dense)"},
    {"BSRRightd", NamedFamily::bsr, "m, n[, batch[, dense]]",
     "(i, j) -> (i / m : dense, j / n : compressed, i % m : dense, j % n : dense)"},
    {"BSRLeft", NamedFamily::bsr_left, "m, n[, batch[, dense]]",
     "(i, j) -> (i / m : dense, j / n : compressed, j % n : dense, i % m : dense)"},
    {"BSRCol", NamedFamily::bsr_left, "m, n[, batch[, dense]]",
     "(i, j) -> (i / m : dense, j / n : compressed, j % n : dense, i % m : dense)"},
    {"BSC", NamedFamily::bsc, "m, n[, batch[, dense]]",
     "(i, j) -> (j / n : dense, i / m : compressed, i % m : dense, j % n : dense)"},
    {"BSCRight", NamedFamily::bsc, "m, n[, batch[, dense]]",
     "(i, j) -> (j / n : dense, i / m : compressed, i % m : dense, j % n : dense)"},
    {"BSCRightd", NamedFamily::bsc, "m, n[, batch[, dense]]",
     "(i, j) -> (j / n : dense, i / m : compressed, i % m : dense, j % n : dense)"},
    {"BSCLeft", NamedFamily::bsc_left, "m, n[, batch[, dense]]",
     "(i, j) -> (j / n : dense, i / m : compressed, j % n : dense, i % m : dense)"},
    {"BSR3", NamedFamily::bsr3, "m, n, o",
     "(i, j, k) -> (i / m : dense, j / n : compressed, k / o : compressed, i % m : dense, j % n : dense, k % o : "
     "dense)"},
    {"delta", NamedFamily::delta, "bits", "(i, j) -> (i : dense, j : delta(bits))"},
    {"structured", NamedFamily::structured, "n, m", "(i, j) -> (i : dense, j / m : dense, j % m : structured(n))"},
    {"ELL", NamedFamily::ell, "[slots]", "(i, j) -> (i : dense, j : padded)"},
    {"BlockedELL", NamedFamily::blocked_ell, "m, n[, slots]",
     "(i, j) -> (i / m : dense, j / n : padded, i % m : dense, j % n : dense)"},
    {"bitmap", NamedFamily::bitmap, "", "(i, j) -> (i : dense, j : bitmap)"},
    {"TiledCSR", NamedFamily::tiled_csr, "m, n",
     "(i, j) -> (i / m : dense, j / n : dense, i % m : dense, j % n : compressed)"},
    {"NestedBSR", NamedFamily::nested_bsr, "M, N, m, n",
     "(i, j) -> (i / M : dense, j / N : compressed, (i % M) / m : dense, (j % N) / n : compressed, (i % M) % m : "
     "dense, (j % N) % n : dense)"},
    {"COOd", NamedFamily::coo_dense, "sparse[, dense]",
     "(i, j, k) -> (i : compressed(nonunique), j : singleton, k : dense)"},
    {"CSF", NamedFamily::csf, "[rank]", "(i, j) -> (i : compressed, j : compressed)"},
    {"CSFd", NamedFamily::csf, "[rank]", "(i, j) -> (i : compressed, j : compressed)"},
    {"CSF3", NamedFamily::csf, "", "(i, j, k) -> (i : compressed, j : compressed, k : compressed)", 3},
    {"CSF4", NamedFamily::csf, "", "(i, j, k, l) -> (i : compressed, j : compressed, k : compressed, l : compressed)",
     4},
    {"CSF5", NamedFamily::csf, "",
     "(i, j, k, l, m) -> (i : compressed, j : compressed, k : compressed, l : compressed, m : compressed)", 5},
};

constexpr const NamedFormat* find_named_format(std::string_view name) {
  for (const auto& f : named_formats)
    if (same_word(f.name, name)) return &f;
  return nullptr;
}

/// Text under construction: fixed room, so that it serves at compile time.
struct FormatText {
  std::array<char, 4096> data{};
  std::size_t size = 0;
  constexpr std::string_view view() const { return {data.data(), size}; }
  constexpr FormatText& operator<<(std::string_view s) {
    for (const char c : s)
      if (size < data.size()) data[size++] = c;
    return *this;
  }
  constexpr FormatText& operator<<(std::int64_t n) {
    char digits[20]{};
    int count = 0;
    do digits[count++] = static_cast<char>('0' + n % 10);
    while ((n /= 10) > 0);
    while (count > 0 && size < data.size()) data[size++] = digits[--count];
    return *this;
  }
  /// The d-th dimension: i, j, k, ... z, a, ... h, then x26, x27, ...
  constexpr FormatText& dim(int d) {
    constexpr std::string_view letters = "ijklmnopqrstuvwxyzabcdefgh";
    return d < 26 ? *this << letters.substr(static_cast<std::size_t>(d), 1) : *this << "x" << d;
  }
};

/// Writes "(i, j, ...) -> (" and then levels, with the commas.
struct NamedFormatWriter {
  FormatText& out;
  bool first = true;
  constexpr NamedFormatWriter(FormatText& text, int rank) : out(text) {
    out << "(";
    for (int d = 0; d < rank; ++d) {
      if (d > 0) out << ", ";
      out.dim(d);
    }
    out << ") -> (";
  }
  constexpr FormatText& level() {
    if (!first) out << ", ";
    first = false;
    return out;
  }
  constexpr void plain(int d, std::string_view type) { level().dim(d) << " : " << type; }
  constexpr void split(int d, std::string_view op, std::int64_t n, std::string_view type) {
    level().dim(d) << op << n << " : " << type;
  }
  constexpr void finish() { out << ")"; }
};

/// The text of a named format. Returns what is expected where the numbers do not fit, null where all is well.
constexpr const char* expand_named_format(NamedFamily family, const std::array<std::int64_t, max_format_arguments>& a,
                                          int count, int rank, FormatText& out) {
  const auto number = [&](int k, std::int64_t otherwise) {
    return k < count ? a[static_cast<std::size_t>(k)] : otherwise;
  };
  const auto takes = [&](int least, int most) { return count >= least && count <= most; };
  switch (family) {
    case NamedFamily::dense:
    case NamedFamily::dense_left:
    case NamedFamily::coo:
    case NamedFamily::csf: {
      const std::int64_t n64 = number(0, rank >= 0 ? rank : 2);
      if (!takes(0, 1) || n64 < 0 || n64 > max_dims) return "no number, or the rank: from 0 to 32";
      const int n = static_cast<int>(n64);
      NamedFormatWriter w(out, n);
      for (int d = 0; d < n; ++d) {
        if (family == NamedFamily::dense) w.plain(d, "dense");
        if (family == NamedFamily::dense_left) w.plain(n - 1 - d, "dense");
        if (family == NamedFamily::coo)
          w.plain(d, d > 0 ? "singleton" : n > 1 ? "compressed(nonunique)" : "compressed");
        if (family == NamedFamily::csf) w.plain(d, "compressed");
      }
      w.finish();
      return nullptr;
    }
    case NamedFamily::coo_dense: {
      const std::int64_t sparse = number(0, 0), inner = number(1, 0);
      if (!takes(1, 2) || sparse < 1 || inner < 0 || sparse > max_dims || inner > max_dims || sparse + inner > max_dims)
        return "COOd(sparse, dense): at least 1 sparse dimension, 32 in all";
      NamedFormatWriter w(out, static_cast<int>(sparse + inner));
      for (int d = 0; d < sparse + inner; ++d)
        w.plain(d, d >= sparse ? "dense" : d > 0 ? "singleton" : sparse > 1 ? "compressed(nonunique)" : "compressed");
      w.finish();
      return nullptr;
    }
    case NamedFamily::csr:
    case NamedFamily::csc: {
      const std::int64_t batch = number(0, 0), inner = number(1, 0);
      if (!takes(0, 2) || batch < 0 || inner < 0 || batch > max_dims || inner > max_dims ||
          batch + inner + 2 > max_dims)
        return "no numbers, or how many batch and dense dimensions: 32 dimensions in all";
      const int b = static_cast<int>(batch), n = static_cast<int>(batch + inner) + 2;
      NamedFormatWriter w(out, n);
      for (int d = 0; d < b; ++d) w.plain(d, "batch");
      const bool rows = family == NamedFamily::csr;
      w.plain(rows ? b : b + 1, "dense");
      w.plain(rows ? b + 1 : b, "compressed");
      for (int d = b + 2; d < n; ++d) w.plain(d, "dense");
      w.finish();
      return nullptr;
    }
    case NamedFamily::bsr:
    case NamedFamily::bsr_left:
    case NamedFamily::bsc:
    case NamedFamily::bsc_left:
    case NamedFamily::blocked_ell: {
      const bool ell = family == NamedFamily::blocked_ell;
      const std::int64_t m = number(0, 0), n = number(1, 0), batch = ell ? 0 : number(2, 0),
                         inner = ell ? 0 : number(3, 0);
      if (ell && (!takes(2, 3) || m < 1 || n < 1 || (count == 3 && number(2, 0) < 1)))
        return "the sizes of a block, and at most the number of slots: all at least 1";
      if (!takes(2, 4) || m < 1 || n < 1 || batch < 0 || inner < 0 || batch > max_dims || inner > max_dims ||
          batch + inner + 2 > max_dims)
        return "the two sizes of a block, at least 1; then how many batch and dense dimensions";
      const int b = static_cast<int>(batch), rank_n = static_cast<int>(batch + inner) + 2;
      NamedFormatWriter w(out, rank_n);
      for (int d = 0; d < b; ++d) w.plain(d, "batch");
      const bool rows = family == NamedFamily::bsr || family == NamedFamily::bsr_left || ell;
      if (rows) w.split(b, " / ", m, "dense");
      if (ell && count == 3) w.split(b + 1, " / ", n, "padded("), out << number(2, 0) << ")";
      else w.split(b + 1, " / ", n, ell ? "padded" : rows ? "compressed" : "dense");
      if (!rows) w.split(b, " / ", m, "compressed");
      const bool left = family == NamedFamily::bsr_left || family == NamedFamily::bsc_left;
      if (left) w.split(b + 1, " % ", n, "dense");
      w.split(b, " % ", m, "dense");
      if (!left) w.split(b + 1, " % ", n, "dense");
      for (int d = b + 2; d < rank_n; ++d) w.plain(d, "dense");
      w.finish();
      return nullptr;
    }
    case NamedFamily::block_vector:
      if (!takes(1, 1) || a[0] < 1) return "the size of a block, at least 1";
      out << "(i) -> (i / " << a[0] << " : compressed, i % " << a[0] << " : dense)";
      return nullptr;
    case NamedFamily::bsr3:
      if (!takes(3, 3) || a[0] < 1 || a[1] < 1 || a[2] < 1) return "the three sizes of a block, at least 1";
      out << "(i, j, k) -> (i / " << a[0] << " : dense, j / " << a[1] << " : compressed, k / " << a[2]
          << " : compressed, i % " << a[0] << " : dense, j % " << a[1] << " : dense, k % " << a[2] << " : dense)";
      return nullptr;
    case NamedFamily::delta:
      if (!takes(1, 1) || a[0] < 1 || a[0] > 32) return "the number of bits, from 1 to 32";
      out << "(i, j) -> (i : dense, j : delta(" << a[0] << "))";
      return nullptr;
    case NamedFamily::structured:
      if (!takes(2, 2) || a[0] < 1 || a[1] < a[0]) return "structured(n, m): n of each m elements, 1 <= n <= m";
      out << "(i, j) -> (i : dense, j / " << a[1] << " : dense, j % " << a[1] << " : structured(" << a[0] << "))";
      return nullptr;
    case NamedFamily::ell:
      if (!takes(0, 1) || (count == 1 && a[0] < 1)) return "no number, or the slots of a row: at least 1";
      out << "(i, j) -> (i : dense, j : padded";
      if (count == 1) out << "(" << a[0] << ")";
      out << ")";
      return nullptr;
    case NamedFamily::tiled_csr:
      if (!takes(2, 2) || a[0] < 1 || a[1] < 1) return "the two sizes of a tile, at least 1";
      out << "(i, j) -> (i / " << a[0] << " : dense, j / " << a[1] << " : dense, i % " << a[0] << " : dense, j % "
          << a[1] << " : compressed)";
      return nullptr;
    case NamedFamily::nested_bsr:
      if (!takes(4, 4) || a[0] < 1 || a[1] < 1 || a[2] < 1 || a[3] < 1)
        return "the two sizes of an outer block and of an inner block, at least 1";
      out << "(i, j) -> (i / " << a[0] << " : dense, j / " << a[1] << " : compressed, (i % " << a[0] << ") / " << a[2]
          << " : dense, (j % " << a[1] << ") / " << a[3] << " : compressed, (i % " << a[0] << ") % " << a[2]
          << " : dense, (j % " << a[1] << ") % " << a[3] << " : dense)";
      return nullptr;
    default:  // the others are one text each
      for (const auto& f : named_formats)
        if (f.family == family) {
          out << f.meaning;
          return nullptr;
        }
      return "a name of a format";
  }
}

}  // namespace strata::detail
