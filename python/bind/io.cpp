// Files.
#include "bind.h"

namespace strata::bind {
std::string path_of(nb::handle h) {
  nb::object path = nb::steal(PyOS_FSPath(h.ptr()));
  if (!path.is_valid()) throw nb::python_error();
  nb::object bytes;
  if (PyBytes_Check(path.ptr())) {
    bytes = path;
  } else {
    bytes = nb::steal(PyUnicode_EncodeFSDefault(path.ptr()));
    if (!bytes.is_valid()) throw nb::python_error();
  }
  const std::string text(PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
  if (text.find('\0') != std::string::npos) throw FileError({.what = "a path with a NUL character"});
  return text;
}

namespace {

std::function<void(double)> progress_of(nb::handle h) {
  if (h.is_none()) return {};
  return [held = keep_alive(nb::borrow(h))](double share) {
    Gil gil;
    nb::handle(static_cast<PyObject*>(held.get()))(share);
  };
}

}  // namespace

void bind_io(nb::module_& m) {
  m.def(
      "read_matrix_market",
      [](nb::handle path, nb::handle progress) {
        const std::string p = path_of(path);
        const auto report = progress_of(progress);
        NoGil no_gil;
        return read_matrix_market(p, report);
      },
      nb::arg("path"), nb::arg("progress") = nb::none(),
      "Reads a Matrix Market file: coordinate files give COO (sorted, duplicates added), array files a dense tensor. "
      "`progress` is called with the share done. "
      "FileError with line and column.");
  m.def(
      "parse_matrix_market",
      [](nb::handle text, const std::string& name, nb::handle progress) {
        const nb::object bytes =
            PyUnicode_Check(text.ptr()) ? nb::steal(PyUnicode_AsUTF8String(text.ptr())) : nb::borrow(text);
        if (!bytes.is_valid()) throw nb::python_error();
        char* data = nullptr;
        Py_ssize_t size = 0;
        if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw nb::python_error();
        const auto report = progress_of(progress);
        NoGil no_gil;
        return parse_matrix_market({data, static_cast<std::size_t>(size)}, name, report);
      },
      nb::arg("text"), nb::arg("name") = "<text>", nb::arg("progress") = nb::none(),
      "As read_matrix_market, from a text or its bytes.");
  m.def(
      "write_matrix_market",
      [](nb::handle path, const Tensor& t) {
        const std::string p = path_of(path);
        NoGil no_gil;
        write_matrix_market(p, t);
      },
      nb::arg("path"), nb::arg("t"), "Writes a 2-D tensor; values read back bit for bit. FileError.");
}

}  // namespace strata::bind
