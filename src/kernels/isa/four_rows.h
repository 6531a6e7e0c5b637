#pragma once
// Four elements of either of two rows become up to eight of their sum, with AVX2: tables say what comes where.
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

#if defined(__AVX2__) && defined(__BMI2__) && !defined(__AVX512F__)

/// What comes to each of eight places: the next of four (0 to 3) where its bit is set, else of four others (4 to 7).
/// Then the same in halves of values of 8 bytes.
struct Orders {
  alignas(64) u8 of[256][8];
  u8 halves[256][16];
  constexpr Orders() : of{}, halves{} {
    for (int bits = 0; bits < 256; ++bits)
      for (int place = 0, taken = 0; place < 8; ++place) {
        const bool first = bits >> place & 1;
        const int from = first ? taken % 4 : 4 + (place - taken) % 4;
        taken += first;
        of[bits][place] = static_cast<u8>(from);
        halves[bits][2 * place] = static_cast<u8>(2 * from),
                         halves[bits][2 * place + 1] = static_cast<u8>(2 * from + 1);
      }
  }
};
/// The lanes of four whose bits are set, in order; then the same in halves.
struct Chosen {
  alignas(64) u8 of[16][4];
  u8 halves[16][8];
  constexpr Chosen() : of{}, halves{} {
    for (int bits = 0; bits < 16; ++bits)
      for (int lane = 0, n = 0; lane < 4; ++lane)
        if (bits >> lane & 1) {
          of[bits][n] = static_cast<u8>(lane);
          halves[bits][2 * n] = static_cast<u8>(2 * lane), halves[bits][2 * n + 1] = static_cast<u8>(2 * lane + 1);
          ++n;
        }
  }
};
inline constexpr Orders orders;
inline constexpr Chosen chosen_of;

using Keys = __m128i;

static inline Keys four_bytes(const u8* p) {
  i32 word;
  __builtin_memcpy(&word, p, 4);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(word));
}
static inline __m256i eight_bytes(const u8* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
static inline u32 bits_of(Keys lanes) { return static_cast<u32>(_mm_movemask_ps(_mm_castsi128_ps(lanes))); }
static inline Keys pick(Keys at, Keys k) { return _mm_castps_si128(_mm_permutevar_ps(_mm_castsi128_ps(k), at)); }

/// Four values.
template <class V> struct FourOf;

template <> struct FourOf<float> {
  using type = __m128;
  template <bool Near> static type load(Keys here, const float* p) {
    return Near ? _mm_maskload_ps(p, here) : _mm_loadu_ps(p);
  }
  static void store(float* p, type v) { _mm_storeu_ps(p, v); }
  static type where(Keys lanes, type v) { return _mm_and_ps(v, _mm_castsi128_ps(lanes)); }
  static type where_not(Keys lanes, type v) { return _mm_andnot_ps(_mm_castsi128_ps(lanes), v); }
  static type pick(Keys at, type v) { return _mm_permutevar_ps(v, at); }
  static type choose(u32 bits, type v) { return pick(four_bytes(chosen_of.of[bits]), v); }
  static void join(u32 places, type a, type b, float* out) {
    _mm256_storeu_ps(out, _mm256_permutevar8x32_ps(_mm256_set_m128(b, a), eight_bytes(orders.of[places])));
  }
};

template <> struct FourOf<double> {
  using type = __m256d;
  template <bool Near> static type load(Keys here, const double* p) {
    return Near ? _mm256_maskload_pd(p, _mm256_cvtepi32_epi64(here)) : _mm256_loadu_pd(p);
  }
  static void store(double* p, type v) { _mm256_storeu_pd(p, v); }
  static type where(Keys lanes, type v) { return _mm256_and_pd(v, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(lanes))); }
  static type where_not(Keys lanes, type v) {
    return _mm256_andnot_pd(_mm256_castsi256_pd(_mm256_cvtepi32_epi64(lanes)), v);
  }
  static type by_halves(__m256i at, type v) {
    return _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), at));
  }
  static type pick(Keys at, type v) {
    const __m256i low = _mm256_cvtepu32_epi64(_mm_add_epi32(at, at)),
                  high = _mm256_add_epi64(_mm256_slli_epi64(low, 32), _mm256_set1_epi64x(i64{1} << 32));
    return by_halves(_mm256_or_si256(low, high), v);
  }
  static type choose(u32 bits, type v) { return by_halves(eight_bytes(chosen_of.halves[bits]), v); }
  static type four(const u8* order, type a, type b) {
    const __m256i at = eight_bytes(order);  // of b's from 8 on
    return _mm256_castps_pd(_mm256_blendv_ps(_mm256_castpd_ps(by_halves(at, a)), _mm256_castpd_ps(by_halves(at, b)),
                                             _mm256_castsi256_ps(_mm256_slli_epi32(at, 28))));
  }
  static void join(u32 places, type a, type b, double* out) {
    store(out, four(orders.halves[places], a, b)), store(out + 4, four(orders.halves[places] + 8, a, b));
  }
};

#endif

}  // namespace strata::kernels::STRATA_ISA
