#include "compiler/lower.h"
#include "machine/machine.h"

namespace strata {

Target host_target() {
  const Machine& m = machine();
  return {.vector_bytes = m.vector_bytes,
          .rows_ahead = m.rows_ahead,
          .rows_second_level = m.rows_second_level,
          .rows_near = m.rows_near};
}

}  // namespace strata
