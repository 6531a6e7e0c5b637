#include "strata/buffer.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "backend/allocator.h"
#include "backend/pool.h"
#include "base/checked.h"

namespace strata {

std::string Device::to_string() const { return kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(index); }

Buffer Buffer::allocate(DType dtype, std::int64_t size) {
  const auto bytes = checked_mul(size, static_cast<std::int64_t>(size_of(dtype)));
  if (size < 0 || !bytes) throw OutOfMemory(-1);
  const auto n = static_cast<std::size_t>(*bytes);
  Buffer b;
  b.dtype = dtype;
  b.size = size;
  b.data = allocate_block(n);
  b.owner = std::shared_ptr<void>(b.data, [n](void* block) { release_block(block, n); });
  return b;
}

Buffer Buffer::filled(const Scalar& value, std::int64_t size) {
  if (value.same_bits(Scalar::zero(value.dtype))) return zeros(value.dtype, size);
  Buffer b = allocate(value.dtype, size);
  // One piece by doubling what is there, the others from it.
  constexpr std::int64_t piece = std::int64_t{64} << 10;
  const std::int64_t bytes = b.bytes(), first = std::min(bytes, piece);
  auto* to = static_cast<unsigned char*>(b.data);
  auto done = std::min(first, static_cast<std::int64_t>(size_of(value.dtype)));
  if (done > 0) std::memcpy(to, value.bits, static_cast<std::size_t>(done));
  for (; done < first; done += std::min(done, first - done))
    std::memcpy(to + done, to, static_cast<std::size_t>(std::min(done, first - done)));
  if (bytes > piece) parallel_for(ceil_div(bytes, piece) - 1, [&](std::int64_t c) {
    const std::int64_t at = (c + 1) * piece;
    std::memcpy(to + at, to, static_cast<std::size_t>(std::min(piece, bytes - at)));
  });
  return b;
}

Buffer Buffer::zeros(DType dtype, std::int64_t size) {
  Buffer b = allocate(dtype, size);
  constexpr std::int64_t chunk = std::int64_t{4} << 20;
  const std::int64_t bytes = b.bytes();
  parallel_for(ceil_div(bytes, chunk), [&](std::int64_t c) {
    std::memset(static_cast<char*>(b.data) + c * chunk, 0, static_cast<std::size_t>(std::min(chunk, bytes - c * chunk)));
  });
  return b;
}

Buffer Buffer::borrow(DType dtype, const void* data, std::int64_t size, std::shared_ptr<void> owner) {
  Buffer b;
  b.dtype = dtype;
  b.data = const_cast<void*>(data);
  b.size = size;
  b.owner = std::move(owner);
  return b;
}

namespace {

/// Calls f with a zero of the C++ type of an integer dtype (boolean: bool); false for any other.
template <class F> bool with_integer(DType t, F f) {
  switch (t) {
    case DType::i8: f(std::int8_t{}); return true;
    case DType::i16: f(std::int16_t{}); return true;
    case DType::i32: f(std::int32_t{}); return true;
    case DType::i64: f(std::int64_t{}); return true;
    case DType::u8: f(std::uint8_t{}); return true;
    case DType::u16: f(std::uint16_t{}); return true;
    case DType::u32: f(std::uint32_t{}); return true;
    case DType::u64: f(std::uint64_t{}); return true;
    default: return false;
  }
}

[[noreturn]] void not_an_index(DType t) {
  throw InternalError("a buffer of " + std::string(name_of(t)) + " was read as an index buffer");
}

}  // namespace

std::int64_t Buffer::index(std::int64_t i) const {
  std::int64_t value = 0;
  if (!with_integer(dtype, [&]<class T>(T entry) {
        std::memcpy(&entry, static_cast<const char*>(data) + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
        value = static_cast<std::int64_t>(entry);
      }))
    not_an_index(dtype);
  return value;
}

void Buffer::set_index(std::int64_t i, std::int64_t value) const {
  if (!with_integer(dtype, [&]<class T>(T) {
        const T entry = static_cast<T>(value);
        std::memcpy(static_cast<char*>(data) + i * static_cast<std::int64_t>(sizeof(T)), &entry, sizeof(T));
      }))
    not_an_index(dtype);
}

namespace {

constexpr std::int64_t cast_chunk = 1 << 16;

/// Elements that need rounding, saturation or complex parts go one at a time through Scalar, which says what a cast means.
void cast_by_scalar(const Buffer& from, const Buffer& to, std::int64_t begin, std::int64_t end) {
  const auto in = static_cast<std::int64_t>(size_of(from.dtype)), out = static_cast<std::int64_t>(size_of(to.dtype));
  for (std::int64_t i = begin; i < end; ++i)
    Scalar::load(from.dtype, static_cast<const char*>(from.data) + i * in).as(to.dtype).store(static_cast<char*>(to.data) + i * out);
}

/// True where every element fits; otherwise the caller starts again with cast_by_scalar.
template <class From, class To> bool cast_integers(const Buffer& from, const Buffer& to, std::int64_t begin, std::int64_t end) {
  const auto* in = static_cast<const From*>(from.data);
  auto* out = static_cast<To*>(to.data);
  bool lost = false;
  for (std::int64_t i = begin; i < end; ++i) {
    out[i] = static_cast<To>(in[i]);
    lost |= static_cast<From>(out[i]) != in[i] || (out[i] < To{}) != (in[i] < From{});
  }
  return !lost;
}

bool cast_fast(const Buffer& from, const Buffer& to, std::int64_t begin, std::int64_t end) {
  const auto n = end - begin;
  const auto convert = [&]<class From, class To>(From, To, auto f) {
    const auto* in = static_cast<const From*>(from.data) + begin;
    auto* out = static_cast<To*>(to.data) + begin;
    for (std::int64_t i = 0; i < n; ++i) out[i] = f(in[i]);
    return true;
  };
  const DType a = from.dtype, b = to.dtype;
  if (a == DType::f64 && b == DType::f32) return convert(double{}, float{}, [](double v) { return static_cast<float>(v); });
  if (a == DType::f32 && b == DType::f64) return convert(float{}, double{}, [](float v) { return static_cast<double>(v); });
  if (a == DType::f32 && b == DType::f16) return convert(float{}, std::uint16_t{}, f32_to_f16);
  if (a == DType::f16 && b == DType::f32) return convert(std::uint16_t{}, float{}, f16_to_f32);
  if (a == DType::f32 && b == DType::bf16) return convert(float{}, std::uint16_t{}, f32_to_bf16);
  if (a == DType::bf16 && b == DType::f32) return convert(std::uint16_t{}, float{}, bf16_to_f32);
  bool done = false;
  with_integer(a, [&]<class From>(From) {
    if (b == DType::f64 && sizeof(From) < 8)
      done = convert(From{}, double{}, [](From v) { return static_cast<double>(v); });
    else
      with_integer(b, [&]<class To>(To) { done = cast_integers<From, To>(from, to, begin, end); });
  });
  return done;
}

bool aligned(const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data) % std::min<std::size_t>(size_of(b.dtype), 8) == 0; }

}  // namespace

Buffer Buffer::cast(DType to) const {
  Buffer result = allocate(to, size);
  if (size == 0) return result;
  if (to == dtype) {
    std::memcpy(result.data, data, static_cast<std::size_t>(bytes()));
    return result;
  }
  const bool fast = aligned(*this);
  parallel_for(ceil_div(size, cast_chunk), [&](std::int64_t c) {
    const std::int64_t begin = c * cast_chunk, end = std::min(size, begin + cast_chunk);
    if (!fast || !cast_fast(*this, result, begin, end)) cast_by_scalar(*this, result, begin, end);
  });
  return result;
}

}  // namespace strata
