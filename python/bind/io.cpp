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

/// A text or bytes; `held` keeps it alive.
std::string_view text_of(nb::handle text, nb::object& held) {
  held = PyUnicode_Check(text.ptr()) ? nb::steal(PyUnicode_AsUTF8String(text.ptr())) : nb::borrow(text);
  if (!held.is_valid()) throw nb::python_error();
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(held.ptr(), &data, &size) != 0) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

Verify verify_of(const std::string& word) {
  if (word == "all") return Verify::all;
  if (word == "structure") return Verify::structure;
  if (word == "header") return Verify::header;
  throw FileError({.what = "no such way to verify a file", .expected = "all, structure, header", .got = word});
}

FrosttOptions frostt_options(nb::handle shape, nb::handle dtype) {
  FrosttOptions options;
  if (!shape.is_none()) options.shape = to_shape(shape);
  if (!dtype.is_none()) options.dtype = to_dtype(dtype);
  return options;
}

void bind_container(nb::module_& m) {
  m.def(
      "save",
      [](nb::handle path, nb::handle tensors) {
        const std::string p = path_of(path);
        NamedTensors named;
        for (nb::handle item : tensors)
          named.emplace_back(nb::cast<std::string>(nb::handle(PyTuple_GET_ITEM(item.ptr(), 0))),
                             held<Tensor>(nb::handle(PyTuple_GET_ITEM(item.ptr(), 1))));
        NoGil no_gil;
        save(p, named);
      },
      nb::arg("path"), nb::arg("tensors"), "Writes (name, tensor) pairs as a .st file. FileError.");
  m.def(
      "load",
      [](nb::handle path, const std::string& verify, bool mmap) {
        const std::string p = path_of(path);
        const LoadOptions options{verify_of(verify), mmap};
        NamedTensors named;
        {
          NoGil no_gil;
          named = load_all(p, options);
        }
        nb::list out;
        for (auto& [name, t] : named) out.append(nb::make_tuple(name, std::move(t)));
        return out;
      },
      nb::arg("path"), nb::arg("verify") = "all", nb::arg("mmap") = true,
      "The (name, tensor) pairs of a .st file. FileError.");
  m.def(
      "container_header",
      [](nb::handle path) {
        const std::string p = path_of(path);
        NoGil no_gil;
        return container_header(p);
      },
      nb::arg("path"), "The header of a .st file, checked: JSON. FileError.");
}

}  // namespace

void bind_io(nb::module_& m) {
  bind_container(m);
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
        nb::object bytes;
        const std::string_view view = text_of(text, bytes);
        const auto report = progress_of(progress);
        NoGil no_gil;
        return parse_matrix_market(view, name, report);
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
  m.def(
      "read_frostt",
      [](nb::handle path, nb::handle shape, nb::handle dtype, nb::handle progress) {
        const std::string p = path_of(path);
        const FrosttOptions options = frostt_options(shape, dtype);
        const auto report = progress_of(progress);
        NoGil no_gil;
        return read_frostt(p, options, report);
      },
      nb::arg("path"), nb::arg("shape") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("progress") = nb::none(),
      "Reads a FROSTT file as COO, sorted, duplicates added. FileError with line and column.");
  m.def(
      "parse_frostt",
      [](nb::handle text, const std::string& name, nb::handle shape, nb::handle dtype, nb::handle progress) {
        nb::object bytes;
        const std::string_view view = text_of(text, bytes);
        const FrosttOptions options = frostt_options(shape, dtype);
        const auto report = progress_of(progress);
        NoGil no_gil;
        return parse_frostt(view, name, options, report);
      },
      nb::arg("text"), nb::arg("name") = "<text>", nb::arg("shape") = nb::none(), nb::arg("dtype") = nb::none(),
      nb::arg("progress") = nb::none(), "As read_frostt, from a text or its bytes.");
  m.def(
      "write_frostt",
      [](nb::handle path, const Tensor& t) {
        const std::string p = path_of(path);
        NoGil no_gil;
        write_frostt(p, t);
      },
      nb::arg("path"), nb::arg("t"), "Writes the stored elements; values read back bit for bit. FileError.");
}

}  // namespace strata::bind
