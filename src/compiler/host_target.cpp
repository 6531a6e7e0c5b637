#include "compiler/lower.h"

namespace strata {

Target host_target() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")) return {64};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {32};
#endif
  return {16};
}

}  // namespace strata
