#include "arguments.h"

namespace strata::bind {

void argument_error(const std::string& what, const std::string& call, const std::string& got, const std::string& fix) {
  const nb::object type = nb::module_::import_("strata.errors").attr("ArgumentError");
  const nb::object error = type(what, nb::arg("expected") = call, nb::arg("got") = got, nb::arg("fix") = fix);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

void refuse_unknown(const nb::kwargs& given, const std::string& call) {
  for (auto [name, value] : given) {
    const std::string word = nb::cast<std::string>(name);
    argument_error(call.substr(0, call.find('(')) + "() has no argument '" + word + "'", call, word + "=");
  }
}

void require(nb::handle given, const char* name, const std::string& call) {
  if (given.is(nb::handle(Py_Ellipsis)))
    argument_error(call.substr(0, call.find('(')) + "() needs " + name, call, "none", std::string(name) + "=...");
}

std::string to_text(nb::handle given, const char* name, const std::string& call) {
  if (!PyUnicode_Check(given.ptr()))
    argument_error(std::string(name) + " is a text", call, Py_TYPE(given.ptr())->tp_name);
  return nb::cast<std::string>(given);
}

}  // namespace strata::bind
