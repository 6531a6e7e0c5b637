// DLPack comes in: objects that export it, and capsules.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "array.h"
#include "base/checked.h"

namespace strata::bind {

std::optional<DType> dlpack_dtype(dlpack::DataType t) {
  if (t.lanes != 1) return std::nullopt;
  const int log = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : t.bits == 128 ? 4 : -1;
  if (log < 0) return std::nullopt;
  switch (t.code) {
    case 0: return log < 4 ? std::optional(static_cast<DType>(static_cast<int>(DType::i8) + log)) : std::nullopt;
    case 1: return log < 4 ? std::optional(static_cast<DType>(static_cast<int>(DType::u8) + log)) : std::nullopt;
    case 2:
      return log == 1   ? std::optional(DType::f16)
             : log == 2 ? std::optional(DType::f32)
             : log == 3 ? std::optional(DType::f64)
                        : std::nullopt;
    case 4: return log == 1 ? std::optional(DType::bf16) : std::nullopt;
    case 5: return log == 3 ? std::optional(DType::c64) : log == 4 ? std::optional(DType::c128) : std::nullopt;
    case 6: return log == 0 ? std::optional(DType::boolean) : std::nullopt;
    case 10: return log == 0 ? std::optional(DType::f8e4m3) : std::nullopt;
    case 12: return log == 0 ? std::optional(DType::f8e5m2) : std::nullopt;
    default: return std::nullopt;
  }
}

namespace {

/// Does the first and the last page of this memory exist? A capsule may have been made of any number.
bool is_mapped(const void* data, std::size_t bytes) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), first = reinterpret_cast<std::uintptr_t>(data);
  if (bytes == 0) return true;
  if (first > UINTPTR_MAX - bytes) return false;
  for (const std::uintptr_t at : {first, first + bytes - 1}) {
    unsigned char unused;
    if (mincore(reinterpret_cast<void*>(at / page * page), 1, &unused) != 0 && errno == ENOMEM) return false;
  }
  return true;
}

void require_mapped(const void* data, std::size_t bytes, const char* what) {
  if (!is_mapped(data, bytes))
    throw TensorError({.what = std::string(what) + " of a DLPack capsule lies where there is no memory",
                       .expected = "an address of this process"});
}

/// Runs the producer's deleter under the GIL (some producers forget to take it themselves).
template <class M>
std::shared_ptr<void> own_managed(M* managed) {
  return {managed, [](void* p) {
            auto* m = static_cast<M*>(p);
            if (!m || !m->deleter) return;
            if (Gil gil; gil) {
              nb::error_scope keep;
              m->deleter(m);
            }
          }};
}

Array from_managed(const dlpack::Tensor& t, bool read_only, std::shared_ptr<void> owner) {
  if (t.device.type != 1 && t.device.type != 3)
    throw Unsupported({.what = "this memory lives on a device",
                       .expected = "memory of the CPU (DLPack device type 1)",
                       .got = "DLPack device type " + std::to_string(t.device.type),
                       .fix = "copy it to the host first; a CUDA back end is not part of this version"});
  const auto dtype = dlpack_dtype(t.dtype);
  if (!dtype)
    refuse_dtype("DLPack code " + std::to_string(t.dtype.code) + ", " + std::to_string(t.dtype.bits) + " bits, " +
                 std::to_string(t.dtype.lanes) + " lanes");
  if (t.ndim < 0 || t.ndim > max_dims || (t.ndim > 0 && !t.shape))
    throw TensorError({.what = "a DLPack tensor of " + std::to_string(t.ndim) + " dimensions",
                       .expected = "0 to " + std::to_string(max_dims)});
  const auto rank = static_cast<std::size_t>(t.ndim);
  require_mapped(t.shape, rank * sizeof(std::int64_t), "the shape");
  if (t.strides) require_mapped(t.strides, rank * sizeof(std::int64_t), "the strides");
  Shape shape(t.shape, t.shape + rank);
  for (auto e : shape)
    if (e < 0) throw TensorError({.what = "a DLPack tensor has a negative extent", .got = std::to_string(e)});
  std::vector<std::int64_t> strides(rank);
  if (t.strides) {
    std::copy(t.strides, t.strides + rank, strides.begin());
  } else {
    std::int64_t step = 1;
    for (std::size_t d = rank; d-- > 0;) {
      strides[d] = step;
      const auto next = checked_mul(step, std::max<std::int64_t>(shape[d], 1));
      if (!next) throw TensorError({.what = "the extents of a DLPack tensor exceed 64 bits"});
      step = *next;
    }
  }
  const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  if (!empty && !t.data)
    throw TensorError({.what = "a DLPack tensor without memory", .expected = "an address", .got = "null"});
  if (t.byte_offset > static_cast<std::uint64_t>(INT64_MAX))
    throw TensorError({.what = "the offset of a DLPack tensor exceeds 63 bits", .got = std::to_string(t.byte_offset)});
  char* origin = static_cast<char*>(t.data) + (empty ? 0 : t.byte_offset);
  const auto width = static_cast<std::uintptr_t>(size_of(*dtype));
  if (reinterpret_cast<std::uintptr_t>(origin) % (is_complex(*dtype) ? width / 2 : width) != 0)
    throw Unsupported(
        {.what = "the elements of a DLPack tensor are not aligned to their size", .fix = "copy it first"});
  Array array = make_array(*dtype, origin, std::move(shape), std::move(strides), read_only, std::move(owner));
  require_mapped(array.data.data, static_cast<std::size_t>(array.data.bytes()), "the memory");
  return array;
}

}  // namespace

