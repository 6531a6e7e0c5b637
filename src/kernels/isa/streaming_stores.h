#pragma once
#include "kernels/isa/vector.h"

namespace strata::kernels::STRATA_ISA {

/// Results that go past the caches: a core need not read the lines that it overwrites whole. Rows that follow each
/// other in memory are gathered here, wherever they begin, and leave by whole lines; only the first and the last line
/// are written the usual way.
template <class V> class StreamingStores {
 public:
  explicit StreamingStores(V* out) {
    const i64 lead = static_cast<i64>(reinterpret_cast<std::uintptr_t>(out) % 64);
    to_ = reinterpret_cast<char*>(out) - lead;
    lead_ = held_ = lead;
  }
  StreamingStores(const StreamingStores&) = delete;
  StreamingStores& operator=(const StreamingStores&) = delete;

  /// Where the next values are to be written.
  V* next() { return reinterpret_cast<V*>(lines_ + held_); }
  /// So many values were written there.
  void push(i64 values) {
    held_ += values * static_cast<i64>(sizeof(V));
    if (held_ >= 64) leave();
  }
  /// After the last one, before anyone reads.
  void finish() {
    leave();
    __builtin_memcpy(to_ + lead_, lines_ + lead_, static_cast<std::size_t>(held_ - lead_));
#if defined(__SSE2__)
    _mm_sfence();
#endif
  }

 private:
  void leave() {
    const i64 whole = held_ / 64 * 64;
    if (whole == 0) return;
    i64 at = 0;
    if (lead_ > 0) {
      __builtin_memcpy(to_ + lead_, lines_ + lead_, static_cast<std::size_t>(64 - lead_));
      lead_ = 0;
      at = 64;
    }
    for (; at < whole; at += 64) stream_line(to_ + at, lines_ + at);
    __builtin_memcpy(lines_, lines_ + whole, static_cast<std::size_t>(held_ - whole));
    to_ += whole;
    held_ -= whole;
  }
  static void stream_line(char* to, const char* from) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_load_si512(from));
#elif defined(__AVX__)
    for (int q = 0; q < 64; q += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + q),
                          _mm256_load_si256(reinterpret_cast<const __m256i*>(from + q)));
#elif defined(__SSE2__)
    for (int q = 0; q < 64; q += 16)
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + q), _mm_load_si128(reinterpret_cast<const __m128i*>(from + q)));
#else
    __builtin_memcpy(to, from, 64);
#endif
  }

  alignas(64) char lines_[most_streaming_bytes + 64];
  char* to_;  ///< where the first of the lines belongs
  i64 lead_;  ///< bytes of it that are not ours
  i64 held_;  ///< bytes in all, these included
};

}  // namespace strata::kernels::STRATA_ISA
