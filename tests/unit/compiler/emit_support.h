#pragma once
// Compiles emitted text with the machine's compilers and runs it beside the interpreter.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "backend/kernel.h"
#include "compiler/emit/emit_c.h"
#include "ir/interpret.h"

namespace emit_test {

using namespace strata;

/// The C compilers of this machine that the text must suit.
inline std::vector<std::string> compilers() {
  static const std::vector<std::string> found = [] {
    std::vector<std::string> all;
    for (const char* name : {"gcc", "clang-19", "clang", "cc"})
      if ((all.empty() || std::string(name) != "cc") && !(all.size() == 2 && std::string(name) == "clang") &&
          std::system(("command -v " + std::string(name) + " >/dev/null 2>&1").c_str()) == 0)
        all.push_back(name);
    return all;
  }();
  return found;
}

/// Kernels from several texts, compiled at once without a warning.
class Library {
 public:
  Library(const std::string& compiler, const std::vector<std::string>& texts,
          const std::string& flags = "-O2 -march=native") {
    folder_ = (std::filesystem::temp_directory_path() / "strata-emit-XXXXXX").string();
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
    std::string files;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string file = folder_ + "/k" + std::to_string(i) + ".c";
      std::ofstream(file) << texts[i];
      files += " " + file;
    }
    const std::string log = folder_ + "/log";
    // Of the machine, not of the text: clang 19 says so wherever the processor has AVX10.
    const std::string machine = " -Wno-unknown-warning-option -Wno-invalid-feature-combination";
    const std::string command = compiler + " -std=gnu17 -Wall -Wextra -Werror" + machine +
                                " -ffp-contract=off -fwrapv -fno-math-errno -fPIC -shared " + flags + " -o " + folder_ +
                                "/k.so" + files + " -lm 2>" + log;
    const int status = std::system(command.c_str());
    std::ifstream in(log);
    std::ostringstream messages;
    messages << in.rdbuf();
    INFO(compiler << " says:\n" << messages.str().substr(0, 4000));
    REQUIRE(status == 0);
    CHECK(messages.str().empty());
    handle_ = dlopen((folder_ + "/k.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(handle_ != nullptr, dlerror());
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle_) dlclose(handle_);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  KernelFunction find(const std::string& name) const {
    return reinterpret_cast<KernelFunction>(dlsym(handle_, name.c_str()));
  }

 private:
  std::string folder_;
  void* handle_ = nullptr;
};

/// The bytes of a buffer, aligned to 64, with some slack.
struct Bytes {
  struct alignas(64) Line {
    unsigned char bytes[64] = {};
  };
  std::vector<Line> lines;

  Bytes() = default;
  explicit Bytes(std::size_t n) : lines(n / 64 + 2) {}
  template <class T> static Bytes of(const std::vector<T>& values) {
    Bytes b(values.size() * sizeof(T));
    std::memcpy(b.data(), values.data(), values.size() * sizeof(T));
    return b;
  }
  void* data() { return lines.data(); }
  template <class T> T& at(std::size_t i) { return static_cast<T*>(data())[i]; }
};

/// Equal bits, or two NaNs (payload and sign of a NaN are nobody's promise).
inline bool same_element(DType t, const void* a, const void* b) {
  if (std::memcmp(a, b, size_of(t)) == 0) return true;
  return is_float(t) && std::isnan(Scalar::load(t, a).to_double()) && std::isnan(Scalar::load(t, b).to_double());
}

/// A function with its arguments.
struct Case {
  ir::Function f;
  std::vector<Bytes> buffers;
  std::vector<std::size_t> counts;  ///< elements of written buffers to compare
  std::vector<std::int64_t> scalars;
  std::int64_t begin = 0, end = 0;
};

/// Calls go with copies of the buffers.
inline std::int32_t run(const Case& c, std::vector<Bytes>& buffers,
                        const std::function<std::int32_t(void* const*, const std::int64_t*)>& go) {
  buffers = c.buffers;
  std::vector<void*> pointers;
  for (auto& b : buffers) pointers.push_back(b.data());
  return go(pointers.data(), c.scalars.data());
}

/// Runs the interpreter and the compiled function; every element of every written buffer must agree.
inline void check_agree(const Case& c, KernelFunction compiled, const std::string& who) {
  REQUIRE((compiled != nullptr));
  std::vector<Bytes> expected, got;
  const auto kernel = ir::interpret(c.f);
  const auto a =
      run(c, expected, [&](void* const* b, const std::int64_t* s) { return kernel->run({b, s}, c.begin, c.end, 0); });
  const auto b = run(c, got, [&](void* const* p, const std::int64_t* s) { return compiled(p, s, c.begin, c.end, 0); });
  INFO(who << "\n" << ir::to_string(c.f));
  CHECK(a == b);
  for (std::size_t i = 0; i < c.f.buffers.size(); ++i) {
    if (!c.f.buffers[i].written) continue;
    const DType t = c.f.buffers[i].packed_bits ? DType::u64 : c.f.buffers[i].dtype;
    const auto* x = static_cast<const char*>(expected[i].data());
    const auto* y = static_cast<const char*>(got[i].data());
    for (std::size_t k = 0; k < c.counts[i]; ++k) {
      const void *p = x + k * size_of(t), *q = y + k * size_of(t);
      if (!same_element(t, p, q)) {
        FAIL_CHECK(c.f.buffers[i].name << "[" << k << "]: interpreter " << Scalar::load(t, p).to_string()
                                       << ", compiled " << Scalar::load(t, q).to_string());
        return;
      }
    }
  }
}

}  // namespace emit_test
