#pragma once
// A typed span of memory with an owner.
#include <cstdint>
#include <memory>
#include <span>

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
  template <class T> std::span<T> as() const { return {static_cast<T*>(data), static_cast<std::size_t>(size)}; }

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
};

}  // namespace strata
