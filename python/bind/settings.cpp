// st.settings, and Ctrl-C.
#include <pthread.h>

#include <atomic>

#include "arguments.h"
#include "backend/kernel.h"
#include "backend/pool.h"
#include "base/setting_words.h"
#include "bind.h"
#include "kernels/vendor/mkl_library.h"
#include "machine/machine.h"

namespace strata::bind {
namespace {

std::atomic<unsigned long> main_thread{0};

/// Called now and then between chunks on the thread that asked for the work. Only the main thread hears signals.
void check_signals() {
  if (PyThread_get_thread_ident() != main_thread.load(std::memory_order_relaxed)) return;
  Gil gil;
  if (gil && PyErr_CheckSignals() != 0) throw nb::python_error();
}

/// A misspelt word must not be taken for one of the others in silence.
void set_word(std::string& setting, const char* name, const std::string& value,
              std::span<const std::string_view> allowed) {
  if (!words::holds(allowed, value))
    throw PlanError({.what = std::string("the setting '") + name + "' has no such value",
                     .expected = words::list(allowed),
                     .got = value});
  setting = value;
}

void set_dump(Settings& s, const std::string& value) {
  if (!words::holds_all(words::dump, value))
    throw PlanError({.what = "the setting 'dump' has no such stage",
                     .expected = words::list(words::dump) + ", or several with commas between",
                     .got = value});
  s.dump = value;
}

std::int64_t whole_number(nb::handle h, const char* name, std::int64_t most) {
  const Index n = to_index(h);
  const std::string expected = "a whole number from 0 to " + std::to_string(most);
  if (!n.is_integer)
    throw DTypeError({.what = std::string("the setting '") + name + "' is a number",
                      .expected = expected,
                      .got = Py_TYPE(h.ptr())->tp_name});
  if (n.overflow != 0 || n.value < 0 || n.value > most)
    throw PlanError({.what = std::string("the setting '") + name + "' is out of range",
                     .expected = expected,
                     .got = str_of(nb::borrow(h))});
  return n.value;
}

}  // namespace

void bind_settings(nb::module_& m) {
  nb::class_<Settings>(
      m, "Settings",
      "Every knob, in one place; read from the environment once. Change them at start, not while kernels run.")
      .def_prop_rw(
          "threads", [](const Settings&) { return thread_count(); },
          [](Settings&, nb::handle n) {
            set_thread_count(static_cast<int>(whole_number(n, "threads", words::most_threads)));
          },
          nb::for_setter(nb::sig("def threads(self, arg: int, /) -> None")),
          "Threads that kernels use; 0 goes back to the default.")
      .def_prop_rw(
          "engine", [](const Settings& s) { return s.engine; },
          [](Settings& s, const std::string& word) { set_word(s.engine, "engine", word, words::engine); },
          "Which engine runs a plan: auto, kernels, vendor, jit or interpreter; each serves where it can.")
      .def_prop_rw(
          "jit", [](const Settings& s) { return s.jit; },
          [](Settings& s, const std::string& word) { set_word(s.jit, "jit", word, words::jit); },
          "Which compiler serves at run time: auto, clang, subprocess or off.")
      .def_prop_rw(
          "cc", [](const Settings& s) { return s.cc; },
          [](Settings& s, nb::handle text) { s.cc = to_text(text, "cc", "settings.cc = 'gcc'"); },
          nb::for_setter(nb::sig("def cc(self, arg: str, /) -> None")),
          "The C compiler that 'subprocess' runs; '' looks for cc, gcc, clang and ziglang.")
      .def_prop_rw(
          "cache", [](const Settings& s) { return s.cache; },
          [](Settings& s, const std::string& word) { set_word(s.cache, "cache", word, words::cache); },
          "auto or off: compiled objects are kept on disk.")
      .def_prop_rw(
          "cache_dir", [](const Settings& s) { return s.cache_dir; },
          [](Settings& s, nb::handle path) { s.cache_dir = to_text(path, "cache_dir", "a path as text"); },
          nb::for_setter(nb::sig("def cache_dir(self, arg: str, /) -> None")), "Where they are kept.")
      .def_prop_rw(
          "dump", [](const Settings& s) { return s.dump; }, set_dump,
          "Stages to print, e.g. 'graph,loops': graph, schedule, loops, source.")
      .def_prop_rw(
          "int32_limit", [](const Settings& s) { return s.int32_limit; },
          [](Settings& s, nb::handle n) { s.int32_limit = whole_number(n, "int32_limit", words::most_int32); },
          nb::for_setter(nb::sig("def int32_limit(self, arg: int, /) -> None")),
          "Largest value of an automatic int32 index.")
      .def_prop_rw(
          "vendor", [](const Settings& s) { return s.vendor; },
          [](Settings& s, nb::handle value) {
            if (!PyBool_Check(value.ptr()))
              argument_error("vendor is True or False", "settings.vendor = True", Py_TYPE(value.ptr())->tp_name);
            s.vendor = value.is(nb::handle(Py_True));
          },
          nb::for_setter(nb::sig("def vendor(self, arg: bool, /) -> None")),
          "May plans use vendors' kernels where those were measured to be faster?")
      .def("__repr__", [](const Settings&) { return describe_settings(); });
  m.attr("settings") = nb::cast(&settings(), nb::rv_policy::reference);
  for (const char* prefix : {"prefix", "base_prefix"})  // where pip and conda put MKL
    kernels::mkl::look_in(nb::cast<std::string>(nb::module_::import_("sys").attr(prefix)) + "/lib");
  m.def(
      "machine",
      [] {
        const Machine& own = machine();
        nb::dict d;
        d["measured on"] = own.kind;
        d["vectors"] = own.vector_bytes;
        d["first level"] = own.first_level;
        d["second level"] = own.second_level;
        d["gathers"] = own.fast_gathers;
        return d;
      },
      "What is known of this processor: bytes of its vectors and of a core's caches, and how kernels go about it.");
  m.def("compiler_description", &compiler_description, "Which compiler would compile a kernel now.");
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });  // whoever forks is the child's
  set_interrupt_check(check_signals);
}

}  // namespace strata::bind
