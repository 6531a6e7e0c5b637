// dtypes and scalars between Python and the core.
#include <nanobind/stl/string_view.h>

#include <array>
#include <cmath>

#include "arguments.h"
#include "base/dtype_name.h"
#include "once.h"

namespace strata::bind {
namespace {

/// A dtype that NumPy lacks. Behaves like one as far as names go.
struct ExtendedDType {
  DType value;
};

/// A text that only NumPy reads: "double", "intp", "d".
std::optional<DType> numpy_word(nb::handle text) {
  try {
    const std::string name = nb::cast<std::string>(numpy().attr("dtype")(text).attr("name"));
    if (is_dtype_name(name)) return parse_dtype(name);
  } catch (nb::python_error&) {}
  return std::nullopt;
}

/// Any object's text, for messages that never fail.
std::string text_of(nb::handle h) {
  try {
    std::string text = nb::cast<std::string>(nb::str(h));
    return text.size() > 80 ? text.substr(0, 77) + "..." : text;
  } catch (...) { return std::string("an object of type ") + Py_TYPE(h.ptr())->tp_name; }
}

[[noreturn]] void no_dtype(nb::handle h) {
  throw DTypeError(
      {.what = "'" + text_of(h) + "' is not a dtype that Strata has",
       .expected = "bool, int8..int64, uint8..uint64, float16, float32, float64, bfloat16, float8_e4m3fn, float8_e5m2, "
                   "complex64, complex128",
       .got = text_of(h)});
}

DType parse_or_refuse(std::string name, nb::handle h) {
  if (name.rfind("torch.", 0) == 0) name.erase(0, 6);
  for (int k = 0; k < dtype_count; ++k)
    if (name_of(static_cast<DType>(k)) == name) return static_cast<DType>(k);
  if (!PyUnicode_Check(h.ptr()) || name == "complex32") no_dtype(h);
  return parse_dtype(name);  // our short names, and a suggestion
}

}  // namespace

nb::object numpy() {
  static std::atomic<PyObject*> module{nullptr};
  return nb::borrow(once(module, [] { return nb::object(nb::module_::import_("numpy")); }));
}

nb::handle ndarray() {
  static std::atomic<PyObject*> type{nullptr};
  return once(type, [] { return nb::object(numpy().attr("ndarray")); });
}

bool numpy_has(DType t) { return t != DType::bf16 && t != DType::f8e4m3 && t != DType::f8e5m2; }

DType to_dtype(nb::handle h) {
  if (PyUnicode_Check(h.ptr())) {
    const auto text = nb::cast<std::string>(h);
    if (!is_dtype_name(text))
      if (const auto t = numpy_word(h)) return *t;
    return parse_or_refuse(text, h);
  }
  if (nb::isinstance<ExtendedDType>(h)) return held<ExtendedDType>(h).value;
  const std::string module = str_of(nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(h.ptr()))).attr("__module__"));
  if (module == "torch") return parse_or_refuse(text_of(h), h);
  nb::object dtype;
  try {
    dtype = numpy().attr("dtype")(h);
  } catch (nb::python_error&) { no_dtype(h); }
  return parse_or_refuse(nb::cast<std::string>(dtype.attr("name")), h);
}

std::optional<DType> to_optional_dtype(nb::handle h) {
  if (h.is_none()) return std::nullopt;
  return to_dtype(h);
}

nb::object from_dtype(DType t) {
  static std::array<std::atomic<PyObject*>, dtype_count> objects{};
  return nb::borrow(once(objects[static_cast<std::size_t>(t)], [t] {
    return numpy_has(t) ? nb::object(numpy().attr("dtype")(std::string(name_of(t)))) : nb::cast(ExtendedDType{t});
  }));
}

Scalar to_scalar(nb::handle h) {
  PyObject* o = h.ptr();
  if (PyBool_Check(o)) return Scalar::of(o == Py_True);
  if (PyFloat_CheckExact(o)) return Scalar::of(PyFloat_AS_DOUBLE(o));
  if (PyLong_CheckExact(o)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(o, &overflow);
    if (!overflow) return Scalar::of(static_cast<std::int64_t>(value));
    const unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(o) : 0;
    if (overflow > 0 && !PyErr_Occurred()) return Scalar::of(static_cast<std::uint64_t>(wide));
    PyErr_Clear();
    throw DTypeError({.what = "the integer " + text_of(h) + " does not fit 64 bits"});
  }
  if (PyComplex_CheckExact(o))
    return Scalar::of(std::complex<double>(PyComplex_RealAsDouble(o), PyComplex_ImagAsDouble(o)));
  if (nb::hasattr(h, "dtype")) {
    const Array a = to_array(h);
    if (a.shape.empty())
      return Scalar::load(a.data.dtype, static_cast<const char*>(a.data.data) +
                                            a.offset * static_cast<std::int64_t>(size_of(a.data.dtype)));
  }
  throw DTypeError({.what = "a number is needed here",
                    .expected = "int, float, complex, bool or an array of no dimensions",
                    .got = std::string(Py_TYPE(o)->tp_name)});
}

