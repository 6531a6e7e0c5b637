#include "kernels/vendor/mkl_library.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/fork_mutex.h"

namespace strata::kernels::mkl {

namespace {

constexpr const char* names[] = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"};
constexpr int sequential = 1, lp64 = 0, ilp64 = 1;  // MKL_THREADING_SEQUENTIAL, MKL_INTERFACE_LP64, MKL_INTERFACE_ILP64

bool exists(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0;
}
bool is_folder(const std::string& path) {
  struct stat s;
  return stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}
std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}
std::string last_error() {
  const char* text = dlerror();
  return text ? text : "unknown error";
}

/// Never destroyed: plans may be made while the program ends.
struct LibraryCache {
  std::vector<std::string> folders;  ///< of look_in()
  struct Outcome {
    std::unique_ptr<const Library> library;
    std::string why = "MKL could not be looked for";
  };
  std::map<std::string, Outcome> by_wish;  ///< by the value of STRATA_MKL
};
LibraryCache& known() {
  static LibraryCache& k = *new LibraryCache;
  return k;
}
std::mutex& mutex = fork_mutex<LibraryCache>();  // made when the library is loaded

template <class F> void find(void* lib, const std::string& name, F& f) {
  f = reinterpret_cast<F>(dlsym(lib, name.c_str()));
}

template <class V, class I> void find_all(void* lib, char letter, const char* suffix, Functions<V, I>& f) {
  const std::string head = std::string("mkl_sparse_") + letter + "_", tail = suffix;
  find(lib, head + "create_csr" + tail, f.create_csr);
  find(lib, head + "create_bsr" + tail, f.create_bsr);
  find(lib, head + "mv" + tail, f.mv);
  find(lib, head + "mm" + tail, f.mm);
  find(lib, "mkl_sparse_destroy" + tail, f.destroy);
}

/// Libraries that libmkl_rt opens by itself at the first call. It ends the process where they are missing: refused
/// here.
std::string missing_beside(const std::string& path) {
  const auto slash = path.rfind('/');
  const std::string folder = path.substr(0, slash + 1), file = path.substr(slash + 1), stem = "libmkl_rt";
  if (file.compare(0, stem.size(), stem) != 0) return "";
  const std::string suffix = file.substr(stem.size());
  for (const char* part : {"libmkl_core", "libmkl_intel_lp64", "libmkl_sequential", "libmkl_def"})
    if (!exists(folder + part + suffix)) return folder + part + suffix;
  return "";
}

}  // namespace

struct Opener {
  std::string why;

  /// The library at this path, or of this name, if it can serve; `loaded`: somebody else has opened it.
  std::unique_ptr<const Library> use(void* handle, bool loaded) {
    auto lib = std::make_unique<Library>();
    if (const link_map* map = nullptr; dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) lib->path_ = map->l_name;
    const auto refuse = [&](std::string reason) {
      why = std::move(reason);
      dlclose(handle);
      return nullptr;
    };
    if (const std::string missing = missing_beside(lib->path_); !missing.empty())
      return refuse(lib->path_ + " needs " + missing + ", which is missing");
    int (*threading)(int), (*interface)(int), (*threads)(int);
    void (*version)(char*, int);
    find(handle, "MKL_Set_Threading_Layer", threading);
    find(handle, "MKL_Set_Interface_Layer", interface);
    find(handle, "MKL_Set_Num_Threads_Local", threads);
    find(handle, "MKL_Get_Version_String", version);
    Functions<double, std::int32_t> some{};
    find_all(handle, 'd', "", some);
    if (!threading || !interface || !threads || !version || !some.complete())
      return refuse(lib->path_ + " lacks functions of MKL's sparse BLAS");
    // Whoever loaded it before us, or chose a layer, has a use of its own for MKL's threads and integers.
    const bool mine = !loaded && environment("MKL_THREADING_LAYER").empty();
    if (!mine || threading(sequential) != sequential) lib->set_num_threads_local_ = threads;
    const std::string chosen = environment("MKL_INTERFACE_LAYER");
    const bool wide = chosen.find("ILP64") != std::string::npos || (interface(lp64) & ilp64) != 0;
    lib->handle_ = handle, lib->wide_ = wide;
    const auto letter = [&]<class V>(char l, V*) {
      if (!wide) find_all(handle, l, "", std::get<Functions<V, std::int32_t>>(lib->functions_));
      find_all(handle, l, "_64", std::get<Functions<V, std::int64_t>>(lib->functions_));
    };
    letter('s', static_cast<float*>(nullptr));
    letter('d', static_cast<double*>(nullptr));
    letter('c', static_cast<std::complex<float>*>(nullptr));
    letter('z', static_cast<std::complex<double>*>(nullptr));
    char text[256] = {};
    version(text, static_cast<int>(sizeof text) - 1);
    lib->version_ = text;
    while (!lib->version_.empty() && lib->version_.back() == ' ') lib->version_.pop_back();
    return lib;
  }

