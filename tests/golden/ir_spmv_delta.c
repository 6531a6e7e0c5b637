typedef float f32;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned long long u64;
#define HELPER static inline __attribute__((always_inline, unused))
HELPER i64 load_packed(const void* p, i64 slot, i64 bits) {
  u64 word;
  __builtin_memcpy(&word, (const char*)p + (slot * bits >> 3), sizeof word);
  return (i64)(word >> (slot * bits & 7) & (((u64)1 << bits) - 1));
}

static __attribute__((noinline)) i32 spmv_delta_loops(const i32* restrict pos, const u8* restrict delta,
    const f32* restrict val, const f32* restrict x, f32* restrict y, i64 columns, i64 begin, i64 end) {
  for (i64 i = begin; i < end; ++i) {
    i64 j = -1;
    f32 s = 0.0f;
    const i64 p_stop = (i64)pos[i + 1];
    for (i64 p = (i64)pos[i]; p < p_stop; ++p) {
      j = j + load_packed(delta, p, 4) + 1;
      if (j >= columns) {
        return 7;
      }
      s = __builtin_fmaf(val[p], x[j], s);
    }
    y[i] = s;
  }
  return 0;
}

i32 spmv_delta(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {
  (void)chunk;
  return spmv_delta_loops(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], scalars[0], begin, end);
}
