// Integers and shapes between Python and the core.
#include "bind.h"

namespace strata::bind {

Index to_index(nb::handle h) {
  if (!PyIndex_Check(h.ptr())) return {};
  nb::object index = nb::steal(PyNumber_Index(h.ptr()));
  if (!index.is_valid()) throw nb::python_error();  // its own exception, whatever it is
  Index i;
  i.is_integer = true;
  i.value = PyLong_AsLongLongAndOverflow(index.ptr(), &i.overflow);
  if (i.overflow) i.value = i.overflow < 0 ? INT64_MIN : INT64_MAX;
  return i;
}

Shape to_shape(nb::handle h) {
  Shape shape;
  auto extent = [&](nb::handle item) {
    const Index index = to_index(item);
    if (!index.is_integer)
      throw TensorError({.what = "an extent is not an integer",
                         .expected = "a tuple of integers",
                         .got = nb::cast<std::string>(nb::repr(item))});
    if (index.overflow || index.value < 0)
      throw TensorError({.what = "an extent is negative or does not fit 64 bits",
                         .expected = "0 to 9223372036854775807",
                         .got = nb::cast<std::string>(nb::repr(item))});
    shape.push_back(index.value);
  };
  if (PyIndex_Check(h.ptr())) {
    extent(h);
    return shape;
  }
  const auto refuse = [&] {
    throw TensorError(
        {.what = "this is not a shape", .expected = "a tuple of integers", .got = Py_TYPE(h.ptr())->tp_name});
  };
  if (!PySequence_Check(h.ptr()) || PyUnicode_Check(h.ptr()) || PyBytes_Check(h.ptr())) refuse();
  // A tuple of its own: __index__ of an item may change the list that it stands in.
  nb::object items = nb::steal(PySequence_Tuple(h.ptr()));
  if (!items.is_valid()) throw nb::python_error();
  if (PyTuple_GET_SIZE(items.ptr()) > max_dims)
    throw TensorError({.what = "a shape of " + std::to_string(PyTuple_GET_SIZE(items.ptr())) + " dimensions",
                       .expected = "at most " + std::to_string(max_dims)});
  for (nb::handle item : items) extent(item);
  return shape;
}

nb::tuple from_shape(std::span<const std::int64_t> shape) {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(shape.size()));
  if (!tuple) throw nb::python_error();
  for (std::size_t d = 0; d < shape.size(); ++d)
    PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(d), PyLong_FromLongLong(shape[d]));
  return nb::steal<nb::tuple>(tuple);
}

}  // namespace strata::bind
