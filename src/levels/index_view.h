#pragma once
// Read-only views of index arrays of any integer width, and bit streams of packed coordinates.
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/checked.h"
#include "strata/buffer.h"
#include "strata/format.h"

namespace strata {

/// Calls f(T{}) with the C++ type of an index dtype.
template <class F> decltype(auto) with_index_type(DType t, F&& f) {
  switch (t) {
    case DType::i8: return f(std::int8_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i64: return f(std::int64_t{});
    case DType::u8: return f(std::uint8_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u64: return f(std::uint64_t{});
    default: throw InternalError("a buffer of " + std::string(name_of(t)) + " was read as an index buffer");
  }
}

template <class T> T load_as(const void* address) {
  T v;
  std::memcpy(&v, address, sizeof(T));  // borrowed memory may be unaligned
  return v;
}

/// An index array without its owner. u64 beyond INT64_MAX reads as negative, which every check refuses.
struct IndexView {
  DType dtype = DType::i64;
  const char* data = nullptr;
  std::int64_t size = 0;

  IndexView() = default;
  IndexView(const Buffer& b, std::int64_t first, std::int64_t count)
      : dtype(b.dtype),
        data(static_cast<const char*>(b.data) + first * static_cast<std::int64_t>(size_of(b.dtype))),
        size(count) {}
  explicit IndexView(const Buffer& b) : IndexView(b, 0, b.size) {}

  std::int64_t operator[](std::int64_t i) const {
    switch (dtype) {
      case DType::i32: return load_as<std::int32_t>(data + i * 4);
      case DType::i64:
      case DType::u64: return load_as<std::int64_t>(data + i * 8);
      case DType::u32: return load_as<std::uint32_t>(data + i * 4);
      case DType::i16: return load_as<std::int16_t>(data + i * 2);
      case DType::u16: return load_as<std::uint16_t>(data + i * 2);
      case DType::i8: return load_as<std::int8_t>(data + i);
      default: return load_as<std::uint8_t>(data + i);
    }
  }
  /// out[k] = entry begin + k, for k in [0, count).
  void read(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
    with_index_type(dtype, [&]<class T>(T) {
      const char* p = data + begin * static_cast<std::int64_t>(sizeof(T));
      for (std::int64_t k = 0; k < count; ++k)
        out[k] = static_cast<std::int64_t>(load_as<T>(p + k * static_cast<std::int64_t>(sizeof(T))));
    });
  }
};

/// The value that marks an unused padded slot, as operator[] reads it.
inline std::int64_t all_ones(DType t) {
  switch (t) {
    case DType::u8: return 0xFF;
    case DType::u16: return 0xFFFF;
    case DType::u32: return 0xFFFFFFFF;
    default: return -1;
  }
}

/// Bits per packed coordinate: delta(b) has b, structured as many as its group's largest coordinate needs. 0: not
/// packed.
constexpr int packed_bits(const Level& level, std::int64_t size) {
  if (level.kind == LevelKind::delta) return static_cast<int>(level.arg);
  if (level.kind == LevelKind::structured) return size <= 2 ? 1 : std::bit_width(static_cast<std::uint64_t>(size - 1));
  return 0;
}

/// Packed streams: entry s stands at bit s * bits, little-endian; 8 bytes of slack follow, so that a reader may load 8
/// at once.
constexpr std::int64_t packed_slack = 8;
constexpr std::int64_t packed_bytes(std::int64_t entries, int bits) {
  // Eight entries are `bits` bytes: no product of entries and bits that could wrap.
  return entries / 8 * bits + (entries % 8 * bits + 7) / 8;
}

/// Reads entry s; any bits up to 56 (wider ones may straddle 9 bytes and take the slow way).
inline std::int64_t unpack_one(const char* data, std::int64_t s, int bits) {
  const std::int64_t byte = s / 8 * bits + (s % 8) * bits / 8;
  const int shift = static_cast<int>((s % 8) * bits % 8);
  std::uint64_t word = load_as<std::uint64_t>(data + byte) >> shift;
  if (shift + bits > 64) word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(data[byte + 8])) << (64 - shift);
  return static_cast<std::int64_t>(bits == 64 ? word : word & ((std::uint64_t{1} << bits) - 1));
}
/// ORs entry s into a stream of zeros.
inline void pack_one(char* data, std::int64_t s, int bits, std::int64_t value) {
  const std::int64_t byte = s / 8 * bits + (s % 8) * bits / 8;
  const int shift = static_cast<int>((s % 8) * bits % 8);
  std::uint64_t word = load_as<std::uint64_t>(data + byte);
  word |= static_cast<std::uint64_t>(value) << shift;
  std::memcpy(data + byte, &word, 8);
  if (shift + bits > 64)
    data[byte + 8] =
        static_cast<char>(data[byte + 8] | static_cast<char>(static_cast<std::uint64_t>(value) >> (64 - shift)));
}

/// Words of a bitmap row of `size` coordinates.
constexpr std::int64_t bitmap_words(std::int64_t size) { return size / 64 + (size % 64 != 0); }

}  // namespace strata
