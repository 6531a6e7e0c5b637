#include "machine/machine.h"

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace strata {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;

// float32 in a core's own caches is as on Zen 4 everywhere. Four doubles are two vectors of AVX2 and take two masks,
// and a core that waits for the vector has time for wrong guesses.
constexpr RowCosts waits_for_nothing{.masked = 5, .end = 4, .wrong = 20, .over = 40};
constexpr RowCosts waiting{.masked = 5, .end = 1, .wrong = 12, .over = 12};
constexpr RowCosts doubles{.masked = 9, .end = 2, .wrong = 30, .over = 30};
constexpr RowCosts doubles_waiting{.masked = 9, .end = 4, .wrong = 12, .over = 12};
constexpr RowCosts with_singles(RowCosts c, std::int64_t singles) {
  c.singles = singles;
  return c;
}

const Machine known[] = {
    // Granite and Emerald Rapids. Gathers of the processors before are slowed down by what protects them from reading
    // stale data. A core's second level hands on what it drops to the third. SDDMM with rows 16 ahead is 5 to 20 %
    // faster;
    // along diagonals by order 1.1 to 1.4 times as fast as so. Other orders: not measured.
    {.kind = "Intel from Sapphire Rapids on",
     .rows_by_order = ByOrder::along,
     .scattered_bytes = far_bytes,
     .scattered_anywhere = false,
     .rows_ahead = 16,
     .rows_second_level = false,
     .rows_near = -1,
     .fast_gathers = true,
     .vector_bytes_far = far_bytes,
     .vector_bytes_of_short_rows = far_bytes,
     .vector_second_level = false,
     .streamed_bytes = 0,
     .row_costs = {{waits_for_nothing, waiting}, {doubles, doubles_waiting}}},
    // Zen 4. The second level waits for so many more lines at a time than the first: 100,000 rows of 256 to 1024 bytes
    // take 0.45 to 0.7 of the time, a vector of 1.4 to 32 MB 0.55 to 0.95 (into the first 0.8 to 1.1; one that the
    // second
    // level holds 1.05 to 1.25). SDDMM with rows 64 ahead there: beside the first, 8 ahead, 1.1 to 1.25 times as fast
    // without an order, 1.4 in blocks, level in bands. Gathers are sequences of micro-operations. By order: not
    // measured.
    {.kind = "AMD from Zen 4 on",
     .rows_by_order = ByOrder::never,
     .scattered_bytes = far_bytes,
     .scattered_anywhere = true,
     .rows_ahead = 64,
     .rows_second_level = true,
     .rows_near = 32,
     .fast_gathers = false,
     .vector_bytes_far = 0,
     .vector_bytes_of_short_rows = 0,
     .vector_second_level = true,
     .streamed_bytes = 16 * mebibyte,
     .row_costs = {{waits_for_nothing, waits_for_nothing}, {waits_for_nothing, waits_for_nothing}}},
    // Zen 3. By order, 16 to 64 columns of float32, one and two threads, beside 24 elements ahead into the first level:
    // 0.65 to 0.85 of the time along diagonals, 0.6 to 0.96 in steps, 0.7 to 1 with 64 columns in no order. A vector of
    // 0.8 to 4 MB: 0.65 to 1.05, where rows have eight elements of float32 or fewer 1.1 to 1.25. A matrix in a third
    // level: 0.9 to 1.05, and 0.7 to 0.85 where neighbours use that level too. Rows of 9 or 10
    // elements one by one: 0.75 to 0.95 of the time, of 24 1.1.
    {.kind = "all others, as AMD's Zen 3",
     .rows_by_order = ByOrder::always,
     .scattered_bytes = 0,
     .scattered_anywhere = false,
     .rows_ahead = 64,
     .rows_second_level = true,
     .rows_near = 32,
     .fast_gathers = false,
     .vector_bytes_far = 0,
     .vector_bytes_of_short_rows = far_bytes,
     .vector_second_level = true,
     .streamed_bytes = 6 * mebibyte,
     .row_costs = {{with_singles(waits_for_nothing, 5), with_singles(waiting, 4)},
                   {with_singles(doubles, 5), with_singles(doubles_waiting, 4)}}},
};

/// Sapphire, Emerald and Granite Rapids: a virtual machine may hide their newer instructions.
bool is_rapids() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__builtin_cpu_is("intel") || !__get_cpuid(1, &a, &b, &c, &d) || (a >> 8 & 15) != 6) return false;
  const unsigned model = (a >> 4 & 15) | (a >> 12 & 0xf0);
  return model == 143 || model == 207 || model == 173 || model == 174;
#else
  return false;
#endif
}

std::size_t own_kind() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (is_rapids() || (__builtin_cpu_is("intel") && __builtin_cpu_supports("avx512fp16"))) return 0;
  if (__builtin_cpu_is("amd") && __builtin_cpu_supports("avx512f")) return 1;
#endif
  return 2;
}

int own_vector_bytes() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    return 64;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return 32;
#endif
  return 16;
}

Machine found() {
  Machine m = known[own_kind()];
  m.vector_bytes = own_vector_bytes();
  if (const long first = sysconf(_SC_LEVEL1_DCACHE_SIZE); first > 0) m.first_level = first;  // 0 or -1: not known
  m.second_level = std::max<std::int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), m.second_level);
  return m;
}

const Machine* current() {
  static const Machine own = found();
  return &own;
}

const Machine* used = nullptr;

}  // namespace

const Machine& machine() { return used ? *used : *current(); }

std::span<const Machine> known_machines() { return known; }

namespace testing {
UseMachine::UseMachine(const Machine& one) : before_(std::exchange(used, &one)) {}
UseMachine::~UseMachine() { used = before_; }
}  // namespace testing

}  // namespace strata
