#pragma once
// What the parameters of a kernel stand for, in words: for the comment above its C text.
#include "compiler/binding.h"

namespace strata::compiler {

/// Names, by the numbers that bindings have.
struct BindingNames {
  std::vector<std::string> operands, indices;  ///< indices, or loop variables
  std::vector<std::string> along;              ///< the result: index of each dimension, or variable
  std::vector<std::string> bounds = {};        ///< the sum that stays below each
  // --- the workspace ---
  std::string value = {};   ///< "a value", "a block of values"
  std::string each = {};    ///< " for each coordinate of index j"
  std::string absent = {};  ///< what it holds between rows
};

std::vector<std::string> buffer_texts(const BoundFunction& kernel, const BindingNames& names);
std::vector<std::string> scalar_texts(const BoundFunction& kernel, const BindingNames& names);

}  // namespace strata::compiler
