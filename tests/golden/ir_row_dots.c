typedef double f64;
typedef int i32;
typedef long long i64;
#pragma GCC diagnostic ignored "-Wpsabi"
typedef f64 f64x4 __attribute__((vector_size(32), aligned(8), may_alias));
typedef i64 i64x4 __attribute__((vector_size(32), aligned(8), may_alias));
#ifdef __clang__
#define SHUFFLE(type, mask, a, ...) __builtin_shufflevector(a, a, __VA_ARGS__)
#else
#define SHUFFLE(type, mask, a, ...) __builtin_shuffle(a, (mask){__VA_ARGS__})
#endif
#define PRAGMA(text) _Pragma(#text)
#ifdef __clang__
#define UNROLL(n) PRAGMA(clang loop unroll(full))
#else
#define UNROLL(n) PRAGMA(GCC unroll n)
#endif
#define HELPER static inline __attribute__((always_inline, unused))
HELPER f64x4 fma_lanes_f64x4(f64x4 a, f64x4 b, f64x4 c) {
  f64x4 r = {0};
  UNROLL(4)
  for (i32 i = 0; i < 4; ++i) r[i] = __builtin_fma(a[i], b[i], c[i]);
  return r;
}
HELPER f64x4 fma_f64x4(f64x4 a, f64x4 b, f64x4 c) {
#if __has_builtin(__builtin_elementwise_fma)
  return __builtin_elementwise_fma(a, b, c);
#else
  return fma_lanes_f64x4(a, b, c);
#endif
}
HELPER f64 reduce_add_f64x4(f64x4 a) {
  f64x4 b;
  b = SHUFFLE(f64x4, i64x4, a, 2, 3, 0, 1);
  a = a + b;
  b = SHUFFLE(f64x4, i64x4, a, 1, 2, 3, 0);
  a = a + b;
  return a[0];
}

static __attribute__((noinline)) i32 row_dots_loops(const f64* restrict a, const f64* restrict x, f64* restrict y,
    i64 n, i64 begin, i64 end) {
  for (i64 i = begin; i < end; ++i) {
    f64x4 s = (f64x4){0};
    const i64 whole = (n >> 2) * 4;
    for (i64 k = 0; k < whole; k += 4) {
      s = fma_f64x4(*(const f64x4*)&a[i * n + k], *(const f64x4*)&x[k], s);
    }
    f64 t = reduce_add_f64x4(s);
    for (i64 k = whole; k < n; ++k) {
      t = t + a[i * n + k] * x[k];
    }
    UNROLL(2)
    for (i64 u = 0; u < 2; ++u) {
      t = t * 0.5;
    }
    y[i] = t;
  }
  return 0;
}

i32 row_dots(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {
  (void)chunk;
  return row_dots_loops(buffers[0], buffers[1], buffers[2], scalars[0], begin, end);
}
