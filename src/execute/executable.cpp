#include "execute/executable.h"

#include <atomic>
#include <chrono>
#include <cstdio>

#include "backend/backend.h"
#include "ir/interpret.h"
#include "strata/error.h"
#include "strata/settings.h"

namespace strata::execution {
namespace {

void say_once(const std::string& text) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) std::fprintf(stderr, "strata: %s\n", text.c_str());
}

/// A compiler's complaint may have several lines; explain() has one for it.
std::string one_line(const std::string& text) {
  std::string out;
  for (char c : text.substr(0, 300)) {
    const bool blank = c == '\n' || c == ' ';
    if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace

void dump(const char* stage, const std::string& text) {
  const std::string& wanted = settings().dump;
  if (!wanted.empty() && ("," + wanted + ",").find(std::string(",") + stage + ",") != std::string::npos)
    std::fprintf(stderr, "--- %s ---\n%s\n", stage, text.c_str());
}

Executable make_executable(const ir::Function& f, const std::string& source) {
  Executable k;
  dump("loops", ir::to_string(f));
  dump("source", source);
  std::string why;
  if (settings().engine != "interpreter") {
    const auto start = std::chrono::steady_clock::now();
    try {
      k.kernel = compile_c(source, f.name, &why);
    } catch (const RuntimeFailure& e) { why = e.what(); }
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (k.kernel) {
      char took[32];
      std::snprintf(took, sizeof took, ", ready in %.1f ms", ms);
      k.engine = k.kernel->engine() + took;
    } else {
      why = one_line(why);
      if (settings().jit == "off")
        say_once("compiling is switched off (STRATA_JIT=off): plans run in the interpreter, which is right but slow");
      else
        say_once("no compiled kernels (" + why +
                 "): plans run in the interpreter, which is right but slow. Install gcc or clang, or set STRATA_CC.");
    }
  }
  if (!k.kernel) {
    k.kernel = ir::interpret(f);
    k.engine = k.kernel->engine() + (why.empty() ? "" : " (" + why + ")");
  }
  k.function = k.kernel->function();
  return k;
}

std::int32_t Executable::launch(void* const* buffers, const std::int64_t* scalars, std::int64_t begin, std::int64_t end,
                                std::int64_t chunk) const {
  return backend().launch(*kernel, {buffers, scalars}, begin, end, chunk);
}

void Executable::call(void* const* buffers, const std::int64_t* scalars, std::int64_t begin, std::int64_t end,
                      std::int64_t chunk) const {
  const std::int32_t status = launch(buffers, scalars, begin, end, chunk);
  if (status != 0) throw InternalError("a generated kernel failed with status " + std::to_string(status));
}

}  // namespace strata::execution
