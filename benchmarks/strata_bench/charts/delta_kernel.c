// y = alpha * A x + beta * y for A in delta(4), of float32 or float16: see delta_kernel.py.
//
// Sixteen slots at a time: their distances are eight bytes, columns are the running sums of distance + 1, and the
// elements of x are gathered. The sum of a row's last slots is masked, so that no row needs pads at its end: the idea
// of MACKO (Macko, Boza, "Sparse Matrix-Vector Multiplication for Low Sparsity", 2025) with the change that the blog on
// the universal sparse tensor made.
#include <stdint.h>
#include <string.h>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

typedef _Float16 half;

static inline float value_at(const void* values, int64_t s, int is_half) {
  return is_half ? (float)((const half*)values)[s] : ((const float*)values)[s];
}

/// Distance of slot s: four bits, the lower half of a byte first.
static inline int distance(const uint8_t* crd, int64_t s) { return (crd[s >> 1] >> (4 * (s & 1))) & 15; }

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__) && defined(__BMI2__)

/// Running sums of sixteen distances, which lie in eight bytes. Spread to a byte each, eight are summed by one
/// multiplication; the sum of the first eight is carried into the ninth. No sum exceeds 240.
static inline __m512i running_sums(const uint8_t* bytes) {
  const uint64_t one_each = 0x0101010101010101, low = 0x0f0f0f0f0f0f0f0f;
  uint64_t packed;
  memcpy(&packed, bytes, sizeof packed);
  const uint64_t first = _pdep_u64(packed, low) * one_each;
  const uint64_t second = (_pdep_u64(packed >> 32, low) + (first >> 56)) * one_each;
  return _mm512_cvtepu8_epi32(_mm_set_epi64x((int64_t)second, (int64_t)first));
}

static inline __attribute__((always_inline)) float row(const uint8_t* crd, const void* values, const float* x,
                                                       int64_t s, int64_t end, int is_half) {
  const __m512i steps = _mm512_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16);
  const __m512i last = _mm512_set1_epi32(15);
  float first = 0;
  int column = -1;
  if ((s & 1) && s < end) {  // up to a whole byte
    column += 1 + distance(crd, s);
    first = value_at(values, s, is_half) * x[column];
    ++s;
  }
  __m512 sum = _mm512_setzero_ps();
  __m512i before = _mm512_add_epi32(_mm512_set1_epi32(column), steps);
  for (; s + 16 <= end; s += 16) {
    const __m512i at = _mm512_add_epi32(before, running_sums(crd + (s >> 1)));
    const __m512 v = is_half ? _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)((const half*)values + s)))
                             : _mm512_loadu_ps((const float*)values + s);
    sum = _mm512_fmadd_ps(v, _mm512_i32gather_ps(at, x, 4), sum);
    before = _mm512_add_epi32(_mm512_permutexvar_epi32(last, at), steps);
  }
  if (s < end) {  // the row's last slots, masked
    const __mmask16 there = (__mmask16)((1u << (end - s)) - 1);
    const __m512i at = _mm512_add_epi32(before, running_sums(crd + (s >> 1)));
    const __m512 v = is_half ? _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(there, (const half*)values + s))
                             : _mm512_maskz_loadu_ps(there, (const float*)values + s);
    sum = _mm512_fmadd_ps(v, _mm512_mask_i32gather_ps(_mm512_setzero_ps(), there, at, x, 4), sum);
  }
  return first + _mm512_reduce_add_ps(sum);
}

#else

static inline __attribute__((always_inline)) float row(const uint8_t* crd, const void* values, const float* x,
                                                       int64_t s, int64_t end, int is_half) {
  int column = -1;
  float sum = 0;
#if defined(__AVX2__) && defined(__F16C__) && defined(__FMA__)
  if ((s & 1) && s < end) {
    column += 1 + distance(crd, s);
    sum = value_at(values, s, is_half) * x[column];
    ++s;
  }
  const __m256i steps = _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 8);
  const __m128i low = _mm_set1_epi8(15);
  __m256 sums = _mm256_setzero_ps();
  for (; s + 8 <= end; s += 8) {
    int32_t bytes;
    memcpy(&bytes, crd + (s >> 1), sizeof bytes);
    const __m128i packed = _mm_cvtsi32_si128(bytes);
    __m128i d = _mm_unpacklo_epi8(_mm_and_si128(packed, low), _mm_and_si128(_mm_srli_epi16(packed, 4), low));
    d = _mm_add_epi8(d, _mm_slli_si128(d, 1));
    d = _mm_add_epi8(d, _mm_slli_si128(d, 2));
    d = _mm_add_epi8(d, _mm_slli_si128(d, 4));
    const __m256i at = _mm256_add_epi32(_mm256_add_epi32(_mm256_cvtepu8_epi32(d), steps), _mm256_set1_epi32(column));
    const __m256 v = is_half ? _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)((const half*)values + s)))
                             : _mm256_loadu_ps((const float*)values + s);
    sums = _mm256_fmadd_ps(v, _mm256_i32gather_ps(x, at, 4), sums);
    column += 8 + _mm_extract_epi8(d, 7);
  }
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(sums), _mm256_extractf128_ps(sums, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  sum += _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
#endif
  for (; s < end; ++s) {
    column += 1 + distance(crd, s);
    sum += value_at(values, s, is_half) * x[column];
  }
  return sum;
}

#endif

/// x is float32 in both; y has the dtype of the values.
void delta_float32(const int32_t* pos, const uint8_t* crd, const float* values, const float* x, float* y, int64_t rows,
                   double alpha, double beta, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t i = 0; i < rows; ++i) {
    const float sum = (float)alpha * row(crd, values, x, pos[i], pos[i + 1], 0);
    y[i] = beta == 0 ? sum : sum + (float)beta * y[i];
  }
}

void delta_float16(const int32_t* pos, const uint8_t* crd, const half* values, const float* x, half* y, int64_t rows,
                   double alpha, double beta, int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
  for (int64_t i = 0; i < rows; ++i) {
    const float sum = (float)alpha * row(crd, values, x, pos[i], pos[i + 1], 1);
    y[i] = (half)(beta == 0 ? sum : sum + (float)beta * (float)y[i]);
  }
}
