// Foreign memory comes in: the buffer protocol, torch tensors, DLPack. Nothing is copied that can be borrowed.
#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "bind.h"
#include "dlpack.h"
#include "once.h"

namespace strata::bind {
namespace {

/// Shapes, strides (elements) and the address of the element at all-zero coordinates become an Array whose buffer
/// covers exactly what the strides touch.
Array make_array(DType dtype, void* origin, Shape shape, std::vector<std::int64_t> strides, bool read_only,
                 std::shared_ptr<void> owner) {
  std::int64_t low = 0, high = 0;
  bool empty = false;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) empty = true;
    if (shape[d] <= 1) continue;
    const auto reach = checked_mul(shape[d] - 1, strides[d]);
    const auto sum = reach ? checked_add(*reach < 0 ? low : high, *reach) : std::nullopt;
    if (!sum) throw TensorError({.what = "the strides of this array reach beyond 64 bits"});
    (*reach < 0 ? low : high) = *sum;
  }
  Array a;
  a.offset = empty ? 0 : -low;
  const std::int64_t width = static_cast<std::int64_t>(size_of(dtype));
  a.data = Buffer::borrow(dtype, static_cast<char*>(origin) + (empty ? 0 : low * width), empty ? 0 : high - low + 1,
                          std::move(owner));
  a.data.read_only = read_only;
  a.shape = std::move(shape);
  a.strides = std::move(strides);
  return a;
}

/// The dtype of a struct-module format of one item, or nothing.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t width, bool& foreign_order) {
  foreign_order = false;
  if (!format) return DType::u8;
  if (*format == '>' || *format == '!') foreign_order = true;
  if (*format == '@' || *format == '=' || *format == '<' || *format == '>' || *format == '!' || *format == '^' ||
      *format == '|')
    ++format;
  const bool complex = *format == 'Z';
  if (complex) ++format;
  if (format[0] == 0 || format[1] != 0) return std::nullopt;
  if (complex)
    return *format == 'f' ? std::optional(DType::c64) : *format == 'd' ? std::optional(DType::c128) : std::nullopt;
  switch (*format) {
    case '?':
      return DType::boolean;
    case 'e':
      return DType::f16;
    case 'f':
      return DType::f32;
    case 'd':
      return DType::f64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n':
      return width == 1 ? DType::i8 : width == 2 ? DType::i16 : width == 4 ? DType::i32 : DType::i64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N':
      return width == 1 ? DType::u8 : width == 2 ? DType::u16 : width == 4 ? DType::u32 : DType::u64;
    default:
      return std::nullopt;
  }
}

[[noreturn]] void refuse_dtype(const std::string& dtype) {
  const bool strings = dtype.rfind("<U", 0) == 0 || dtype.rfind("str", 0) == 0;
  throw DTypeError({.what = "an array of dtype " + dtype + " holds no values that Strata computes with",
                    .expected = "bool, an integer, a float up to 64 bits, or a complex dtype up to 128 bits",
                    .got = dtype,
                    .fix = dtype == "object" || strings ? "convert it first, e.g. array.astype(float)"
                                                        : "convert it first, e.g. array.astype('float64')"});
}

std::string dtype_text(nb::handle h) {
  if (!nb::hasattr(h, "dtype")) return Py_TYPE(h.ptr())->tp_name;
  return str_of(h.attr("dtype"));
}

struct View {
  Py_buffer view{};
  ~View() {
    if (!view.obj) return;
    if (Gil gil; gil) PyBuffer_Release(&view);
  }
};

/// NumPy makes a copy in our byte order, aligned; the user hears of it.
Array normalised(nb::handle h, const char* why) {
  warn_copy(std::string("an array was copied: ") + why);
  nb::object array = numpy().attr("asarray")(h);
  nb::object dtype = array.attr("dtype").attr("newbyteorder")("=");
  nb::dict options;
  options["order"] = "C";
  Array copy = to_array(array.attr("astype")(dtype, **options).attr("copy")());
  copy.copied = true;
  return copy;
}

