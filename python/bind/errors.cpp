// Errors of the core become the classes of strata/errors.py, with the parts of the message as attributes.
#include <stdexcept>

#include "backend/allocator.h"
#include "bind.h"

namespace strata::bind {
namespace {

/// Texts come from files and callers, and may hold any bytes.
nb::object text(std::string_view s) {
  return nb::steal(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "backslashreplace"));
}

void raise(const char* name, const Problem& p, const char* message) {
  nb::object cls = nb::module_::import_("strata.errors").attr(name);
  nb::object where = p.text.empty() ? nb::none() : nb::object(nb::make_tuple(p.where.begin, p.where.end));
  nb::object error =
      cls.attr("_of")(text(message), text(p.what), text(p.expected), text(p.got), text(p.fix), text(p.text), where);
  PyErr_SetObject(cls.ptr(), error.ptr());
}

void raise_plain(const char* name, const char* message) {
  PyErr_SetString(nb::module_::import_("strata.errors").attr(name).ptr(), message);
}

void translate(const std::exception_ptr& caught, void*) {
  try {
    try {
      std::rethrow_exception(caught);
    } catch (const FormatError& e) { raise("FormatError", e.problem(), e.what()); } catch (const DTypeError& e) {
      raise("DTypeError", e.problem(), e.what());
    } catch (const IndexError& e) { raise("IndexError", e.problem(), e.what()); } catch (const TensorError& e) {
      raise("TensorError", e.problem(), e.what());
    } catch (const ExpressionError& e) { raise("ExpressionError", e.problem(), e.what()); } catch (const PlanError& e) {
      raise("PlanError", e.problem(), e.what());
    } catch (const ScheduleError& e) { raise("ScheduleError", e.problem(), e.what()); } catch (const FileError& e) {
      raise("FileError", e.problem(), e.what());
    } catch (const SingularError& e) {
      raise("SingularError", e.problem(), e.what());
    } catch (const IndefiniteError& e) {
      raise("IndefiniteError", e.problem(), e.what());
    } catch (const SolveError& e) { raise("SolveError", e.problem(), e.what()); } catch (const Unsupported& e) {
      raise("Unsupported", e.problem(), e.what());
    } catch (const Error& e) { raise("Error", e.problem(), e.what()); } catch (const std::bad_cast&) {
      const Problem p{.what = "an argument of another type than is needed here"};
      raise("DTypeError", p, to_string(p).c_str());
    } catch (const OutOfMemory& e) { PyErr_SetString(PyExc_MemoryError, e.what()); } catch (const std::bad_alloc&) {
      PyErr_SetString(PyExc_MemoryError, "out of memory");
    } catch (const std::length_error&) {  // of a vector or a string
      PyErr_SetString(PyExc_MemoryError, "out of memory: more bytes asked for than can be counted");
    } catch (const RuntimeFailure& e) { raise_plain("RuntimeFailure", e.what()); } catch (const InternalError& e) {
      raise_plain("InternalError", e.what());
    }
  } catch (nb::python_error& e) {
    e.restore();  // the interpreter is short of memory, or shutting down
  }
}

}  // namespace

void refuse_unmade(nb::handle h) {
  throw TensorError(
      {.what = std::string("this ") + Py_TYPE(h.ptr())->tp_name + " was never made: its constructor did not run",
       .expected = "an object that a constructor or a function of strata gave",
       .fix = "call super().__init__(...) in the class's own __init__"});
}

std::string_view utf8_of(nb::handle text) {
  Py_ssize_t size = 0;
  if (const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size)) return {bytes, static_cast<std::size_t>(size)};
  if (!PyErr_ExceptionMatches(PyExc_UnicodeError)) throw nb::python_error();
  PyErr_Clear();
  throw Error({.what = "a text with characters that are no Unicode (half of a surrogate pair)",
               .expected = "a text that UTF-8 can express"});
}

void set_python_error(const std::exception_ptr& caught) {
  try {
    try {
      translate(caught, nullptr);
    } catch (nb::python_error& e) { e.restore(); }
  } catch (const nb::builtin_exception& e) {
    PyErr_SetString(PyExc_TypeError, e.what());
  } catch (const std::exception& e) { PyErr_SetString(PyExc_RuntimeError, e.what()); }
}

void bind_errors(nb::module_& m) {
  nb::register_exception_translator(translate);
  m.def(
      "format_problem",
      [](const std::string& what, const std::string& expected, const std::string& got, const std::string& fix) {
        return to_string(Problem{what, expected, got, fix});
      },
      nb::arg("what"), nb::arg("expected") = "", nb::arg("got") = "", nb::arg("fix") = "",
      "The printed form of a problem, as every error of Strata shows it.");
}

}  // namespace strata::bind