  std::unique_ptr<const Library> open(const std::string& path) {
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    const bool loaded = handle != nullptr;
    if (!handle) handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!handle) {
      why = "MKL cannot be opened: " + last_error();
      return nullptr;
    }
    return use(handle, loaded);
  }

  std::unique_ptr<const Library> open_in(const std::string& folder) {
    for (const char* name : names)
      if (exists(folder + "/" + name)) return open(folder + "/" + name);
    return nullptr;
  }

  std::unique_ptr<const Library> look_around(const std::vector<std::string>& told) {
    for (const char* name : names)
      if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) return use(handle, true);
    std::vector<std::string> folders = told;
    if (const auto root = environment("MKLROOT"); !root.empty())
      folders.insert(folders.end(), {root + "/lib", root + "/lib/intel64"});
    for (const char* variable : {"CONDA_PREFIX", "VIRTUAL_ENV"})
      if (const auto prefix = environment(variable); !prefix.empty()) folders.push_back(prefix + "/lib");
    std::string first;  // the first reason that is not just absence
    const auto tried = [&](std::unique_ptr<const Library> lib) {
      if (first.empty()) first = why;
      return lib;
    };
    for (const auto& folder : folders)
      if (auto lib = tried(open_in(folder))) return lib;
    for (const char* name : names)
      if (void* handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL))
        if (auto lib = tried(use(handle, false))) return lib;
    for (const char* folder : {"/opt/intel/oneapi/mkl/latest/lib", "/opt/intel/oneapi/mkl/latest/lib/intel64"})
      if (auto lib = tried(open_in(folder))) return lib;
    why =
        first.empty() ? "MKL is not installed (no libmkl_rt is found; STRATA_MKL may name its file or folder)" : first;
    return nullptr;
  }

  std::unique_ptr<const Library> find_it(const std::string& wish, const std::vector<std::string>& told) {
    if (wish == "off") {
      why = "MKL is switched off (STRATA_MKL)";
      return nullptr;
    }
    if (wish.empty()) return look_around(told);
    if (!is_folder(wish)) return open(wish);
    auto lib = open_in(wish);
    if (why.empty()) why = "MKL is not where STRATA_MKL says: no libmkl_rt.so in " + wish;
    return lib;
  }
};

void* Library::symbol(const char* name) const { return dlsym(handle_, name); }

const Library* library(std::string& why) {
  const std::string wish = environment("STRATA_MKL");
  const std::lock_guard lock(mutex);
  auto [it, fresh] = known().by_wish.try_emplace(wish);
  if (fresh) {
    Opener opener;
    it->second.library = opener.find_it(wish, known().folders);
    it->second.why = opener.why;
  }
  if (!it->second.library) why = it->second.why;
  return it->second.library.get();
}

void look_in(std::string folder) {
  const std::lock_guard lock(mutex);
  known().folders.push_back(std::move(folder));
}

}  // namespace strata::kernels::mkl
