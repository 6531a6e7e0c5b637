typedef double f64;
typedef int i32;
typedef long long i64;
typedef unsigned short u16;

static __attribute__((noinline)) i32 merge_dot_loops(const i32* restrict ca, const f64* restrict va,
    const u16* restrict cb, const f64* restrict vb, f64* restrict y, i64 na, i64 nb) {
  i64 a = 0;
  i64 b = 0;
  f64 s = 0.0;
  while (a < na) {
    const i64 ja = (i64)ca[a];
    while (b < nb && (i64)cb[b] < ja) {
      b = b + 1;
    }
    if (b < nb && (i64)cb[b] == ja) {
      s = __builtin_fma(va[a], vb[b], s);
    }
    a = a + 1;
  }
  y[0] = s;
  return 0;
}

i32 merge_dot(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {
  (void)begin;
  (void)end;
  (void)chunk;
  return merge_dot_loops(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], scalars[0], scalars[1]);
}
