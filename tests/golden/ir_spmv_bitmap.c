typedef double f64;
typedef int i32;
typedef long long i64;
typedef unsigned long long u64;
#define HELPER static inline __attribute__((always_inline, unused))
HELPER i64 popcount_u64(u64 a) {
  return __builtin_popcountll((u64)a);
}
HELPER i64 count_trailing_zeros_u64(u64 a) {
  return a == 0 ? 64 : __builtin_ctzll((u64)a);
}

static __attribute__((noinline)) i32 spmv_bitmap_loops(const u64* restrict words, const f64* restrict val,
    const f64* restrict x, f64* restrict y, i64* restrict count, i64 n, i64 begin, i64 end) {
  for (i64 i = begin; i < end; ++i) {
    f64 s = 0.0;
    i64 seen = 0;
    for (i64 g = 0; g < n; ++g) {
      u64 bits = words[i * n + g];
      seen = seen + popcount_u64(bits);
      while (bits != 0) {
        const i64 j = g * 64 + count_trailing_zeros_u64(bits);
        s = s + val[i * n * 64 + j] * x[j];
        bits = bits & (bits - 1);
      }
    }
    y[i] = s;
    count[i] = seen;
  }
  return 0;
}

i32 spmv_bitmap(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {
  (void)chunk;
  return spmv_bitmap_loops(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], scalars[0], begin, end);
}
