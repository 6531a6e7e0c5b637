#pragma once
// Names and parameters of the function under construction.
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/binding.h"

namespace strata::compiler {

/// Gives out identifiers; no two are equal.
class Names {
 public:
  std::string fresh(const std::string& stem) {
    for (;;) {
      int& n = count_[stem];
      std::string name = n == 0 ? stem : stem + "_" + std::to_string(n);
      ++n;
      if (used_.insert(name).second) return name;
    }
  }

 private:
  std::map<std::string, int> count_;
  std::set<std::string> used_ = {"begin", "end", "chunk"};
};

/// Buffer and scalar parameters, each bound once, in order of first use.
class Params {
 public:
  explicit Params(Names& names) : names_(names) {}

  int buffer(const BufferBinding& binding, const std::string& name, DType dtype, int packed_bits = 0,
             bool written = false) {
    for (std::size_t k = 0; k < bindings_.size(); ++k)
      if (bindings_[k] == binding) return static_cast<int>(k);
    bindings_.push_back(binding);
    buffers_.push_back({names_.fresh(name), dtype, packed_bits, written});
    return static_cast<int>(bindings_.size()) - 1;
  }
  /// A copy: what stands beside it in a call may add a parameter.
  ir::BufferParam param(int buffer) const { return buffers_[static_cast<std::size_t>(buffer)]; }

  ir::Expr scalar(const ScalarBinding& binding, const std::string& name) {
    for (std::size_t k = 0; k < scalars_.size(); ++k)
      if (scalars_[k] == binding) return ir::scalar_param(scalar_names_[k]);
    scalars_.push_back(binding);
    scalar_names_.push_back(names_.fresh(name));
    return ir::scalar_param(scalar_names_.back());
  }

  /// The kernel of these statements.
  BoundFunction kernel(ir::Stmt body) const {
    return {{"kernel", buffers_, scalar_names_, std::move(body)}, bindings_, scalars_};
  }

 private:
  Names& names_;
  std::vector<BufferBinding> bindings_;
  std::vector<ir::BufferParam> buffers_;
  std::vector<ScalarBinding> scalars_;
  std::vector<std::string> scalar_names_;
};

}  // namespace strata::compiler
