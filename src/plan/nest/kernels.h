#pragma once
// Kernels of units, by structure.
#include <memory>

#include "compiler/merge.h"
#include "execute/executable.h"

namespace strata::direct {

struct NestKernel {
  merging::LoweredNest lowered;
  execution::Executable executable;
};

/// Lowers and compiles, or finds what was made before for an input of this structure.
std::shared_ptr<const NestKernel> kernel_for(const merging::Input& input);
/// Was its text compiled ahead of time?
bool is_ahead(const merging::Input& input);

}  // namespace strata::direct
