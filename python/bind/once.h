#pragma once
// Python objects that are found once and kept as long as the process (never released: no destructor may run after the
// interpreter is gone). Safe without a GIL: what stands in the slot never changes again. No lock, and no C++ static
// with a guard, as finding an object runs Python, which may switch threads and come back here.
#include <atomic>

#include "bind.h"

namespace strata::bind {

/// The object in `slot`; where it is empty, what `find` returns is put there, unless another thread was faster.
template <class Find>
nb::handle once(std::atomic<PyObject*>& slot, Find find) {
  if (PyObject* known = slot.load(std::memory_order_acquire)) return known;
  nb::object found = find();
  PyObject* before = nullptr;
  if (slot.compare_exchange_strong(before, found.ptr(), std::memory_order_acq_rel)) return found.release();
  return before;
}

}  // namespace strata::bind
