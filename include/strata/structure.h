#pragma once
// What a matrix looks like, and which storage suits it.
#include <string>
#include <vector>

#include "strata/tensor.h"

namespace strata {

/// A diagonal j - i = offset and how much of it is stored.
struct Diagonal {
  std::int64_t offset = 0, stored = 0, length = 0;
  double fill() const { return length > 0 ? static_cast<double>(stored) / static_cast<double>(length) : 0; }
};

/// The grid of rows x columns blocks: how many hold an element, and how full those are.
struct BlockFit {
  std::int64_t rows = 1, columns = 1, blocks = 0;
  double fill = 1;
};

/// A storage that could hold the matrix, with what it would cost. Bytes are exact for what lies in pos, crd and values;
/// `cost` models one product with a vector, in nanoseconds on one core.
struct FormatEstimate {
  std::string format;     ///< a text or name that parse_format reads
  std::string crd_dtype;  ///< "" for the automatic one
  std::int64_t bytes = 0, slots = 0;
  double cost = 0;
  std::string note;
};

/// What describe_structure finds. Counts are of stored elements, explicit zeros included.
struct Structure {
  std::int64_t rows = 0, columns = 0, nse = 0;
  DType dtype = DType::f64;
  // rows
  std::int64_t shortest_row = 0, longest_row = 0, empty_rows = 0, empty_columns = 0;
  double mean_row = 0, deviation_row = 0;
  // diagonals
  std::int64_t lower_bandwidth = 0, upper_bandwidth = 0;  ///< largest i - j and j - i of a stored element
  std::int64_t num_diagonals = 0;                         ///< that hold an element
  std::vector<Diagonal> diagonals;                        ///< the fullest, at most 64, by offset
  double diagonal_fill = 0;                               ///< of all diagonals that hold an element
  // blocks
  std::vector<BlockFit> blocks;  ///< every size that was looked at (a sample of rows)
  BlockFit best_block;           ///< fewest bytes, counted exactly; 1 x 1 where blocks do not pay
  // distances: slots that delta(4) and delta(8) need, bridges included
  std::int64_t slots_delta4 = 0, slots_delta8 = 0;
  // symmetry, of square matrices
  bool pattern_symmetric = false, symmetric = false, skew = false, hermitian = false;
  bool lower_triangular = false, upper_triangular = false;

  std::vector<FormatEstimate> formats;  ///< cheapest first
  std::string recommended;              ///< formats.front().format
  std::string why;                      ///< in a sentence or two
  /// The findings, a line each: "blocks      3 x 3, 70 % full (7 426 of them)".
  std::string to_string() const;
};

/// Looks at a matrix (rank 2, any format). Cost: a few passes over the stored elements, plus a conversion to CSR where
/// it is not CSR. TensorError for other ranks.
Structure describe_structure(const Tensor& t);

}  // namespace strata
