#pragma once
// Sources that another thread writes to while they are read. What is found may be any consistent tensor, so a pass that
// fills never goes beyond what the pass before it has counted, and says where it does not find as much.
#include "tensor/tensor_impl.h"

namespace strata {

/// Thrown by such a pass, and seen by nobody outside: who started both takes a copy of the source.
struct SourceChanged {};

/// f(t); where t changes meanwhile, f of a copy of it.
template <class F> auto while_it_changes(const Tensor& t, const F& f) {
  try {
    return f(t);
  } catch (const SourceChanged&) {}
  const Tensor own = own_copy(t);
  own.validate();
  return f(own);
}

}  // namespace strata
