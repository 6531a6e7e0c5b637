#pragma once
// The structures of DLPack 1.0 (https://dmlc.github.io/dlpack), as far as memory of the CPU needs them.
#include <cstdint>

namespace strata::bind::dlpack {

struct Device {
  std::int32_t type;  // 1 cpu, 2 cuda, 3 pinned, 13 managed
  std::int32_t id;
};
struct DataType {
  std::uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 10 float8_e4m3fn, 12 float8_e5m2
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // may be null before 1.2: row-major
  std::uint64_t byte_offset;
};
struct Managed {
  Tensor tensor;
  void* manager;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {
  std::uint32_t major, minor;
  void* manager;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;  // bit 0: read-only, bit 1: a copy
  Tensor tensor;
};
/// What `__dlpack_c_exchange_api__` of an array's class holds in a capsule (DLPack 1.3).
struct ExchangeApi {
  std::uint32_t major, minor;
  const ExchangeApi* older;
  void *allocate, *managed_from_object, *object_from_managed;
  int (*borrow)(void* object, Tensor* out);  // valid as long as the object is; not 0: a Python error is set
  void* current_stream;
};
inline constexpr const char* exchange_name = "dlpack_exchange_api";
inline constexpr const char *name = "dltensor", *used_name = "used_dltensor";
inline constexpr const char *versioned_name = "dltensor_versioned", *used_versioned_name = "used_dltensor_versioned";

}  // namespace strata::bind::dlpack
