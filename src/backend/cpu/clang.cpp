// The in-process compiler: opens libstrata_jit.so at the first use and calls it through its C interface.
#include <dlfcn.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <vector>

#include "backend/compile_gate.h"
#include "backend/cpu/jit_library/strata_jit.h"
#include "backend/module.h"
#include "backend/stack.h"
#include "strata/error.h"

namespace strata {
namespace {

constexpr std::size_t compilers_stack = std::size_t{4} << 20;  ///< bytes that LLVM gets at least

struct JitLibrary {
  decltype(&strata_jit_version) version = nullptr;
  decltype(&strata_jit_target) target = nullptr;
  decltype(&strata_jit_compile) compile = nullptr;
  decltype(&strata_jit_load) load = nullptr;
  decltype(&strata_jit_find) find = nullptr;
  decltype(&strata_jit_release) release = nullptr;
  decltype(&strata_jit_free) free = nullptr;

  /// Takes over a message of the library.
  std::string take(char* text) const {
    std::string copy = text ? text : "no message";
    free(text);
    return copy;
  }
};

class ClangModule final : public Module {
 public:
  ClangModule(const JitLibrary& library, void* handle) : library_(library), handle_(handle) {}
  ClangModule(const ClangModule&) = delete;
  ClangModule& operator=(const ClangModule&) = delete;
  ~ClangModule() override {
    const CompileGate::Pass pass;
    try {
      with_stack(compilers_stack, [this] { library_.release(handle_); });
    } catch (const std::bad_alloc&) {}  // no thread for it: the code stays
  }
  KernelFunction find(const std::string& symbol, std::string& why) const override {
    char* error = nullptr;
    void* address = nullptr;
    with_stack(compilers_stack, [&] { address = library_.find(handle_, symbol.c_str(), &error); });
    if (!address) why = library_.take(error);
    return reinterpret_cast<KernelFunction>(address);
  }

 private:
  const JitLibrary& library_;
  void* handle_;
};

class Clang final : public Compiler {
 public:
  explicit Clang(const JitLibrary& library) : library_(library) {}
  std::string description() const override { return std::string(library_.version()) + " (in process)"; }
  std::string identity() const override {
    std::string target;
    with_stack(compilers_stack, [&] { target = library_.target(); });  // LLVM starts here
    return std::string(library_.version()) + " " + target;
  }
  std::string compile(const std::string& source) const override { return compile_with(source, nullptr); }
  std::string compile_for(const std::string& source, const std::string& cpu) const override {
    return compile_with(source, cpu.c_str());
  }
  std::string compile_with(const std::string& source, const char* cpu) const {
    char *object = nullptr, *error = nullptr;
    std::size_t size = 0;
    int failed = 0;
    with_stack(compilers_stack,
               [&] { failed = library_.compile(source.c_str(), "kernel.c", cpu, &object, &size, &error); });
    if (failed != 0) throw RuntimeFailure(compile_error(description(), library_.take(error), source));
    std::string image(object, size);
    library_.free(object);
    return image;
  }
  ModulePtr load(const std::string& image) const override {
    void* handle = nullptr;
    char* error = nullptr;
    int failed = 0;
    with_stack(compilers_stack, [&] { failed = library_.load(image.data(), image.size(), &handle, &error); });
    if (failed != 0) throw RuntimeFailure("a compiled kernel cannot be linked: " + library_.take(error));
    return std::make_shared<ClangModule>(library_, handle);
  }

 private:
  const JitLibrary library_;
};

/// The folder of the file that this code was loaded from: a shared library, a Python extension or a program.
std::string own_folder() {
  Dl_info info{};
  std::string path;
  if (dladdr(reinterpret_cast<void*>(&in_process_clang), &info) && info.dli_fname) path = info.dli_fname;
  char resolved[PATH_MAX];
  if (path.find('/') == std::string::npos || !realpath(path.c_str(), resolved))
    if (!realpath("/proc/self/exe", resolved)) return "";  // a program's own name may be relative to a folder it left
  path = resolved;
  return path.substr(0, path.rfind('/'));
}

std::vector<std::string> places() {
  if (const char* named = secure_getenv("STRATA_JIT_LIBRARY"); named && *named) return {named};
  std::vector<std::string> all;
  if (const std::string folder = own_folder(); !folder.empty())
    for (const char* below : {"/", "/strata/", "/../lib/", "/../lib/strata/", "/../" STRATA_LIBDIR "/"})
      all.push_back(folder + below + "libstrata_jit.so");
  return all;
}

std::optional<JitLibrary> open_library(std::string& why) {
  why = "libstrata_jit.so was not found beside this library (built without LLVM?)";
  for (const std::string& path : places()) {
    if (access(path.c_str(), R_OK) != 0) {
      if (secure_getenv("STRATA_JIT_LIBRARY")) why = path + " (STRATA_JIT_LIBRARY) cannot be read";
      continue;
    }
    // Local and bound at once: its symbols serve nobody else.
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      why = dlerror();
      continue;
    }
    const auto abi = reinterpret_cast<decltype(&strata_jit_abi)>(dlsym(handle, "strata_jit_abi"));
    if (!abi || abi() != STRATA_JIT_ABI) {
      why = path + " belongs to another version of Strata";
      dlclose(handle);
      continue;
    }
    JitLibrary l;
    const auto get = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    if (get(l.version, "strata_jit_version") && get(l.target, "strata_jit_target") &&
        get(l.compile, "strata_jit_compile") && get(l.load, "strata_jit_load") && get(l.find, "strata_jit_find") &&
        get(l.release, "strata_jit_release") && get(l.free, "strata_jit_free"))
      return l;
    why = path + " lacks a function";
  }
  return std::nullopt;
}

}  // namespace

CompilerPtr in_process_clang(std::string& why) {
  // Never freed: kernels may be released by destructors that run at exit.
  static const FoundCompiler* found = [] {
    auto* f = new FoundCompiler;
    if (const auto library = open_library(f->why)) f->compiler = std::make_shared<Clang>(*library);
    return f;
  }();
  if (!found->compiler) why = found->why;
  return found->compiler;
}

}  // namespace strata
