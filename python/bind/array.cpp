// Foreign memory comes in, by the buffer protocol or as what array_torch.cpp and array_dlpack.cpp know. Nothing is
// copied that can be borrowed.
#include "array.h"

#include <cstring>

#include "backend/steps.h"
#include "base/checked.h"
#include "once.h"

namespace strata::bind {
namespace {

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
    case '?': return DType::boolean;
    case 'e': return DType::f16;
    case 'f': return DType::f32;
    case 'd': return DType::f64;
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q':
    case 'n': return width == 1 ? DType::i8 : width == 2 ? DType::i16 : width == 4 ? DType::i32 : DType::i64;
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q':
    case 'N': return width == 1 ? DType::u8 : width == 2 ? DType::u16 : width == 4 ? DType::u32 : DType::u64;
    default: return std::nullopt;
  }
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
struct DeleteView {
  void operator()(View* v) const { delete v; }
};
struct Release {
  void operator()(void* object) const {
    if (Gil gil; gil) {
      nb::error_scope keep;  // a destructor must not eat an exception on its way
      Py_DECREF(static_cast<PyObject*>(object));
    }
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

/// First byte and last + 1 of what a view's strides touch.
std::pair<const char*, const char*> reach(const Py_buffer& v) {
  const char *low = static_cast<const char*>(v.buf), *high = low + v.itemsize;
  for (int d = 0; d < v.ndim; ++d) {
    if (v.shape[d] == 0) return {low, low};
    (v.strides[d] < 0 ? low : high) += v.strides[d] * (v.shape[d] - 1);
  }
  return {low, high};
}

/// An array of NumPy that looks into another's memory must not reach beyond it: as_strided believes whatever it is
/// told, and the other may have been resized.
void check_owner(nb::handle array, const Buffer& data) {
  static std::atomic<PyObject*> known{nullptr};
  const nb::handle name = once(known, [] { return nb::steal(PyUnicode_InternFromString("base")); });
  const auto is_array = [type = ndarray()](nb::handle h) {
    return PyType_IsSubtype(Py_TYPE(h.ptr()), reinterpret_cast<PyTypeObject*>(type.ptr())) != 0;
  };
  if (!is_array(array)) return;
  constexpr int longest = 32;
  nb::object owner = nb::borrow(array);
  for (int k = 0; k < longest; ++k) {
    nb::object base = attribute(owner, name);
    if (!base || base.is_none()) break;
    owner = std::move(base);
  }
  if (owner.is(array) || !is_array(owner)) return;
  View whole;
  if (PyObject_GetBuffer(owner.ptr(), &whole.view, PyBUF_STRIDED_RO) != 0) {  // of a dtype that the protocol lacks
    whole.view.obj = nullptr;
    PyErr_Clear();
    return;
  }
  const auto [low, high] = reach(whole.view);
  const char* const first = static_cast<const char*>(data.data);
  if (data.size > 0 && (first < low || first + data.bytes() > high))
    throw TensorError(
        {.what = "an array reaches beyond the memory that it looks into",
         .expected = "a view of " + std::to_string(high - low) + " bytes",
         .got = std::to_string(data.bytes()) + " bytes from byte " + std::to_string(first - low) + " on"});
}

std::optional<Array> from_buffer_protocol(nb::handle h) {
  const std::shared_ptr<View> holder(new View, DeleteView());
  Py_buffer& v = holder->view;
  if (PyObject_GetBuffer(h.ptr(), &v, PyBUF_RECORDS_RO) != 0) {
    // NumPy gives no buffer for datetime64 and other dtypes that the protocol cannot name. What an object raises for
    // reasons of its own is its caller's.
    nb::python_error error;
    v.obj = nullptr;
    if (error.matches(PyExc_ValueError) && nb::hasattr(h, "dtype")) refuse_dtype(dtype_text(h));
    if (error.matches(PyExc_BufferError) || error.matches(PyExc_TypeError)) return std::nullopt;
    throw error;
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
  Array array = make_array(*dtype, v.buf, std::move(shape), std::move(strides), v.readonly, holder);
  check_owner(h, array.data);
  return array;
}

}  // namespace

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
  if (!empty && !origin)
    throw TensorError({.what = "an array without memory", .expected = "an address", .got = "null"});
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

void refuse_dtype(const std::string& dtype) {
  const bool strings = dtype.rfind("<U", 0) == 0 || dtype.rfind("str", 0) == 0;
  throw DTypeError({.what = "an array of dtype " + dtype + " holds no values that Strata computes with",
                    .expected = "bool, an integer, a float up to 64 bits, or a complex dtype up to 128 bits",
                    .got = dtype,
                    .fix = dtype == "object" || strings ? "convert it first, e.g. array.astype(float)"
                                                        : "convert it first, e.g. array.astype('float64')"});
}

std::shared_ptr<void> keep_alive(nb::object object) {
  PyObject* const held = object.release().ptr();
  return {held, Release()};  // (where there is no memory for this, it lets go of the object)
}

PyObject* kept_alive(const Buffer& b) {
  if (b.owner.use_count() != 1) return nullptr;
  if (std::get_deleter<Release>(b.owner)) return static_cast<PyObject*>(b.owner.get());
  if (std::get_deleter<DeleteView>(b.owner)) return static_cast<View*>(b.owner.get())->view.obj;
  return nullptr;
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

namespace {

/// numpy.ma's arrays offer their memory, and forget the mask.
bool is_masked(nb::handle h) {
  for (const PyTypeObject* t = Py_TYPE(h.ptr()); t; t = t->tp_base)
    if (std::strcmp(t->tp_name, "MaskedArray") == 0) return true;
  return false;
}

}  // namespace

nb::object attribute(nb::handle h, const char* name) { return attribute(h, nb::str(name)); }
nb::object attribute(nb::handle h, nb::handle name) {
  if (PyObject* found = PyObject_GetAttr(h.ptr(), name.ptr())) return nb::steal(found);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
  PyErr_Clear();
  return {};
}

Array to_array(nb::handle h) {
  if (is_masked(h))
    throw DTypeError({.what = "a masked array has no value where it is masked",
                      .expected = "a plain array",
                      .got = "numpy.ma.MaskedArray",
                      .fix = "array.filled(0), or from_coo with the unmasked elements"});
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
  for (std::int64_t k = 0; k < a.shape[0]; ++k) {
    poll_at(k + 1);
    std::memcpy(static_cast<char*>(b.data) + k * static_cast<std::int64_t>(width),
                from + k * a.strides[0] * static_cast<std::int64_t>(width), width);
  }
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
