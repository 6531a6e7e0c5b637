// Bytes and cost of each storage that could hold a matrix of given structure.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ops/structure.h"

namespace strata {
namespace {

/// Nanoseconds beyond the bytes, on one core: per slot and per row (or block row, or diagonal). From the measurements
/// of our kernels on a machine of 30 GB/s a core; what counts is how the formats compare.
struct Cost {
  double slot, row;
};
constexpr double bytes_per_ns = 30;
constexpr Cost csr{0.08, 1.0}, csc{0.6, 1.0}, coo{1.0, 0}, dcsr{0.08, 2.0}, bsr{0.02, 2.0}, dia{0.12, 10},
    ell{0.15, 1.5}, delta{1.2, 2.0}, bitmap{0.5, 4.0}, dense{0.03, 1.0};

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share > 0.9949 && share < 1 ? "%.1f %%" : "%.0f %%", 100 * share);
  return text;
}
std::string decimal(double x, int digits = 1) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}
/// 1 234 567: groups of three, as in the other tables of the demo.
std::string grouped(std::int64_t n) {
  std::string s = std::to_string(n);
  for (auto k = std::ssize(s) - 3; k > (n < 0 ? 1 : 0); k -= 3) s.insert(static_cast<std::size_t>(k), " ");
  return s;
}

class Estimator {
 public:
  explicit Estimator(Structure& s)
      : s_(s),
        value_(static_cast<double>(size_of(s.dtype))),
        nse_(static_cast<double>(s.nse)),
        rows_(static_cast<double>(s.rows)),
        columns_(static_cast<double>(s.columns)) {}

  void run() {
    const double vectors = value_ * (rows_ + columns_);
    const double pos = index(nse_), crd = index(std::max(rows_, columns_));
    add("COO", "", pos * 2 + nse_ * (2 * crd + value_), nse_, coo, 0, vectors, "two coordinates an element");
    add("CSR", "", pos * (rows_ + 1) + nse_ * (crd + value_), nse_, csr, rows_, vectors, "");
    add("CSC", "", pos * (columns_ + 1) + nse_ * (crd + value_), nse_, csc, columns_, vectors,
        "a product scatters into y");
    if (s_.columns <= 65536 && s_.nse > 0)
      add("CSR", "uint16", pos * (rows_ + 1) + nse_ * (2 + value_), nse_, csr, rows_, vectors, "columns fit 16 bits");
    if (4 * s_.empty_rows > s_.rows) {
      const double used = rows_ - static_cast<double>(s_.empty_rows);
      add("DCSR", "", 2 * pos + used * (crd + pos) + pos + nse_ * (crd + value_), nse_, dcsr, used, vectors,
          percent(static_cast<double>(s_.empty_rows) / rows_) + " of the rows are empty");
    }
    add("Delta(4)", "", pos * (rows_ + 1) + static_cast<double>(s_.slots_delta4) * (0.5 + value_),
        static_cast<double>(s_.slots_delta4), delta, rows_, vectors, "distances of 4 bits");
    add("Delta(8)", "", pos * (rows_ + 1) + static_cast<double>(s_.slots_delta8) * (1 + value_),
        static_cast<double>(s_.slots_delta8), delta, rows_, vectors, "distances of 8 bits");
    if (const double height = 1024, tiles = std::ceil(columns_ / 256); tiles >= 8 && s_.mean_row >= 12 * tiles)
      add("TiledCSR(1024, 256)", "uint8", pos * (std::ceil(rows_ / height) * height * tiles + 1) + nse_ * (1 + value_),
          nse_, csr, rows_ * tiles, vectors, "tiles that stay in a cache, for 16 columns and more");
    blocks(vectors, pos, crd);
    diagonals(vectors, pos, crd);
    if (s_.longest_row > 0 && static_cast<double>(s_.longest_row) < 3 * s_.mean_row + 8) {
      const double slots = rows_ * static_cast<double>(s_.longest_row);
      add("ELL", "", slots * (crd + value_), slots, ell, rows_, vectors,
          "rows padded to " + std::to_string(s_.longest_row) +
              (s_.longest_row == s_.shortest_row ? ": every row has as many" : ""));
    }
    if (const double room = rows_ * columns_; room > 0 && nse_ / room > 1.0 / 512) {
      const double words = std::ceil(columns_ / 64) * 8;
      add("Bitmap", "", pos * (rows_ + 1) + rows_ * words + nse_ * value_, nse_, bitmap, rows_ * words / 8, vectors,
          "one bit an element of the matrix");
      if (nse_ / room > 0.05)
        add("dense", "", room * value_, room, dense, rows_, vectors, percent(nse_ / room) + " stored");
    }
    finish();
  }

