#include "strata/settings.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "strata/error.h"

using namespace strata;

TEST_CASE("every setting is described with its variable") {
  const std::string text = describe_settings();
  for (const char* variable : {"STRATA_NUM_THREADS", "STRATA_ENGINE", "STRATA_JIT", "STRATA_CC", "STRATA_CACHE",
                               "STRATA_CACHE_DIR", "STRATA_DUMP", "STRATA_INT32_LIMIT", "STRATA_VENDOR", "STRATA_MKL"})
    CHECK(text.find(variable) != std::string::npos);
  CHECK(settings().int32_limit <= 2147483647);
}

namespace {
/// Sets a variable for as long as it lives.
struct Variable {
  const char* name;
  std::string old;
  bool was_set;
  Variable(const char* variable, const char* value) : name(variable), was_set(std::getenv(variable) != nullptr) {
    if (was_set) old = std::getenv(variable);
    setenv(variable, value, 1);
  }
  ~Variable() {
    if (was_set) setenv(name, old.c_str(), 1);
    else unsetenv(name);
  }
  Variable(const Variable&) = delete;
};
}  // namespace

TEST_CASE("settings are read from the environment, and nonsense is refused") {
  {
    const Variable threads("STRATA_NUM_THREADS", "7"), engine("STRATA_ENGINE", "interpreter"),
        vendor("STRATA_VENDOR", "0"), limit("STRATA_INT32_LIMIT", "10"), cache("STRATA_CACHE_DIR", "/somewhere");
    const Settings s = settings_from_environment();
    CHECK(s.threads == 7);
    CHECK(s.engine == "interpreter");
    CHECK_FALSE(s.vendor);
    CHECK(s.int32_limit == 10);
    CHECK(s.cache_dir == "/somewhere");
    CHECK(s.jit == settings().jit);
  }
  const auto refused = [](const char* name, const char* value) {
    const Variable v(name, value);
    try {
      settings_from_environment();
      FAIL("accepted " << name << "=" << value);
    } catch (const Error& e) {
      CHECK(e.problem().what.find(name) != std::string::npos);
      CHECK(e.problem().got == value);
    }
  };
  refused("STRATA_NUM_THREADS", "many");
  refused("STRATA_NUM_THREADS", "-1");
  refused("STRATA_NUM_THREADS", "2x");
  refused("STRATA_NUM_THREADS", "99999999999999999999");
  refused("STRATA_ENGINE", "fast");
  refused("STRATA_JIT", "gcc");
  refused("STRATA_DUMP", "graph,lops");
  refused("STRATA_DUMP", "graph,");
  refused("STRATA_CACHE", "on");
  refused("STRATA_VENDOR", "2");
  refused("STRATA_INT32_LIMIT", "-5");
}
