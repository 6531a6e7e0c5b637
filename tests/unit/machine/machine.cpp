#include "machine/machine.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace strata;

TEST_CASE("machine: this one is one of those that were measured, with what was found") {
  const Machine& own = machine();
  CHECK(&own == &machine());
  std::set<std::string> kinds;
  for (const Machine& m : known_machines()) kinds.insert(m.kind);
  CHECK(kinds.size() == known_machines().size());
  CHECK(kinds.contains(own.kind));
  CHECK((own.vector_bytes == 16 || own.vector_bytes == 32 || own.vector_bytes == 64));
  CHECK(own.first_level >= 8 << 10);
  CHECK(own.second_level >= 512 << 10);
}

TEST_CASE("machine: a test may be on another one") {
  const Machine& own = machine();
  for (const Machine& m : known_machines()) {
    const testing::UseMachine use(m);
    CHECK(&machine() == &m);
  }
  CHECK(&machine() == &own);
}
