// Our memory goes out: a Python object around a buffer that NumPy and torch can look into, and DLPack capsules.
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "backend/steps.h"
#include "base/checked.h"
#include "base/tuple_text.h"
#include "bind.h"
#include "dlpack.h"

namespace strata::bind {
namespace {

const char* buffer_format(DType t) {
  constexpr const char* formats[dtype_count] = {"d", "f", "e", "H", "B", "B", "b",  "h", "i",
                                                "l", "B", "H", "I", "L", "?", "Zf", "Zd"};
  return formats[static_cast<int>(t)];
}

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  if (!nb::inst_ready(self)) {
    PyErr_SetString(PyExc_BufferError, "this memory was never made: its constructor did not run");
    return -1;
  }
  const Buffer& b = *nb::inst_ptr<Buffer>(self);
  if ((flags & PyBUF_WRITABLE) && b.read_only) {
    PyErr_SetString(PyExc_BufferError, "this memory is read-only");
    return -1;
  }
  // The shape must outlive the view: it lives behind view->internal.
  auto* sizes = new (std::nothrow) Py_ssize_t[2];
  if (!sizes) {
    PyErr_NoMemory();
    return -1;
  }
  sizes[0] = b.size;
  sizes[1] = static_cast<Py_ssize_t>(size_of(b.dtype));
  static char nothing[16];
  *view = {};
  view->buf = b.data ? b.data : nothing;
  view->obj = Py_NewRef(self);
  view->len = b.bytes();
  view->itemsize = sizes[1];
  view->readonly = b.read_only;
  view->ndim = 1;
  view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(buffer_format(b.dtype)) : nullptr;
  view->shape = (flags & PyBUF_ND) ? sizes : nullptr;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + 1 : nullptr;
  view->internal = sizes;
  return 0;
}

void release_buffer(PyObject*, Py_buffer* view) { delete[] static_cast<Py_ssize_t*>(view->internal); }

/// As for tensors (tensor.cpp).
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(kept_alive(*nb::inst_ptr<Buffer>(self)));
  return 0;
}

int clear(PyObject*) { return 0; }  // others look into the memory: what they are is cleared instead

dlpack::DataType dlpack_type(DType t) {
  const auto bits = static_cast<std::uint8_t>(size_of(t) * 8);
  const std::uint8_t code = t == DType::bf16      ? 4
                            : t == DType::f8e4m3  ? 10
                            : t == DType::f8e5m2  ? 12
                            : is_float(t)         ? 2
                            : is_complex(t)       ? 5
                            : t == DType::boolean ? 6
                            : is_signed_int(t)    ? 0
                                                  : 1;
  return {code, bits, 1};
}

/// What a capsule of ours keeps: the memory, and the arrays that the DLPack structure points to.
template <class M>
struct Exported {
  M managed{};
  Array array;
  static void destroy(M* m) { delete static_cast<Exported*>(m->manager); }
};

template <class M>
nb::object export_capsule(const Array& array, const char* name) {
  auto e = std::make_unique<Exported<M>>();
  e->array = array;
  auto& t = e->managed.tensor;
  t.data = array.data.data;
  t.device = {1, 0};
  t.ndim = static_cast<std::int32_t>(array.shape.size());
  t.dtype = dlpack_type(array.data.dtype);
  t.shape = e->array.shape.data();
  t.strides = e->array.strides.data();
  t.byte_offset = static_cast<std::uint64_t>(array.offset) * size_of(array.data.dtype);
  e->managed.manager = e.get();
  e->managed.deleter = Exported<M>::destroy;
  if constexpr (std::is_same_v<M, dlpack::ManagedVersioned>) {
    e->managed.major = 1;
    e->managed.flags = array.data.read_only ? 1 : 0;
  }
  PyObject* capsule = PyCapsule_New(&e->managed, name, [](PyObject* c) {
    // Renamed capsules were consumed: the consumer releases.
    const char* own = std::is_same_v<M, dlpack::ManagedVersioned> ? dlpack::versioned_name : dlpack::name;
    if (!PyCapsule_IsValid(c, own)) return;
    auto* m = static_cast<M*>(PyCapsule_GetPointer(c, own));
    m->deleter(m);
  });
  if (!capsule) throw nb::python_error();
  static_cast<void>(e.release());
  return nb::steal(capsule);
}

