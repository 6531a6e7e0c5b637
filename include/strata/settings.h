#pragma once
// Every knob, in one place. Read from the environment once; programs may change them.
#include <string>

namespace strata {

struct Settings {
  int threads = 0;  ///< STRATA_NUM_THREADS; 0: cores that this process may use (OMP_NUM_THREADS lowers it)
  std::string engine =
      "auto";  ///< STRATA_ENGINE: auto, kernels, vendor, jit, interpreter (each forces that engine where it can serve)
  std::string jit = "auto";  ///< STRATA_JIT: auto, clang, subprocess, off
  std::string cc;  ///< STRATA_CC: C compiler of the subprocess back end ("" looks for cc, gcc, clang, ziglang)
  std::string cache = "auto";  ///< STRATA_CACHE: auto, off (compiled objects on disk)
  std::string cache_dir;       ///< STRATA_CACHE_DIR: default ~/.cache/strata/v1
  std::string dump;            ///< STRATA_DUMP: stages to print of graph, schedule, loops, source, e.g. "graph,loops"
  long long int32_limit =
      2147483647;      ///< STRATA_INT32_LIMIT: largest value an automatic int32 index may hold (tests lower it)
  bool vendor = true;  ///< STRATA_VENDOR: may plans use vendor kernels (MKL) where those were measured to be faster
};

/// The process-wide settings. Changing them while kernels run elsewhere is a race: do it at start.
Settings& settings();
/// What the environment says now. Error names a variable whose value has no meaning.
Settings settings_from_environment();
/// One line per setting: name, value, environment variable, meaning.
std::string describe_settings();

}  // namespace strata
