#pragma once
// A kernel as a C file that needs nothing of ours: its text behind a comment that says how to call it.
#include <string>
#include <vector>

#include "ir/ir.h"

namespace strata {

/// What a caller must know.
struct CFile {
  std::string computes;
  std::vector<std::string> notes;             ///< lines: operands, what the text holds for
  std::vector<std::string> effect;            ///< lines: what a call does
  std::vector<std::string> buffers, scalars;  ///< what they are, by position
  std::string range, chunk;                   ///< what begin, end and chunk are
};
std::string c_file(const CFile& file, const ir::Function& function, const std::string& source);

}  // namespace strata
