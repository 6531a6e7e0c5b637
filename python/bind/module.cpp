// The extension strata._core: one file per front door of the core.
#include "bind.h"
#include "evaluate.h"

// What the extension keeps (types, NumPy's objects, the thread that hears Ctrl-C) belongs to one interpreter: a second
// one that imported it would take it over. So the entry that nanobind writes is called from one of ours.
#define PyInit__core initialise
NB_MODULE(_core, m) {
  using namespace strata::bind;
  nb::set_leak_warnings(false);  // tensors in globals are nobody's bug
  m.doc() = "The core of Strata. Use `import strata`.";
  // What these make once is made before there are threads, one of which might fork while another makes it.
  static_cast<void>(strata::Tensor());
  static_cast<void>(strata::borrow_dense(strata::Buffer::zeros(strata::DType::f64, 1), {}, {}));
  bind_errors(m);
  bind_dtype(m);
  bind_memory(m);
  bind_format(m);
  bind_level(m);
  bind_tensor(m);
  bind_border(m);
  bind_convert(m);
  bind_build(m);
  bind_plan(m);
  bind_schedule(m);
  bind_evaluate(m);
  bind_matmul(m);
  bind_io(m);
  bind_draw(m);
  bind_structure(m);
  bind_solve(m);
  bind_settings(m);
  bind_attention(m);
  bind_torch_calls(m);
}
#undef PyInit__core

extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return initialise();
  PyErr_SetString(PyExc_ImportError,
                  "strata works in a process's main interpreter alone: import it there, or use processes");
  return nullptr;
}
