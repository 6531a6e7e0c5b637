typedef double f64;
typedef int i32;
typedef long long i64;
#define PREFETCH(p, bytes, write) __builtin_prefetch((const void*)((unsigned long long)(p) + (unsigned long long)(bytes)), write)

static __attribute__((noinline)) i32 spmv_csr_loops(const i64* restrict pos, const i32* restrict crd,
    const f64* restrict val, const f64* restrict x, f64* restrict y, i64 begin, i64 end) {
  for (i64 i = begin; i < end; ++i) {
    f64 s = 0.0;
    const i64 p_stop = pos[i + 1];
    for (i64 p = pos[i]; p < p_stop; ++p) {
      PREFETCH(crd, (p + 1024) * 4, 0);
      s = __builtin_fma(val[p], x[(i64)crd[p]], s);
    }
    y[i] = s;
  }
  return 0;
}

i32 spmv_csr(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {
  (void)scalars;
  (void)chunk;
  return spmv_csr_loops(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], begin, end);
}