std::vector<std::int64_t> row_major(const Shape& shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    strides[d] = step;
    step *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

nb::object import_torch() {
  try {
    return nb::module_::import_("torch");
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_ImportError)) throw;
    throw Unsupported({.what = "PyTorch is needed here and is not installed", .fix = "pip install torch"});
  }
}

/// NumPy counts, in bytes, what an array would hold without its dimensions of extent 0.
void need_countable(const Shape& shape, std::int64_t width) {
  std::optional bytes = width;
  for (std::int64_t extent : shape)
    if (bytes && extent != 0) bytes = checked_mul(*bytes, extent);
  if (!bytes)
    throw TensorError({.what = "NumPy has no array of this shape",
                       .expected = "extents whose product, without those that are 0, is below 2^63 bytes",
                       .got = tuple_text(shape),
                       .fix = "keep the tensor sparse, or slice its long dimensions first, t[:, :100]"});
}

}  // namespace

Buffer packed_copy(const Array& a) {
  std::int64_t count = 1;
  for (auto e : a.shape) count *= e;
  Buffer b = Buffer::allocate(a.data.dtype, count);
  const auto width = static_cast<std::int64_t>(size_of(b.dtype));
  std::vector<std::int64_t> at(a.shape.size(), 0);
  std::int64_t from = a.offset;
  for (std::int64_t k = 0; k < count; ++k) {
    poll_at(k + 1);
    std::memcpy(static_cast<char*>(b.data) + k * width, static_cast<const char*>(a.data.data) + from * width,
                static_cast<std::size_t>(width));
    for (std::size_t d = a.shape.size(); d-- > 0;) {
      from += a.strides[d];
      if (++at[d] < a.shape[d]) break;
      from -= at[d] * a.strides[d];
      at[d] = 0;
    }
  }
  return b;
}

nb::object to_dlpack_capsule(const Array& array, bool versioned) {
  return versioned ? export_capsule<dlpack::ManagedVersioned>(array, dlpack::versioned_name)
                   : export_capsule<dlpack::Managed>(array, dlpack::name);
}

void warn_copy(const std::string& text) { nb::module_::import_("strata.errors").attr("warn")(text); }

nb::object to_numpy(const Buffer& data, const Shape& shape, std::span<const std::int64_t> strides,
                    std::int64_t offset) {
  if (!numpy_has(data.dtype))
    throw Unsupported({.what = "NumPy has no dtype " + std::string(name_of(data.dtype)),
                       .expected = "a dtype that NumPy has",
                       .got = std::string(name_of(data.dtype)),
                       .fix = "convert first, t.to('float32'), or use to_torch()"});
  const auto width = static_cast<std::int64_t>(size_of(data.dtype));
  need_countable(shape, width);
  nb::object memory = nb::cast(data);
  nb::object byte_strides = nb::none();
  if (!strides.empty()) {
    std::vector<std::int64_t> bytes(strides.begin(), strides.end());
    for (auto& s : bytes) s *= width;
    byte_strides = from_shape(bytes);
  }
  return ndarray()(from_shape(shape), from_dtype(data.dtype), memory, offset * width, byte_strides);
}

nb::object to_torch(const Buffer& data, const Shape& shape, std::span<const std::int64_t> strides,
                    std::int64_t offset) {
  nb::object torch = import_torch();
  Array a{data, offset, shape,
          strides.empty() ? row_major(shape) : std::vector<std::int64_t>(strides.begin(), strides.end())};
  bool reversed = false;
  for (auto s : a.strides) reversed |= s < 0;
  if (data.read_only || reversed) {
    warn_copy(data.read_only ? "memory was copied for torch: it is read-only, which torch cannot express"
                             : "memory was copied for torch: its strides are negative, which torch cannot express");
    a.data = packed_copy(a);
    a.offset = 0;
    a.strides = row_major(shape);
  }
  return torch.attr("from_dlpack")(to_dlpack_capsule(a, false));
}

nb::object to_package_array(const Buffer& data) {
  if (numpy_has(data.dtype)) return to_numpy(data, {data.size});
  try {
    return to_torch(data, {data.size});
  } catch (const Unsupported&) {
    throw Unsupported(
        {.what = "an array of " + std::string(name_of(data.dtype)) + " needs torch, which is not installed",
         .expected = "a dtype that NumPy has",
         .got = std::string(name_of(data.dtype)),
         .fix = "convert first: t.to('float32')"});
  }
}