Scalar to_scalar(nb::handle h, DType dtype, const char* what) {
  const Scalar given = to_scalar(h);
  const Scalar value = given.as(dtype);
  const auto before = given.to_complex(), after = value.to_complex();
  const bool lost_imaginary = !is_complex(dtype) && before.imag() != 0;
  const bool lost_value = (is_integer(dtype) || dtype == DType::boolean) && before.real() != after.real();
  if (lost_imaginary || lost_value)
    throw DTypeError(
        {.what = std::string(what) + " " + given.to_string() + " is not a value of " + std::string(name_of(dtype)),
         .expected = "a number that " + std::string(name_of(dtype)) + " can hold",
         .got = given.to_string()});
  return value;
}

nb::object from_scalar(const Scalar& s) {
  if (!numpy_has(s.dtype)) return nb::float_(s.to_double());
  const nb::object type = from_dtype(s.dtype).attr("type");
  if (is_complex(s.dtype)) {
    const auto z = s.to_complex();
    return type(nb::steal(PyComplex_FromDoubles(z.real(), z.imag())));
  }
  if (s.dtype == DType::boolean) return type(nb::bool_(!s.is_zero()));
  if (s.dtype == DType::u64) {
    std::uint64_t value;
    std::memcpy(&value, s.bits, sizeof value);
    return type(nb::int_(value));
  }
  if (is_integer(s.dtype)) return type(nb::int_(s.to_int64()));
  if (s.dtype == DType::f64 || s.dtype == DType::f32 || s.dtype == DType::f16) {
    // Over the bits, so that the payload of a NaN survives.
    const nb::object bytes = nb::steal(
        PyBytes_FromStringAndSize(reinterpret_cast<const char*>(s.bits), static_cast<Py_ssize_t>(size_of(s.dtype))));
    return numpy().attr("frombuffer")(bytes, from_dtype(s.dtype))[0];
  }
  return type(nb::float_(s.to_double()));
}

void bind_dtype(nb::module_& m) {
  nb::class_<ExtendedDType>(m, "DType",
                            "A dtype that NumPy lacks: bfloat16, float8_e4m3fn or float8_e5m2. Equal to its name.")
      .def(
          "__init__",
          [](ExtendedDType* self, nb::handle name, const nb::kwargs& unknown) {
            refuse_unknown(unknown, "DType(name)");
            require(name, "name", "DType(name)");
            new (self) ExtendedDType{to_dtype(name)};
          },
          nb::arg("name").none() = nb::ellipsis(), nb::arg("unknown"),
          nb::sig("def __init__(self, name: object) -> None"))
      .def_prop_ro(
          "name", [](const ExtendedDType& d) { return std::string(name_of(d.value)); },
          "Its name, as other packages have it.")
      .def_prop_ro(
          "itemsize", [](const ExtendedDType& d) { return size_of(d.value); }, "Bytes of an element.")
      .def("__repr__", [](const ExtendedDType& d) { return "strata.DType('" + std::string(name_of(d.value)) + "')"; })
      .def("__str__", [](const ExtendedDType& d) { return std::string(name_of(d.value)); })
      .def("__hash__", [](const ExtendedDType& d) { return static_cast<Py_hash_t>(d.value) + 1; })
      .def("__eq__",
           [](const ExtendedDType& d, nb::handle other) {
             try {
               return to_dtype(other) == d.value;
             } catch (const Error&) { return false; }
           })
      .def("__reduce__",
           [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple(self.attr("name"))); });
  m.def(
      "dtype_name", [](nb::handle h) { return std::string(name_of(to_dtype(h))); }, nb::arg("dtype"),
      "NumPy's name of a dtype given as a NumPy or torch dtype, a Python type or a name. DTypeError.");
  m.def(
      "is_dtype_name", [](const std::string& name) { return is_dtype_name(name); }, nb::arg("name"),
      "Is this the name of a dtype?");
}

}  // namespace strata::bind
