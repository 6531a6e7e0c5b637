typedef int i32;
typedef long long i64;
typedef unsigned u32;
typedef unsigned long long u64;
#define HELPER static inline __attribute__((always_inline, unused))
HELPER void or_packed(u64* p, i64 slot, i64 bits, u64 v) {
  const i64 at = slot * bits, shift = at & 63;
  __atomic_fetch_or(&p[at >> 6], v << shift, __ATOMIC_RELAXED);
  if (shift + bits > 64) __atomic_fetch_or(&p[(at >> 6) + 1], v >> (64 - shift), __ATOMIC_RELAXED);
}

static __attribute__((noinline)) i32 pack_loops(const i64* restrict from, u64* restrict to, u32* restrict words,
    i64 begin, i64 end) {
  for (i64 i = begin; i < end; ++i) {
    or_packed(to, i, 4, (u64)(from[i]));
    __atomic_fetch_or(&words[i >> 5], (u32)1 << ((u32)i & 31), __ATOMIC_RELAXED);
  }
  return 0;
}

i32 pack(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {
  (void)scalars;
  (void)chunk;
  return pack_loops(buffers[0], buffers[1], buffers[2], begin, end);
}
