// The extension strata._core: one file per front door of the core.
#include "bind.h"
#include "evaluate.h"

NB_MODULE(_core, m) {
  using namespace strata::bind;
  nb::set_leak_warnings(false);  // tensors in globals are nobody's bug
  m.doc() = "The core of Strata. Use `import strata`.";
  bind_errors(m);
  bind_dtype(m);
  bind_memory(m);
  bind_format(m);
  bind_tensor(m);
  bind_border(m);
  bind_convert(m);
  bind_plan(m);
  bind_schedule(m);
  bind_evaluate(m);
  bind_matmul(m);
  bind_io(m);
  bind_structure(m);
  bind_settings(m);
}