std::optional<Array> from_buffer_protocol(nb::handle h) {
  auto holder = std::make_shared<View>();
  Py_buffer& v = holder->view;
  if (PyObject_GetBuffer(h.ptr(), &v, PyBUF_RECORDS_RO) != 0) {
    // NumPy gives no buffer for datetime64 and other dtypes that the protocol cannot name.
    PyErr_Clear();
    v.obj = nullptr;
    if (nb::hasattr(h, "dtype")) refuse_dtype(dtype_text(h));
    return std::nullopt;
  }
  bool foreign_order = false;
  const auto dtype = dtype_of_format(v.format, v.itemsize, foreign_order);
  if (!dtype || static_cast<Py_ssize_t>(size_of(*dtype)) != v.itemsize) refuse_dtype(dtype_text(h));
  const Py_ssize_t width = v.itemsize;
  bool unaligned =
      reinterpret_cast<std::uintptr_t>(v.buf) % static_cast<std::uintptr_t>(is_complex(*dtype) ? width / 2 : width) !=
      0;
  Shape shape(v.shape, v.shape + v.ndim);
  std::vector<std::int64_t> strides(static_cast<std::size_t>(v.ndim));
  bool empty = false;
  for (auto e : shape) empty |= e == 0;
  for (int d = 0; d < v.ndim; ++d) {
    if (shape[static_cast<std::size_t>(d)] > 1 && v.strides[d] % width != 0) unaligned = true;
    strides[static_cast<std::size_t>(d)] = v.strides[d] / width;
  }
  if (!empty && foreign_order && width > 1) return normalised(h, "its bytes are in the order of another machine");
  if (!empty && unaligned) return normalised(h, "its elements are not aligned to their size");
  return make_array(*dtype, v.buf, std::move(shape), std::move(strides), v.readonly, holder);
}

/// torch dtypes are singletons: comparing addresses is enough.
std::optional<DType> torch_dtype(nb::handle dtype) {
  static std::array<std::atomic<PyObject*>, dtype_count> known{};
  for (int k = 0; k < dtype_count; ++k) {
    const nb::handle one = once(known[static_cast<std::size_t>(k)], [&] {
      const std::string name(name_of(static_cast<DType>(k)));
      nb::module_ torch = nb::module_::import_("torch");
      return nb::hasattr(torch, name.c_str()) ? nb::object(torch.attr(name.c_str())) : nb::none();
    });
    if (one.is(dtype)) return static_cast<DType>(k);
  }
  return std::nullopt;
}

Array from_torch_tensor(nb::handle h) {
  nb::object t = nb::borrow(h);
  const auto dtype = torch_dtype(t.attr("dtype"));
  if (!dtype) refuse_dtype(str_of(t.attr("dtype")));
  if (nb::cast<std::string>(t.attr("device").attr("type")) != "cpu")
    throw Unsupported({.what = "this torch tensor lives on " + str_of(t.attr("device")),
                       .expected = "memory of the CPU",
                       .got = str_of(t.attr("device")),
                       .fix = "call .cpu() first; a CUDA back end is not part of this version"});
  const std::string layout = str_of(t.attr("layout"));
  if (layout != "torch.strided")
    throw Unsupported({.what = "a torch tensor of layout " + layout + " is not a dense operand",
                       .expected = "torch.strided",
                       .got = layout,
                       .fix = "use strata.from_torch(tensor)"});
  bool copied = false;
  if (nb::cast<bool>(t.attr("is_conj")()) || nb::cast<bool>(t.attr("is_neg")())) {
    warn_copy("a torch tensor was copied: it is a lazy conjugate or negative");
    t = t.attr("resolve_conj")().attr("resolve_neg")();
    copied = true;
  }
  // An alias of our own: .set_() or .resize_() on the user's tensor then leaves the memory that we look at alone.
  t = t.attr("detach")();
  const nb::object size = t.attr("shape"), stride = t.attr("stride")();
  const std::size_t rank = nb::len(size);
  Shape shape(rank);
  std::vector<std::int64_t> strides(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    shape[d] = nb::cast<std::int64_t>(size[d]);
    strides[d] = nb::cast<std::int64_t>(stride[d]);
  }
  auto* data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(t.attr("data_ptr")()));
  Array array = make_array(*dtype, data, std::move(shape), std::move(strides), false, keep_alive(std::move(t)));
  array.copied = copied;
  return array;
}

std::optional<DType> dlpack_dtype(dlpack::DataType t) {
  if (t.lanes != 1) return std::nullopt;
  const int log = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : t.bits == 64 ? 3 : t.bits == 128 ? 4 : -1;
  if (log < 0) return std::nullopt;
  switch (t.code) {
    case 0:
      return log < 4 ? std::optional(static_cast<DType>(static_cast<int>(DType::i8) + log)) : std::nullopt;
    case 1:
      return log < 4 ? std::optional(static_cast<DType>(static_cast<int>(DType::u8) + log)) : std::nullopt;
    case 2:
      return log == 1   ? std::optional(DType::f16)
             : log == 2 ? std::optional(DType::f32)
             : log == 3 ? std::optional(DType::f64)
                        : std::nullopt;
    case 4:
      return log == 1 ? std::optional(DType::bf16) : std::nullopt;
    case 5:
      return log == 3 ? std::optional(DType::c64) : log == 4 ? std::optional(DType::c128) : std::nullopt;
    case 6:
      return log == 0 ? std::optional(DType::boolean) : std::nullopt;
    case 10:
      return log == 0 ? std::optional(DType::f8e4m3) : std::nullopt;
    case 12:
      return log == 0 ? std::optional(DType::f8e5m2) : std::nullopt;
    default:
      return std::nullopt;
  }
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
  return make_array(*dtype, origin, std::move(shape), std::move(strides), read_only, std::move(owner));
}

