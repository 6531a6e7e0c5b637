#pragma once
#include <functional>
#include <string>

#include "strata/tensor.h"

namespace strata {

/// Reads a Matrix Market file: coordinate or array; real, double, integer, complex or pattern; general, symmetric,
/// skew-symmetric or hermitian (expanded). Coordinate files give COO (sorted, duplicates added), array files a dense
/// tensor. FileError with the line and column: what was expected, what came. Nothing in the header is believed before
/// the file bears it out. `progress` (may be empty) is called now and then with the share done in [0, 1].
Tensor read_matrix_market(const std::string& path, const std::function<void(double)>& progress = {});
Tensor parse_matrix_market(std::string_view text, const std::string& name = "<text>",
                           const std::function<void(double)>& progress = {});
/// Writes a 2-D tensor as a coordinate file (array for all-dense); values read back bit for bit. Written to a temporary
/// and renamed. FileError.
void write_matrix_market(const std::string& path, const Tensor& t);

}  // namespace strata
