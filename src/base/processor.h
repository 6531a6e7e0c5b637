#pragma once

namespace strata {

/// Intel's processors from Sapphire Rapids on, as far as measured: gathers are faster than loads one by one (the ones
/// before are slowed down by what protects them from reading stale data, AMD's are sequences of micro-operations), and
/// a core's second level hands on what it drops to the third.
inline bool is_sapphire_rapids_or_later() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool is = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16");
  }();
  return is;
#else
  return false;
#endif
}

/// AMD's processors from Zen 4 on: those with AVX-512.
inline bool is_zen4_or_later() {
#if defined(__x86_64__) || defined(__i386__)
  static const bool is = [] {
    __builtin_cpu_init();
    return __builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f");
  }();
  return is;
#else
  return false;
#endif
}

/// Where rows of a dense operand are asked for by the order in which they are chosen (base/row_order.h): measured on
/// Zen 3, which stands for all others. On the two above it has not been measured.
inline bool asks_for_rows_by_order() { return !is_sapphire_rapids_or_later() && !is_zen4_or_later(); }

}  // namespace strata
