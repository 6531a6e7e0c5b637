typedef float f32;
typedef int i32;
typedef long long i64;
#pragma GCC diagnostic ignored "-Wpsabi"
typedef f32 f32x8 __attribute__((vector_size(32), aligned(4), may_alias));
#define PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define UNROLL(n) PRAGMA(clang loop unroll(full))
#else
#define UNROLL(n) PRAGMA(GCC unroll n)
#endif
#define HELPER static inline __attribute__((always_inline, unused))
HELPER f32x8 splat_f32x8(f32 x) {
  return (f32x8){x, x, x, x, x, x, x, x};
}
HELPER f32x8 fma_lanes_f32x8(f32x8 a, f32x8 b, f32x8 c) {
  f32x8 r = {0};
  UNROLL(8)
  for (i32 i = 0; i < 8; ++i) r[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return r;
}
HELPER f32x8 fma_f32x8(f32x8 a, f32x8 b, f32x8 c) {
#if __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#else
  return fma_lanes_f32x8(a, b, c);
#endif
}

static __attribute__((noinline)) i32 spmm_csr_loops(const i32* restrict pos, const i32* restrict crd,
    const f32* restrict val, const f32* restrict b, f32* restrict c, i64 begin, i64 end) {
  for (i64 i = begin; i < end; ++i) {
    f32x8 s0 = (f32x8){0};
    f32x8 s1 = (f32x8){0};
    const i64 p_stop = (i64)pos[i + 1];
    for (i64 p = (i64)pos[i]; p < p_stop; ++p) {
      const f32x8 v = splat_f32x8(val[p]);
      const i64 at = (i64)crd[p] * 16;
      s0 = fma_f32x8(v, *(const f32x8*)&b[at], s0);
      s1 = fma_f32x8(v, *(const f32x8*)&b[at + 8], s1);
    }
    *(f32x8*)&c[i * 16] = s0;
    *(f32x8*)&c[i * 16 + 8] = s1;
  }
  return 0;
}

i32 spmm_csr(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {
  (void)scalars;
  (void)chunk;
  return spmm_csr_loops(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], begin, end);
}
