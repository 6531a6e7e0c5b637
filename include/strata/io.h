#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/tensor.h"

namespace strata {

// --- .st: our own container, which keeps a tensor of any format as it is stored (docs/reference/files.md has its
// bytes)
// ---

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// What is looked at before a file is believed. The header's checksum, and that the arrays lie in the file, always are.
enum class Verify : std::uint8_t {
  all,        ///< also the checksum of every array, and every invariant of the levels: the whole file is read once
  structure,  ///< pos and crd so, values not: they stay on the disk until they are used. Safe with any file
  header,     ///< nothing else: for files that one has written oneself
};
struct LoadOptions {
  Verify verify = Verify::all;
  /// The arrays are views of the mapped file, read only and lazily. Whoever shortens that file in place (replacing or
  /// deleting it is fine) kills the process; false: they are read into memory.
  bool map = true;
};

/// Writes a tensor, or several with names. FileError; TensorError for one that does not obey its own format.
void save(const std::string& path, const Tensor& t);
void save(const std::string& path, const NamedTensors& tensors);
/// The tensor of a file that holds one. FileError: what is wrong, and where.
Tensor load(const std::string& path, const LoadOptions& options = {});
/// All tensors of a file, in the order in which they were written; a single one without a name has the name "".
NamedTensors load_all(const std::string& path, const LoadOptions& options = {});
/// The same from the bytes of a file, which the tensors keep alive.
NamedTensors parse_container(const Buffer& bytes, const std::string& name = "<bytes>", Verify verify = Verify::all);
/// The header alone, checked: JSON (the page says what its keys mean).
std::string container_header(const std::string& path);

// --- text files ---

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

struct FrosttOptions {
  Shape shape = {};          ///< empty: the largest coordinate of each mode, or what a first line `# shape: 3 4 5` says
  DType dtype = DType::f64;  ///< of the values: f64, or i64 and u64 for files of integers
};
/// Reads a FROSTT file (.tns): a line per element, its coordinates from 1 on and its value; `#` begins a comment. Gives
/// COO, sorted, duplicates added. FileError with the line and column.
Tensor read_frostt(const std::string& path, const FrosttOptions& options = {},
                   const std::function<void(double)>& progress = {});
Tensor parse_frostt(std::string_view text, const std::string& name = "<text>", const FrosttOptions& options = {},
                    const std::function<void(double)>& progress = {});
/// Writes the stored elements of a tensor of 1 dimension or more; a first line, a comment to others, keeps the shape.
/// Values read back bit for bit. FileError.
void write_frostt(const std::string& path, const Tensor& t);

}  // namespace strata
