// Who may touch Python when: the GIL across our calls, and the end of the interpreter.
#include <cxxabi.h>
#include <unistd.h>

#include "bind.h"

namespace strata::bind {
namespace {

bool finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

[[noreturn]] void sleep_until_the_end() {
  for (;;) pause();
}

}  // namespace

NoGil::~NoGil() {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) { sleep_until_the_end(); }
}

Gil::Gil() {
  if (!nb::is_alive() || finalizing()) {
    // The thread that finalizes still runs Python; all others would be ended while they wait.
    if (!nb::is_alive() || !PyGILState_Check()) return;
  }
  try {
    state_ = PyGILState_Ensure();
    held_ = true;
  } catch (abi::__forced_unwind&) { sleep_until_the_end(); }
}

Gil::~Gil() {
  if (held_) PyGILState_Release(state_);
}

}  // namespace strata::bind
