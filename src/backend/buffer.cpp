#include "strata/buffer.h"

#include <algorithm>
#include <complex>
#include <limits>
#include <new>
#include <type_traits>

#include "backend/allocator.h"
#include "backend/own_memory.h"
#include "backend/pool.h"
#include "base/checked.h"
#include "base/small_float.h"

namespace strata {

std::string Device::to_string() const { return kind == DeviceKind::cpu ? "cpu" : "cuda:" + std::to_string(index); }

namespace {
struct ReleaseBlock {
  std::size_t bytes;
  void operator()(void* block) const noexcept { release_block(block, bytes); }
};
}  // namespace

void Buffer::require(DType asked) const {
  const bool bits = is_small_float(dtype) && asked == (size_of(dtype) == 2 ? DType::u16 : DType::u8);
  if (asked == dtype || bits) return;
  throw DTypeError({.what = "these elements have another type",
                    .expected = std::string(name_of(dtype)),
                    .got = std::string(name_of(asked)),
                    .fix = "ask for " + std::string(name_of(dtype)) + ", or cast() first"});
}

bool is_own(const Buffer& b) { return std::get_deleter<ReleaseBlock>(b.owner) != nullptr; }

Buffer Buffer::allocate(DType dtype, std::int64_t size) {
  const auto bytes = checked_mul(size, static_cast<std::int64_t>(size_of(dtype)));
  if (size < 0 || !bytes) throw OutOfMemory(-1);
  const auto n = static_cast<std::size_t>(*bytes);
  Buffer b;
  b.dtype = dtype;
  b.size = size;
  b.data = allocate_block(n);
  b.owner = std::shared_ptr<void>(b.data, ReleaseBlock{n});
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
  if (bytes > piece)
    parallel_for(ceil_div(bytes, piece) - 1, [&](std::int64_t c) {
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
    std::memset(static_cast<char*>(b.data) + c * chunk, 0,
                static_cast<std::size_t>(std::min(chunk, bytes - c * chunk)));
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

/// Elements that need rounding, saturation or complex parts go one at a time through Scalar, which says what a cast
/// means.
void cast_by_scalar(const Buffer& from, const Buffer& to, std::int64_t begin, std::int64_t end) {
  const auto in = static_cast<std::int64_t>(size_of(from.dtype)), out = static_cast<std::int64_t>(size_of(to.dtype));
  for (std::int64_t i = begin; i < end; ++i)
    Scalar::load(from.dtype, static_cast<const char*>(from.data) + i * in)
        .as(to.dtype)
        .store(static_cast<char*>(to.data) + i * out);
}

/// The same for those that the machine converts as Scalar does, in a loop of vectors; false where one is of the others
/// (integers get no NaN and nothing beyond their range), and cast_by_scalar starts again.
template <class From, class To> bool cast_machine(const Buffer& from, const Buffer& to, std::int64_t begin,
                                                  std::int64_t end) {
  const auto* in = static_cast<const From*>(from.data);
  auto* out = static_cast<To*>(to.data);
  bool others = false;
  for (std::int64_t i = begin; i < end; ++i) {
    if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
      constexpr auto least = static_cast<double>(std::numeric_limits<To>::min()),
                     most = 2.0 * static_cast<double>(To{1} << (std::numeric_limits<To>::digits - 1));
      const bool fits = in[i] >= least && in[i] < most;
      out[i] = static_cast<To>(fits ? in[i] : From{});
      others |= !fits;
    } else {
      out[i] = static_cast<To>(in[i]);
    }
  }
  return !others;
}

/// Calls f with a zero of the C++ type of a dtype that the machine computes with (boolean is none); false for any
/// other.
template <class F> bool with_machine(DType t, F f) {
  if (t == DType::f64) return f(double{}), true;
  if (t == DType::f32) return f(float{}), true;
  return with_integer(t, f);
}

bool cast_fast(const Buffer& from, const Buffer& to, std::int64_t begin, std::int64_t end) {
  const auto convert = [&]<class From, class To>(From, To, auto f) {
    const auto* in = static_cast<const From*>(from.data);
    auto* out = static_cast<To*>(to.data);
    for (std::int64_t i = begin; i < end; ++i) out[i] = f(in[i]);
    return true;
  };
  const DType a = from.dtype, b = to.dtype;
  const auto many = [&]<class From, class To>(void (*f)(const From*, To*, std::int64_t)) {
    f(static_cast<const From*>(from.data) + begin, static_cast<To*>(to.data) + begin, end - begin);
    return true;
  };
  if (a == DType::f32 && b == DType::f16) return many.operator()<float, std::uint16_t>(f32_to_f16);
  if (a == DType::f16 && b == DType::f32) return many.operator()<std::uint16_t, float>(f16_to_f32);
  if (a == DType::f32 && b == DType::bf16) return many.operator()<float, std::uint16_t>(f32_to_bf16);
  if (a == DType::bf16 && b == DType::f32) return many.operator()<std::uint16_t, float>(bf16_to_f32);
  if (a == DType::c64 && b == DType::c128)
    return convert(std::complex<float>{}, std::complex<double>{}, [](auto v) { return std::complex<double>(v); });
  if (a == DType::c128 && b == DType::c64)
    return convert(std::complex<double>{}, std::complex<float>{}, [](auto v) { return std::complex<float>(v); });
  bool done = false;
  if (a == DType::boolean)
    return with_machine(b,
                        [&]<class To>(To zero) {
                          done = convert(std::uint8_t{}, zero, [](std::uint8_t v) { return static_cast<To>(v != 0); });
                        }) &&
           done;
  if (b == DType::boolean)
    return with_machine(a,
                        [&]<class From>(From zero) {
                          done =
                              convert(zero, std::uint8_t{}, [](From v) { return static_cast<std::uint8_t>(v != 0); });
                        }) &&
           done;
  with_machine(a, [&]<class From>(From) {
    with_machine(b, [&]<class To>(To) { done = cast_machine<From, To>(from, to, begin, end); });
  });
  return done;
}

bool aligned(const Buffer& b) {
  return reinterpret_cast<std::uintptr_t>(b.data) % std::min<std::size_t>(size_of(b.dtype), 8) == 0;
}

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
