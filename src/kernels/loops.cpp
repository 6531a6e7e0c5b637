#include <unistd.h>

#include "kernels/isa/isa.h"
#include "machine/machine.h"
#include "strata/error.h"

namespace strata::kernels {

// What the build was told to hold (STRATA_ISA).
#ifdef STRATA_HAS_x86_64_v3
namespace x86_64_v3 {
extern const LoopTable table;
}
#endif
#ifdef STRATA_HAS_x86_64_v4
namespace x86_64_v4 {
extern const LoopTable table;
}
#endif
#ifdef STRATA_HAS_generic
namespace generic {
extern const LoopTable table;
}
#endif

static const LoopTable& choose() {
#ifdef STRATA_HAS_x86_64_v4
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    return x86_64_v4::table;
#endif
#ifdef STRATA_HAS_x86_64_v3
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    return x86_64_v3::table;
#endif
#ifdef STRATA_HAS_generic
  return generic::table;
#else
  throw Unsupported(
      {.what = "this build of Strata is for another machine: STRATA_ISA=host compiled loops for its processor alone",
       .expected = "the instruction set of the machine that it was built on",
       .fix = "build again with -DSTRATA_ISA=all, or here"});
#endif
}

// Three streams 8 KB ahead fill a first level of 32 KB before they are read: measured on Zen 4, where CSR times a
// vector is 5 to 17 % faster with 3 KB. Blocks of some KB are not (they have prefetch_blocks), and 48 KB hold both.
const i64 stream_ahead = machine().first_level <= 32 << 10 ? 3072 : 8192;

bool fast_gathers() { return machine().fast_gathers; }

const LoopTable& loops() {
  static const LoopTable& chosen = choose();
  return chosen;
}

}  // namespace strata::kernels