 private:
  static double index(double largest) { return largest <= 2147483647 ? 4 : 8; }

  void add(std::string format, std::string crd_dtype, double bytes, double slots, Cost cost, double lines,
           double vectors, std::string note) {
    if (bytes > 9e18) return;
    s_.formats.push_back({std::move(format), std::move(crd_dtype), static_cast<std::int64_t>(bytes),
                          static_cast<std::int64_t>(slots),
                          (bytes + vectors) / bytes_per_ns + slots * cost.slot + lines * cost.row, std::move(note)});
  }

  void blocks(double vectors, double pos, double crd) {
    std::vector<BlockFit> fits;
    if (s_.best_block.rows * s_.best_block.columns > 1) fits.push_back(s_.best_block);
    // Also the best square one of the sample, scaled up, when it is no hopeless case.
    for (BlockFit b : s_.blocks)
      if (b.rows == b.columns && b.fill > 0.4 && (b.rows != s_.best_block.rows || b.columns != s_.best_block.columns) &&
          fits.size() < 3) {
        b.blocks = static_cast<std::int64_t>(nse_ / (b.fill * static_cast<double>(b.rows * b.columns)));
        fits.push_back(b);
      }
    for (const BlockFit& b : fits) {
      const double n = static_cast<double>(b.blocks), block_rows = std::ceil(rows_ / static_cast<double>(b.rows)),
                   area = static_cast<double>(b.rows * b.columns);
      add("BSR(" + std::to_string(b.rows) + ", " + std::to_string(b.columns) + ")", "",
          pos * (block_rows + 1) + n * (crd + area * value_), n * area, bsr, block_rows + n * 0.2, vectors,
          "blocks " + percent(b.fill) + " full, one column index for " + std::to_string(b.rows * b.columns) + " slots");
    }
  }

  void diagonals(double vectors, double pos, double crd) {
    if (s_.num_diagonals == 0 || s_.diagonal_fill < 0.02) {
      mixed(vectors, pos, crd);
      return;
    }
    const double n = static_cast<double>(s_.num_diagonals), slots = n * rows_;
    add("DIAI", "", 2 * pos + n * (crd + rows_ * value_), slots, dia, n, vectors,
        grouped(s_.num_diagonals) + (s_.num_diagonals == 1 ? " diagonal, " : " diagonals, ") +
            percent(s_.diagonal_fill) + " full, no column index");
    if (s_.diagonal_fill < 0.9) mixed(vectors, pos, crd);
  }

  /// Full diagonals apart, the rest in CSR.
  void mixed(double vectors, double pos, double crd) {
    double inside = 0, n = 0;
    for (const Diagonal& d : s_.diagonals)
      if (static_cast<double>(d.stored) * (value_ + crd) >= rows_ * value_ + crd)
        inside += static_cast<double>(d.stored), ++n;
    if (n == 0 || inside < 0.2 * nse_ || inside >= nse_) return;
    const double rest = nse_ - inside, slots = n * rows_ + rest;
    const double bytes = 2 * pos + n * (crd + rows_ * value_) + pos * (rows_ + 1) + rest * (crd + value_);
    add("DIAI + CSR", "", bytes, slots, csr, 2 * rows_, vectors,
        std::to_string(static_cast<std::int64_t>(n)) + (n == 1 ? " full diagonal holds " : " full diagonals hold ") +
            percent(inside / nse_) + ", CSR the rest");
  }

