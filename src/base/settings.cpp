#include "strata/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <span>
#include <string_view>

#include "base/setting_words.h"
#include "strata/error.h"

namespace strata {
namespace {

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

[[noreturn]] void refuse(const char* name, std::string_view value, std::string expected) {
  throw Error({.what = std::string("the environment variable ") + name + " has no meaning",
               .expected = std::move(expected),
               .got = std::string(value),
               .fix = std::string("unset ") + name + " or give it one of these values"});
}

void read_word(std::string& setting, const char* name, std::span<const std::string_view> allowed) {
  const auto value = environment(name);
  if (value.empty()) return;
  if (!words::holds(allowed, value)) refuse(name, value, words::list(allowed));
  setting = value;
}

void read_words(std::string& setting, const char* name, std::span<const std::string_view> allowed) {
  const auto value = environment(name);
  if (!words::holds_all(allowed, value)) refuse(name, value, words::list(allowed) + ", or several with commas between");
  setting = value;
}

void read_text(std::string& setting, const char* name) {
  if (const auto value = environment(name); !value.empty()) setting = value;
}

template <class Int> void read_int(Int& setting, const char* name, Int least, Int most) {
  const auto value = environment(name);
  if (value.empty()) return;
  Int n = 0;
  const auto r = std::from_chars(value.data(), value.data() + value.size(), n);
  if (r.ec != std::errc() || r.ptr != value.data() + value.size() || n < least || n > most)
    refuse(name, value, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  setting = n;
}

}  // namespace

Settings settings_from_environment() {
  Settings s;
  read_int(s.threads, "STRATA_NUM_THREADS", 0, words::most_threads);
  read_word(s.engine, "STRATA_ENGINE", words::engine);
  read_word(s.jit, "STRATA_JIT", words::jit);
  read_text(s.cc, "STRATA_CC");
  read_word(s.cache, "STRATA_CACHE", words::cache);
  if (const auto base = environment("XDG_CACHE_HOME"); !base.empty() && base[0] == '/')
    s.cache_dir = std::string(base) + "/strata/v1";
  else if (const auto home = environment("HOME"); !home.empty() && home[0] == '/')
    s.cache_dir = std::string(home) + "/.cache/strata/v1";
  read_text(s.cache_dir, "STRATA_CACHE_DIR");
  read_words(s.dump, "STRATA_DUMP", words::dump);
  read_int(s.int32_limit, "STRATA_INT32_LIMIT", 0LL, words::most_int32);
  int vendor = s.vendor;
  read_int(vendor, "STRATA_VENDOR", 0, 1);
  s.vendor = vendor != 0;
  return s;
}

Settings& settings() {
  static Settings s = settings_from_environment();
  return s;
}

std::string describe_settings() {
  const Settings& s = settings();
  const struct {
    const char* name;
    std::string value;
    const char* variable;
    const char* meaning;
  } rows[] = {
      {"threads", std::to_string(s.threads), "STRATA_NUM_THREADS",
       "threads of the pool; 0: the cores that this process may use"},
      {"engine", s.engine, "STRATA_ENGINE", "auto, kernels, vendor, jit, interpreter: which engine runs a plan"},
      {"jit", s.jit, "STRATA_JIT", "auto, clang, subprocess, off: which compiler serves at run time"},
      {"cc", s.cc, "STRATA_CC", "C compiler of the subprocess back end; empty: look for cc, gcc, clang, ziglang"},
      {"cache", s.cache, "STRATA_CACHE", "auto, off: keep compiled objects on disk"},
      {"cache_dir", s.cache_dir, "STRATA_CACHE_DIR", "where compiled objects are kept"},
      {"dump", s.dump, "STRATA_DUMP", "stages to print: graph, schedule, loops, source, with commas between"},
      {"int32_limit", std::to_string(s.int32_limit), "STRATA_INT32_LIMIT", "largest value of an automatic int32 index"},
      {"vendor", s.vendor ? "1" : "0", "STRATA_VENDOR", "1, 0: may plans use vendor kernels"},
      {"-", std::string(environment("STRATA_MKL")), "STRATA_MKL",
       "MKL's libmkl_rt.so or its folder; empty: look around; off: never"},
  };
  std::size_t value_width = 0;
  for (const auto& r : rows) value_width = std::max(value_width, r.value.size());
  const auto pad = [](std::string text, std::size_t width) {
    text.resize(std::max(text.size(), width), ' ');
    return text;
  };
  std::string out;
  for (const auto& r : rows)
    out += pad(r.name, 12) + "  " + pad(r.value, value_width) + "  " + pad(r.variable, 19) + "  " + r.meaning + "\n";
  return out;
}

}  // namespace strata
