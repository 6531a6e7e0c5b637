// A user's decisions about loops.
#include "arguments.h"
#include "evaluate.h"

namespace strata::bind {
namespace {

std::vector<std::string> words(const nb::args& given) {
  std::vector<std::string> out;
  for (nb::handle h : given) {
    if (!PyUnicode_Check(h.ptr()))
      throw ExpressionError(
          {.what = "the name of a loop is a text", .expected = "names of indices", .got = Py_TYPE(h.ptr())->tp_name});
    out.emplace_back(utf8_of(h));
  }
  return out;
}

ResultAssembly to_assembly(const std::string& how) {
  return parse_schedule("assemble(" + how + ")").verbs()[0].assembly;
}

}  // namespace

std::optional<Schedule> to_schedule(nb::handle h) {
  if (h.is_none()) return std::nullopt;
  if (nb::isinstance<Schedule>(h)) return held<Schedule>(h);
  if (nb::isinstance<nb::str>(h)) return parse_schedule(nb::cast<std::string>(h));
  throw ExpressionError({.what = "no schedule",
                         .expected = "a text such as 'reorder(i, k, j); vectorize(k)', or a strata.Schedule",
                         .got = Py_TYPE(h.ptr())->tp_name});
}

void bind_schedule(nb::module_& m) {
  nb::class_<Schedule>(
      m, "Schedule",
      "How the loops of one expression are arranged, for evaluate(schedule=) and explain(schedule=). What is left "
      "open is decided as without it. Loops are named after indices; verbs return the schedule.\n\n"
      "    Schedule().split('k', 'ko', 'ki', 64).reorder('ko', 'i', 'j', 'ki').vectorize('ki')\n"
      "    Schedule('split(k, ko, ki, 64); reorder(ko, i, j, ki); vectorize(ki)')     # the same\n\n"
      "ExpressionError: a text that is none. ScheduleError where it is used, if the expression does not allow it: the "
      "message names the dependence.")
      .def(nb::init<>())
      .def(
          "__init__",
          [](Schedule* self, nb::handle text, const nb::kwargs& unknown) {
            const char* const call = "Schedule(text)";
            refuse_unknown(unknown, call);
            new (self) Schedule(parse_schedule(to_text(text, "text", call)));
          },
          nb::arg("text"), nb::arg("unknown"), nb::sig("def __init__(self, text: str) -> None"))
      .def(
          "split",
          [](Schedule& s, std::string index, std::string outer, std::string inner, std::int64_t size) -> Schedule& {
            return s.split(std::move(index), std::move(outer), std::move(inner), size);
          },
          nb::arg("index"), nb::arg("outer"), nb::arg("inner"), nb::arg("size"), nb::rv_policy::reference,
          "index = outer * size + inner.")
      .def(
          "reorder", [](Schedule& s, const nb::args& indices) -> Schedule& { return s.reorder(words(indices)); },
          nb::arg("indices"), nb::rv_policy::reference,
          "These loops stand in this order, from the outside in; where others stand is left open.")
      .def("parallelize", &Schedule::parallelize, nb::arg("index"), nb::rv_policy::reference,
           "The outermost loop, which is cut into chunks for the threads.")
      .def("vectorize", &Schedule::vectorize, nb::arg("index"), nb::rv_policy::reference,
           "The innermost loop; several of its iterations run at once.")
      .def("unroll", &Schedule::unroll, nb::arg("index"), nb::rv_policy::reference,
           "Written out; its extent must be known, as that of a split's inner loop is.")
      .def(
          "precompute",
          [](Schedule& s, const std::string& assignment, nb::handle format) -> Schedule& {
            const auto rank = static_cast<int>(parse_assignment(assignment).indices.size());
            return s.precompute(assignment, format.is_none() ? std::nullopt : std::optional(to_format(format, rank)));
          },
          nb::arg("assignment"), nb::arg("format") = nb::none(), nb::rv_policy::reference,
          "'T(i,k) = A(i,j) * B(j,k)' is computed first and stands for what it is in the expression.")
      .def(
          "assemble", [](Schedule& s, const std::string& how) -> Schedule& { return s.assemble(to_assembly(how)); },
          nb::arg("how"), nb::rv_policy::reference,
          "How a sparse result is built: 'append' (elements come in their order), 'workspace' (one index is gathered "
          "in a row "
          "first), or 'pattern' (of an operand).")
      .def("__str__", &Schedule::to_string)
      .def("__repr__", [](const Schedule& s) { return "strata.Schedule('" + s.to_string() + "')"; })
      .def("__eq__", [](const Schedule& a, const Schedule& b) { return a.to_string() == b.to_string(); })
      .def("__eq__", [](const Schedule&, nb::handle) { return nb::borrow(Py_NotImplemented); })
      .def("__hash__", [](const Schedule& s) { return std::hash<std::string>{}(s.to_string()); });
}

}  // namespace strata::bind
