#pragma once
// What compiled kernels may call: C's memory and math functions and the helpers that compilers call on their own.
// Kernels never see the rest of the process, so a text cannot reach anything else.
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

// Calls that the code generator inserts where the processor lacks an instruction (from libgcc, linked statically).
extern "C" {
float __extendhfsf2(_Float16);
_Float16 __truncsfhf2(float);
_Float16 __truncdfhf2(double);
int __popcountdi2(long);
__int128 __divti3(__int128, __int128);
__int128 __modti3(__int128, __int128);
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
}

inline std::vector<std::pair<const char*, void*>> kernel_symbols() {
#define STRATA_PLAIN(name) {#name, reinterpret_cast<void*>(&name)}
#define STRATA_ONE(name)                                                          \
  {#name, reinterpret_cast<void*>(static_cast<double (*)(double)>(&::name))}, {   \
    #name "f", reinterpret_cast<void*>(static_cast<float (*)(float)>(&::name##f)) \
  }
#define STRATA_TWO(name)                                                                 \
  {#name, reinterpret_cast<void*>(static_cast<double (*)(double, double)>(&::name))}, {  \
    #name "f", reinterpret_cast<void*>(static_cast<float (*)(float, float)>(&::name##f)) \
  }
  return {
      {"memset", reinterpret_cast<void*>(&::memset)},
      {"memcpy", reinterpret_cast<void*>(&::memcpy)},
      {"memmove", reinterpret_cast<void*>(&::memmove)},
      {"memcmp", reinterpret_cast<void*>(&::memcmp)},
      {"bcmp", reinterpret_cast<void*>(&::memcmp)},
      STRATA_ONE(exp),
      STRATA_ONE(exp2),
      STRATA_ONE(expm1),
      STRATA_ONE(log),
      STRATA_ONE(log2),
      STRATA_ONE(log10),
      STRATA_ONE(log1p),
      STRATA_ONE(sin),
      STRATA_ONE(cos),
      STRATA_ONE(tan),
      STRATA_ONE(asin),
      STRATA_ONE(acos),
      STRATA_ONE(atan),
      STRATA_ONE(sinh),
      STRATA_ONE(cosh),
      STRATA_ONE(tanh),
      STRATA_ONE(asinh),
      STRATA_ONE(acosh),
      STRATA_ONE(atanh),
      STRATA_ONE(erf),
      STRATA_ONE(erfc),
      STRATA_ONE(tgamma),
      STRATA_ONE(lgamma),
      STRATA_ONE(sqrt),
      STRATA_ONE(cbrt),
      STRATA_ONE(floor),
      STRATA_ONE(ceil),
      STRATA_ONE(trunc),
      STRATA_ONE(round),
      STRATA_ONE(rint),
      STRATA_ONE(nearbyint),
      STRATA_ONE(fabs),
      STRATA_TWO(pow),
      STRATA_TWO(fmod),
      STRATA_TWO(atan2),
      STRATA_TWO(hypot),
      STRATA_TWO(fmin),
      STRATA_TWO(fmax),
      STRATA_TWO(copysign),
      {"sincos", reinterpret_cast<void*>(&::sincos)},
      {"sincosf", reinterpret_cast<void*>(&::sincosf)},  // sin and cos of the same value
      {"ldexp", reinterpret_cast<void*>(static_cast<double (*)(double, int)>(&::ldexp))},
      {"ldexpf", reinterpret_cast<void*>(static_cast<float (*)(float, int)>(&::ldexpf))},
      {"exp10", reinterpret_cast<void*>(static_cast<double (*)(double)>(&::exp10))},
      {"exp10f", reinterpret_cast<void*>(static_cast<float (*)(float)>(&::exp10f))},
      {"fma", reinterpret_cast<void*>(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", reinterpret_cast<void*>(static_cast<float (*)(float, float, float)>(&::fmaf))},
      STRATA_PLAIN(__extendhfsf2),
      STRATA_PLAIN(__truncsfhf2),
      STRATA_PLAIN(__truncdfhf2),
      STRATA_PLAIN(__popcountdi2),
      STRATA_PLAIN(__divti3),
      STRATA_PLAIN(__modti3),
      STRATA_PLAIN(__udivti3),
      STRATA_PLAIN(__umodti3),
  };
#undef STRATA_PLAIN
#undef STRATA_ONE
#undef STRATA_TWO
}
