#pragma once
// A typed span of memory with an owner.
#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "strata/dtype.h"
#include "strata/error.h"

namespace strata {

/// Where memory lives.
enum class DeviceKind : std::uint8_t { cpu, cuda };
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int index = 0;
  bool operator==(const Device&) const = default;
  std::string to_string() const;  ///< "cpu", "cuda:0"
};

/// A typed, contiguous span. The owner keeps foreign memory alive (a DLPack capsule, a Python object, a mapped file)
/// and may be empty for memory that the caller promises to keep. A buffer may be larger than what a tensor uses of it.
struct Buffer {
  DType dtype = DType::f64;
  void* data = nullptr;
  std::int64_t size = 0;  ///< elements of dtype
  std::shared_ptr<void> owner;
  bool read_only = false;
  Device device;

  bool empty() const { return size == 0; }
  std::int64_t bytes() const { return size * static_cast<std::int64_t>(size_of(dtype)); }
  /// The elements. DTypeError where T is another type than theirs; f16 and bf16, which C++ lacks, are read as
  /// std::uint16_t, fp8 as std::uint8_t.
  template <class T> std::span<T> as() const {
    require(dtype_of<std::remove_const_t<T>>());
    return {static_cast<T*>(data), static_cast<std::size_t>(size)};
  }

  /// Fresh memory, aligned to 64 bytes (2 MB and huge pages where it is large); not initialised.
  /// Throws std::bad_alloc, also where size times width overflows.
  static Buffer allocate(DType dtype, std::int64_t size);
  static Buffer zeros(DType dtype, std::int64_t size);
  /// `size` times this value.
  static Buffer filled(const Scalar& value, std::int64_t size);
  /// Borrow the caller's memory; `owner` is released when the last user is gone.
  static Buffer borrow(DType dtype, const void* data, std::int64_t size, std::shared_ptr<void> owner = {});
  template <class T> static Buffer borrow(std::span<const T> data, std::shared_ptr<void> owner = {}) {
    return borrow(dtype_of<T>(), data.data(), static_cast<std::int64_t>(data.size()), std::move(owner));
  }
  /// What is borrowed must live on: own() takes over a vector that nobody else keeps.
  template <class T> static Buffer borrow(std::vector<T>&& data, std::shared_ptr<void> owner = {}) = delete;
  template <class T> static Buffer own(std::vector<T>&& data) {
    auto kept = std::make_shared<std::vector<T>>(std::move(data));
    return borrow(std::span<const T>(*kept), kept);
  }
  template <class T> static Buffer copy_of(std::span<const T> data) {
    Buffer b = allocate(dtype_of<T>(), static_cast<std::int64_t>(data.size()));
    if (!data.empty()) std::memcpy(b.data, data.data(), data.size_bytes());
    return b;
  }
  /// Entry `i` of an index buffer as int64 (u64 beyond INT64_MAX: negative, which every check refuses).
  std::int64_t index(std::int64_t i) const;
  void set_index(std::int64_t i, std::int64_t value) const;
  /// A copy whose elements have another dtype (as Scalar::as, without its boxing).
  Buffer cast(DType to) const;

 private:
  void require(DType asked) const;
};

/// An array as an argument: vectors, spans and lists of numbers are copied, a vector that is moved in is taken over, a
/// Buffer stays what it is. Nothing dangles.
struct Array {
  Array(Buffer b) : buffer(std::move(b)) {}
  template <class T> Array(std::vector<T>&& v) : buffer(Buffer::own(std::move(v))) {}
  template <class T> Array(const std::vector<T>& v) : Array(std::span<const T>(v)) {}
  template <class T, std::size_t N> Array(std::span<T, N> v)
      : buffer(Buffer::copy_of(std::span<const std::remove_const_t<T>>(v))) {}
  template <class T, std::size_t N> Array(const std::array<T, N>& v) : Array(std::span<const T>(v)) {}
  template <class T> Array(std::initializer_list<T> v) : Array(std::span<const T>(v.begin(), v.size())) {}
  Buffer buffer;
};
inline std::vector<Buffer> buffers(const std::vector<Array>& arrays) {
  std::vector<Buffer> out;
  for (const Array& a : arrays) out.push_back(a.buffer);
  return out;
}

}  // namespace strata
