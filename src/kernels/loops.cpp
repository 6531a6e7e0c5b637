#include "base/processor.h"
#include "kernels/isa/isa.h"

namespace strata::kernels {

#ifdef STRATA_X86
namespace x86_64_v3 { extern const LoopTable table; }
namespace x86_64_v4 { extern const LoopTable table; }
#endif
namespace generic { extern const LoopTable table; }

static const LoopTable& choose() {
#ifdef STRATA_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    return x86_64_v4::table;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return x86_64_v3::table;
#endif
  return generic::table;
}

bool fast_gathers() { return is_sapphire_rapids_or_later(); }

const LoopTable& loops() {
  static const LoopTable& chosen = choose();
  return chosen;
}

}  // namespace strata::kernels
