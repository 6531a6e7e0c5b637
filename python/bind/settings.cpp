// st.settings, and Ctrl-C.
#include <nanobind/stl/string.h>

#include "backend/kernel.h"
#include "backend/pool.h"
#include "bind.h"
#include "kernels/vendor/mkl_library.h"

namespace strata::bind {
namespace {

unsigned long main_thread = 0;

/// Called now and then between chunks on the thread that asked for the work. Only the main thread hears signals.
void check_signals() {
  if (PyThread_get_thread_ident() != main_thread) return;
  Gil gil;
  if (gil && PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace

void bind_settings(nb::module_& m) {
  nb::class_<Settings>(
      m, "Settings",
      "Every knob, in one place; read from the environment once. Change them at start, not while kernels run.")
      .def_prop_rw(
          "threads", [](const Settings&) { return thread_count(); },
          [](Settings&, int n) {
            if (n < 0)
              throw PlanError({.what = "a number of threads cannot be negative",
                               .expected = "1 or more; 0: as many as this process may use",
                               .got = std::to_string(n)});
            set_thread_count(n);
          },
          "Threads that kernels use; 0 goes back to the default.")
      .def_rw("engine", &Settings::engine, "auto, kernels, vendor, jit or interpreter")
      .def_rw("jit", &Settings::jit, "auto, clang, subprocess or off")
      .def_rw("cc", &Settings::cc)
      .def_rw("cache", &Settings::cache, "auto or off: compiled objects on disk")
      .def_rw("cache_dir", &Settings::cache_dir)
      .def_rw("dump", &Settings::dump, "stages to print, e.g. 'graph,loops,source'")
      .def_rw("int32_limit", &Settings::int32_limit)
      .def_rw("vendor", &Settings::vendor, "may plans use vendors' kernels where those were measured to be faster?")
      .def("__repr__", [](const Settings&) { return describe_settings(); });
  m.attr("settings") = nb::cast(&settings(), nb::rv_policy::reference);
  for (const char* prefix : {"prefix", "base_prefix"})  // where pip and conda put MKL
    kernels::mkl::look_in(nb::cast<std::string>(nb::module_::import_("sys").attr(prefix)) + "/lib");
  m.def("compiler_description", &compiler_description, "Which compiler would compile a kernel now.");
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  set_interrupt_check(check_signals);
}

}  // namespace strata::bind
