#pragma once
// What beside types decides which kernel a plan takes.
#include <string>

#include "machine/machine.h"
#include "plan/user_kernels.h"
#include "strata/settings.h"

namespace strata::planning {

struct Epoch {
  std::string engine, jit, cc;
  bool vendor = true;
  unsigned long long generation = 0;  ///< of the users' kernels
  const Machine* machine = nullptr;
  bool operator==(const Epoch&) const = default;

  static Epoch now() {
    const Settings& s = settings();
    return {s.engine, s.jit, s.cc, s.vendor, user_kernel_generation(), &strata::machine()};
  }
  /// Would now() be the same? Copies nothing.
  bool is_now() const {
    const Settings& s = settings();
    return engine == s.engine && jit == s.jit && cc == s.cc && vendor == s.vendor &&
           generation == user_kernel_generation() && machine == &strata::machine();
  }
};

}  // namespace strata::planning
