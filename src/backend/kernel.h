#pragma once
// What a compiled (or interpreted) kernel looks like from outside. Knows nothing of sparsity.
#include <cstdint>
#include <memory>
#include <string>

namespace strata {

/// Arguments of a kernel by position. The arrays belong to the caller.
struct KernelArgs {
  void* const* buffers = nullptr;
  const std::int64_t* scalars = nullptr;
};

/// The C signature of every compiled kernel; 0 is success.
using KernelFunction = std::int32_t (*)(void* const* buffers, const std::int64_t* scalars, std::int64_t begin,
                                        std::int64_t end, std::int64_t chunk);

/// Something that runs one chunk of work. Safe to call from several threads at once.
class Kernel {
 public:
  virtual ~Kernel() = default;
  /// Runs [begin, end). Returns 0, or the status that the kernel failed with.
  virtual std::int32_t run(const KernelArgs& args, std::int64_t begin, std::int64_t end, std::int64_t chunk) const = 0;
  /// "compiled", "interpreter", ...: for explain().
  virtual std::string engine() const = 0;
  /// The raw function where there is one (null for the interpreter): saves a virtual call per chunk.
  virtual KernelFunction function() const { return nullptr; }
};
using KernelPtr = std::shared_ptr<const Kernel>;

/// Compiles C text (emitted by src/compiler/emit) with the best compiler at hand: in-process clang, then a C compiler
/// in a subprocess, as settings().jit allows. Caches in memory and on disk. Null where no compiler is to be had (`why`
/// then says why); throws RuntimeFailure where a compiler refuses the text.
KernelPtr compile_c(const std::string& source, const std::string& symbol, std::string* why = nullptr);
/// Would compile_c() find this one compiled ahead of time?
bool is_compiled_ahead(const std::string& source, const std::string& symbol);
/// A kernel around a function that lives as long as the process (compiled ahead of time, or a user's own).
KernelPtr wrap_function(KernelFunction function, std::string engine);
/// Which compiler compile_c would use: "clang 19.1.7 (in process)", "cc (gcc 12.2)", or "none: <reason>".
std::string compiler_description();
/// Is there one?
bool has_compiler();
/// Kernels compiled ahead of time register here under "<text_hash(source)>.<symbol>"; compile_c looks here first,
/// unless settings().jit asks for one certain compiler.
void register_compiled(const char* text_hash_and_symbol, KernelFunction function);
/// SHA-256 of a text, in hexadecimal.
std::string text_hash(const std::string& source);

}  // namespace strata
