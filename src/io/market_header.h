#pragma once
// The header of a Matrix Market file.
// Source: R. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats: Initial Design", NISTIR 5935, 1996.
#include "io/file_text.h"

namespace strata::io {

enum class MarketField : std::uint8_t { real, integer, unsigned_integer, complex, pattern };
enum class MarketSymmetry : std::uint8_t { general, symmetric, skew, hermitian };

struct MarketHeader {
  bool coordinate = true;
  MarketField field = MarketField::real;
  MarketSymmetry symmetry = MarketSymmetry::general;
  std::int64_t rows = 0, cols = 0;
  std::int64_t entries = 0;    ///< lines of data that must follow (array files: computed from the shape)
  const char* data = nullptr;  ///< behind the size line
  const char* size_line = nullptr;
};

/// Reads the banner, comments and the size line.
MarketHeader parse_market_header(const FileText& source);

}  // namespace strata::io
