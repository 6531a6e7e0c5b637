#pragma once
// The data lines of a Matrix Market file, parsed in parallel into arrays.
#include <functional>
#include <vector>

#include "io/market_header.h"
#include "strata/tensor.h"

namespace strata::io {

/// Zero-based coordinates and values of the data lines, mirrored entries of symmetric files appended. Array files have
/// values alone.
struct MarketEntries {
  Buffer rows, cols, values;
  bool sorted = false;  ///< strictly ascending by row, then column
};

DType dtype_of_field(MarketField field);

/// Counts the lines before anything is allocated (FileError where the header lies), then parses them.
MarketEntries parse_market_entries(const FileText& source, const MarketHeader& header,
                                   const std::function<void(double)>& progress);

}  // namespace strata::io
