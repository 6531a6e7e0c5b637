#pragma once
// A kernel as a C file that needs nothing of ours: its text behind a comment that says how to call it.
#include <span>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "strata/buffer.h"

namespace strata {

/// What a caller must know.
struct CFile {
  std::string computes;
  std::vector<std::string> notes = {};                  ///< lines: operands, what the text holds for
  std::vector<std::string> effect = {};                 ///< lines: what a call does
  std::vector<std::string> buffers = {}, scalars = {};  ///< what they are, by position
  std::string range = {};                               ///< what begin and end are
};
std::string c_file(const CFile& file, const ir::Function& function, const std::string& source);
/// The same file with another name for its function, which must be one of C (ExpressionError).
std::string rename_function(const std::string& file, const std::string& name);

/// A buffer or number that a file's function is called with.
struct CArgument {
  Buffer data;
  bool written = false;
};
/// A main() that calls function `name` once on these, prints the result, which is the one that is written, and fails
/// where it is not `expected`, of the same dtype. Unsupported: values that C has no plain type for.
std::string c_main(const std::string& name, std::span<const CArgument> buffers, std::span<const std::int64_t> scalars,
                   std::int64_t end, const Buffer& expected);

}  // namespace strata
