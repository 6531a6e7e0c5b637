#pragma once
// Loop IR made executable: compiled where a compiler is to be had, otherwise interpreted.
#include <string>

#include "backend/kernel.h"
#include "ir/ir.h"

namespace strata::execution {

struct Executable {
  KernelPtr kernel;
  KernelFunction function = nullptr;  ///< null: call the kernel
  std::string engine;                 ///< for explain()

  /// Runs one chunk; the kernel's status.
  std::int32_t launch(void* const* buffers, const std::int64_t* scalars, std::int64_t begin, std::int64_t end,
                      std::int64_t chunk) const;
  /// ... InternalError where it is not 0.
  void call(void* const* buffers, const std::int64_t* scalars, std::int64_t begin, std::int64_t end,
            std::int64_t chunk) const;
};

/// `source`: emit_c(f). Dumps loops and source where settings().dump asks for them.
Executable make_executable(const ir::Function& f, const std::string& source);
/// To stderr, where settings().dump names this stage.
void dump(const char* stage, const std::string& text);

}  // namespace strata::execution
