#pragma once
// Machine code that has been loaded, and the compilers that make it.
#include <memory>
#include <string>

#include "backend/kernel.h"

namespace strata {

/// Loaded code. Lives as long as any of its kernels.
class Module {
 public:
  virtual ~Module() = default;
  /// The function of this name; null and the reason where there is none.
  virtual KernelFunction find(const std::string& symbol, std::string& why) const = 0;
};
using ModulePtr = std::shared_ptr<const Module>;

/// A C compiler: text -> image (bytes that may go to disk) -> loaded code.
class Compiler {
 public:
  virtual ~Compiler() = default;
  /// "clang 19.1.7 (in process)".
  virtual std::string description() const = 0;
  /// Everything besides the text that decides about the image: compiler, flags, processor.
  virtual std::string identity() const = 0;
  /// Throws RuntimeFailure with the compiler's messages where it refuses the text.
  virtual std::string compile(const std::string& source) const = 0;
  /// A relocatable object for another processor of this architecture ("x86-64-v3"): for code compiled ahead of time.
  virtual std::string compile_for(const std::string& source, const std::string& cpu) const = 0;
  /// Throws RuntimeFailure where the image cannot be loaded.
  virtual ModulePtr load(const std::string& image) const = 0;
};
using CompilerPtr = std::shared_ptr<const Compiler>;

/// What looking for a compiler gave.
struct FoundCompiler {
  CompilerPtr compiler;  ///< null: none
  std::string why;       ///< ... for this reason
};

/// clang inside libstrata_jit.so; null, and the reason, where that library is not to be had. Loads it once.
CompilerPtr in_process_clang(std::string& why);
/// The machine's C compiler (or the one named, with its arguments, in `command`); null and the reason where none works.
CompilerPtr subprocess_compiler(const std::string& command, std::string& why);

/// A compiler's message with the numbered source below it.
std::string compile_error(const std::string& compiler, const std::string& messages, const std::string& source);

}  // namespace strata