std::optional<Array> from_dlpack_object(nb::handle h) {
  if (!attribute(h, "__dlpack__")) return std::nullopt;
  if (const nb::object where = attribute(h, "__dlpack_device__")) {
    const nb::object device = where();
    if (!PyTuple_Check(device.ptr()) || nb::len(device) != 2 || !PyIndex_Check(nb::object(device[0]).ptr()))
      throw TensorError({.what = "__dlpack_device__() gave no device",
                         .expected = "a tuple of two integers, e.g. (1, 0)",
                         .got = nb::cast<std::string>(nb::repr(device))});
    const std::int64_t type = to_index(nb::object(device[0])).value;
    if (type != 1 && type != 3)
      from_managed({nullptr, {static_cast<std::int32_t>(type), 0}, 0, {2, 32, 1}, nullptr, nullptr, 0}, true, {});
  }
  nb::object capsule;
  try {
    nb::dict options;
    options["max_version"] = nb::make_tuple(1, 0);
    capsule = h.attr("__dlpack__")(**options);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
    capsule = h.attr("__dlpack__")();  // a producer from before DLPack 1.0
  }
  return from_dlpack_capsule(capsule.ptr());
}

Array from_dlpack_capsule(PyObject* capsule) {
  if (!PyCapsule_CheckExact(capsule))
    throw TensorError({.what = "__dlpack__() gave no capsule", .got = std::string(Py_TYPE(capsule)->tp_name)});
  if (PyCapsule_IsValid(capsule, dlpack::versioned_name)) {
    auto* m = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, dlpack::versioned_name));
    require_mapped(m, sizeof *m, "the tensor");
    if (m->major != 1)
      throw Unsupported(
          {.what = "DLPack " + std::to_string(m->major) + "." + std::to_string(m->minor) + " is not known",
           .expected = "DLPack 1"});
    PyCapsule_SetName(capsule, dlpack::used_versioned_name);
    auto owner = own_managed(m);  // from here on the memory is ours to release, also when a check below throws
    return from_managed(m->tensor, m->flags & 1, std::move(owner));
  }
  if (PyCapsule_IsValid(capsule, dlpack::name)) {
    auto* m = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, dlpack::name));
    require_mapped(m, sizeof *m, "the tensor");
    PyCapsule_SetName(capsule, dlpack::used_name);
    auto owner = own_managed(m);
    return from_managed(m->tensor, false, std::move(owner));
  }
  const char* name = PyCapsule_GetName(capsule);
  PyErr_Clear();
  throw TensorError({.what = "this capsule holds no DLPack tensor that is still to be had",
                     .expected = "'dltensor' or 'dltensor_versioned'",
                     .got = name ? name : "a capsule without a name",
                     .fix = "a DLPack capsule can be consumed once: make a new one"});
}

}  // namespace strata::bind
