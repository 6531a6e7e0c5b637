#pragma once
// The tables of hand-written loops of every instruction set that this machine has.
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/isa/isa.h"

namespace strata::kernels {

#if defined(__x86_64__)
namespace x86_64_v3 {
extern const LoopTable table;
}
namespace x86_64_v4 {
extern const LoopTable table;
}
#endif
namespace generic {
extern const LoopTable table;
}

inline std::vector<const LoopTable*> tables_here() {
  std::vector<const LoopTable*> out{&generic::table};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    out.push_back(&x86_64_v3::table);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq"))
    out.push_back(&x86_64_v4::table);
#endif
  return out;
}

/// Tests of every choice take one of n where STRATA_TEST_COUNT asks for a short run, as under the sanitizers.
inline int one_of(int n) { return std::getenv("STRATA_TEST_COUNT") ? n : 1; }

template <class V> const ValueLoops<V>& loops_of(const LoopTable& t) {
  if constexpr (sizeof(V) == 8) return t.f64;
  else return t.f32;
}

}  // namespace strata::kernels