std::optional<Array> from_dlpack_object(nb::handle h) {
  if (!nb::hasattr(h, "__dlpack__")) return std::nullopt;
  if (nb::hasattr(h, "__dlpack_device__")) {
    const nb::object device = h.attr("__dlpack_device__")();
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

}  // namespace

std::shared_ptr<void> keep_alive(nb::object object) {
  return {object.release().ptr(), [](void* p) {
            if (Gil gil; gil) {
              nb::error_scope keep;  // a destructor must not eat an exception on its way
              Py_DECREF(static_cast<PyObject*>(p));
            }
          }};
}

bool Array::contiguous() const {
  std::int64_t step = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != step) return false;
    step *= shape[d];
  }
  return true;
}

bool is_torch_tensor(nb::handle h) {
  static std::atomic<PyObject*> known{nullptr};  // the class itself; subclasses take the slower test
  PyObject* cls = known.load(std::memory_order_acquire);
  if (!cls) {
    const nb::object torch = imported_torch();  // where it is not imported, nothing can be one
    if (!torch.is_valid() || !nb::hasattr(torch, "Tensor")) return false;
    cls = once(known, [&] { return nb::object(torch.attr("Tensor")); }).ptr();
  }
  PyTypeObject *type = Py_TYPE(h.ptr()), *tensor = reinterpret_cast<PyTypeObject*>(cls);
  return type == tensor || PyType_IsSubtype(type, tensor);
}

nb::object imported_torch() {
  nb::object torch = nb::steal(PyImport_GetModule(nb::str("torch").ptr()));
  if (!torch.is_valid() && PyErr_Occurred()) throw nb::python_error();
  return torch;
}

Array from_dlpack_capsule(PyObject* capsule) {
  if (!PyCapsule_CheckExact(capsule))
    throw TensorError({.what = "__dlpack__() gave no capsule", .got = std::string(Py_TYPE(capsule)->tp_name)});
  if (PyCapsule_IsValid(capsule, dlpack::versioned_name)) {
    auto* m = static_cast<dlpack::ManagedVersioned*>(PyCapsule_GetPointer(capsule, dlpack::versioned_name));
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

Array to_array(nb::handle h) {
  if (is_torch_tensor(h)) return from_torch_tensor(h);
  if (PyObject_CheckBuffer(h.ptr()))
    if (auto a = from_buffer_protocol(h)) return std::move(*a);
  if (PyCapsule_CheckExact(h.ptr())) return from_dlpack_capsule(h.ptr());
  if (auto a = from_dlpack_object(h)) return std::move(*a);
  if (nb::hasattr(h, "__cuda_array_interface__"))
    throw Unsupported({.what = "this memory lives on a CUDA device",
                       .expected = "memory of the CPU",
                       .got = std::string(Py_TYPE(h.ptr())->tp_name),
                       .fix = "copy it to the host first; a CUDA back end is not part of this version"});
  nb::object array = numpy().attr("asarray")(h);
  auto a = from_buffer_protocol(array);
  if (!a) refuse_dtype(dtype_text(array));
  return std::move(*a);
}

Buffer to_buffer(nb::handle h, const char* what) {
  Array a = to_array(h);
  if (a.shape.size() != 1)
    throw TensorError({.what = std::string(what) + " must have one dimension",
                       .expected = "1 dimension",
                       .got = std::to_string(a.shape.size()) + " dimensions",
                       .fix = a.shape.empty() ? "" : "flatten it, e.g. array.reshape(-1)"});
  if (a.contiguous()) return std::move(a.data);
  warn_copy(std::string(what) + " was copied: its elements do not lie side by side");
  Buffer b = Buffer::allocate(a.data.dtype, a.shape[0]);
  const auto width = size_of(b.dtype);
  const char* from = static_cast<const char*>(a.data.data) + a.offset * static_cast<std::int64_t>(width);
  for (std::int64_t k = 0; k < a.shape[0]; ++k)
    std::memcpy(static_cast<char*>(b.data) + k * static_cast<std::int64_t>(width),
                from + k * a.strides[0] * static_cast<std::int64_t>(width), width);
  return b;
}

Buffer to_index_buffer(nb::handle h, const char* what) {
  if (PyList_Check(h.ptr()) || PyTuple_Check(h.ptr())) {
    // An empty list has no dtype of its own: NumPy would call it float64.
    if (PySequence_Size(h.ptr()) == 0) return Buffer::zeros(DType::i32, 0);
  }
  Buffer b = to_buffer(h, what);
  if (!is_index(b.dtype))
    throw DTypeError({.what = std::string(what) + " has dtype " + std::string(name_of(b.dtype)),
                      .expected = "an integer dtype, int8..int64 or uint8..uint64",
                      .got = std::string(name_of(b.dtype)),
                      .fix = "convert it, e.g. array.astype('int32')"});
  return b;
}

}  // namespace strata::bind
