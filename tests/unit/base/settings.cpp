#include "strata/settings.h"

#include <doctest/doctest.h>

using namespace strata;

TEST_CASE("every setting is described with its variable") {
  const std::string text = describe_settings();
  for (const char* variable : {"STRATA_NUM_THREADS", "STRATA_ENGINE", "STRATA_JIT", "STRATA_CC", "STRATA_CACHE", "STRATA_CACHE_DIR", "STRATA_DUMP",
                               "STRATA_INT32_LIMIT", "STRATA_VENDOR"})
    CHECK(text.find(variable) != std::string::npos);
  CHECK(settings().int32_limit <= 2147483647);
}