  void finish() {
    std::sort(s_.formats.begin(), s_.formats.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    const FormatEstimate& best = s_.formats.front();
    const auto plain = std::find_if(s_.formats.begin(), s_.formats.end(),
                                    [](const auto& f) { return f.format == "CSR" && f.crd_dtype.empty(); });
    s_.recommended = best.format;
    if (s_.nse == 0) {
      s_.why = "nothing is stored: the smallest";
      return;
    }
    const double each = std::max(1.0, nse_);
    s_.why = (best.note.empty() ? "no structure that another format could use" : best.note) + ": " +
             decimal(static_cast<double>(best.bytes) / each) + " bytes a stored element";
    if (plain->format != best.format || plain->crd_dtype != best.crd_dtype)
      s_.why += ", CSR takes " + decimal(static_cast<double>(plain->bytes) / each);
    if (static_cast<double>(best.slots) > 1.005 * nse_)
      s_.why += "; " + decimal(static_cast<double>(best.slots) / each, 2) +
                " multiplications for each that is needed, which cost less than the " +
                (best.bytes < plain->bytes ? "bytes" : "rows and columns to walk") + " saved";
  }

  Structure& s_;
  const double value_, nse_, rows_, columns_;
};

}  // namespace

void estimate_formats(Structure& s) { Estimator(s).run(); }

std::string Structure::to_string() const {
  std::string out;
  const auto line = [&](const std::string& name, const std::string& text) {
    out += name + std::string(name.size() < 12 ? 12 - name.size() : 1, ' ') + text + "\n";
  };
  const double room = static_cast<double>(rows) * static_cast<double>(columns);
  line(
      "size",
      grouped(rows) + " x " + grouped(columns) + ", " + grouped(nse) + " stored" +
          (room > 0 ? " (" + decimal(100 * static_cast<double>(nse) / room, nse * 1000.0 > room ? 1 : 5) + " %)" : ""));
  line("rows", grouped(shortest_row) + " to " + grouped(longest_row) + " elements, " + decimal(mean_row) +
                   " on average (deviation " + decimal(deviation_row) + ")" +
                   (empty_rows ? ", " + grouped(empty_rows) + " empty" : "") +
                   (empty_columns == 1  ? "; 1 empty column"
                    : empty_columns > 1 ? "; " + grouped(empty_columns) + " empty columns"
                                        : ""));
  std::string bands = grouped(num_diagonals) + (num_diagonals == 1 ? " diagonal, " : " diagonals, ") +
                      percent(diagonal_fill) + " full, from " + std::to_string(-lower_bandwidth) + " to " +
                      std::to_string(upper_bandwidth);
  line("bands", num_diagonals == 0 ? "none" : bands);
  line("blocks", best_block.rows * best_block.columns == 1
                     ? "none that pay"
                     : std::to_string(best_block.rows) + " x " + std::to_string(best_block.columns) + ", " +
                           percent(best_block.fill) + " full (" + grouped(best_block.blocks) + " of them)");
  std::string symmetry = rows != columns                  ? "not square"
                         : hermitian && is_complex(dtype) ? "hermitian"
                         : nse == 0                       ? "nothing to compare"
                         : symmetric                      ? "symmetric"
                         : skew                           ? "skew-symmetric"
                         : pattern_symmetric              ? "of the pattern only"
                                                          : "none";
  if (lower_triangular && upper_triangular) symmetry += ", diagonal";
  else if (lower_triangular) symmetry += ", lower triangular";
  else if (upper_triangular) symmetry += ", upper triangular";
  line("symmetry", symmetry);
  return out;
}

}  // namespace strata