void bind_memory(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {0, nullptr}};
  nb::class_<Buffer>(m, "Memory", nb::type_slots(slots), nb::is_weak_referenceable(),
                     "A typed span of memory that a tensor uses. Speaks the buffer protocol (dtypes that Python lacks "
                     "show their bits) and DLPack.")
      .def_prop_ro("dtype", [](const Buffer& b) { return from_dtype(b.dtype); })
      .def_prop_ro("size", [](const Buffer& b) { return b.size; })
      .def_prop_ro("nbytes", [](const Buffer& b) { return b.bytes(); })
      .def_prop_ro("read_only", [](const Buffer& b) { return b.read_only; })
      .def_prop_ro("address", [](const Buffer& b) { return reinterpret_cast<std::uintptr_t>(b.data); })
      .def("__len__", [](const Buffer& b) { return b.size; })
      .def("__dlpack_device__", [](const Buffer&) { return nb::make_tuple(1, 0); })
      .def(
          "__dlpack__",
          [](const Buffer& b, nb::handle, nb::handle max_version, nb::handle, nb::handle) {
            const bool versioned = !max_version.is_none() && nb::cast<int>(nb::object(max_version[0])) >= 1;
            if (b.read_only && !versioned)
              throw nb::buffer_error("read-only memory needs a consumer that knows DLPack 1.0");
            return to_dlpack_capsule({b, 0, {b.size}, {1}}, versioned);
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none())
      .def(
          "__reduce_ex__",
          [](nb::handle self, int protocol) {
            const Buffer& b = held<Buffer>(self);
            nb::object data;
            if (protocol >= 5) data = nb::steal(PyPickleBuffer_FromObject(self.ptr()));
            else
              data = nb::steal(
                  PyBytes_FromStringAndSize(static_cast<const char*>(b.data), static_cast<Py_ssize_t>(b.bytes())));
            if (!data.is_valid()) throw nb::python_error();
            return nb::make_tuple(nb::module_::import_("strata._tensor").attr("_memory_of_bytes"),
                                  nb::make_tuple(std::string(name_of(b.dtype)), data));
          },
          nb::arg("protocol"));
  m.def(
      "memory_of_bytes",
      [](const std::string& dtype, nb::handle data) {
        const DType t = parse_dtype(dtype);
        Array a = to_array(data);
        const auto width = static_cast<std::int64_t>(size_of(t));
        const std::int64_t bytes = a.data.bytes();
        if (!a.contiguous() || bytes % width != 0)
          throw TensorError({.what = "these bytes are no array of " + dtype,
                             .expected = "a multiple of " + std::to_string(width) + " bytes",
                             .got = std::to_string(bytes) + " bytes"});
        if (reinterpret_cast<std::uintptr_t>(a.data.data) % static_cast<std::uintptr_t>(width) == 0 || bytes == 0) {
          Buffer b = Buffer::borrow(t, a.data.data, bytes / width, a.data.owner);
          b.read_only = a.data.read_only;
          return b;
        }
        Buffer b = Buffer::allocate(t, bytes / width);
        std::memcpy(b.data, a.data.data, static_cast<std::size_t>(bytes));
        return b;
      },
      nb::arg("dtype"), nb::arg("data"), "Memory over the bytes of any buffer (borrowed where they are aligned).");
  m.def(
      "memory", [](nb::handle array, const char* what) { return to_buffer(array, what); }, nb::arg("array"),
      nb::arg("what") = "an array", "One-dimensional memory of an array of any package, borrowed.");
  m.def(
      "memory_to_numpy",
      [](const Buffer& b, nb::handle shape) { return to_numpy(b, shape.is_none() ? Shape{b.size} : to_shape(shape)); },
      nb::arg("memory"), nb::arg("shape") = nb::none(), "A NumPy array over the memory.");
  m.def(
      "memory_to_torch",
      [](const Buffer& b, nb::handle shape) { return to_torch(b, shape.is_none() ? Shape{b.size} : to_shape(shape)); },
      nb::arg("memory"), nb::arg("shape") = nb::none(), "A torch tensor over the memory.");
}

}  // namespace strata::bind
