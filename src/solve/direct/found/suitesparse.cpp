#include "solve/direct/found/suitesparse.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fork_mutex.h"
#include "strata/error.h"

namespace strata::solving {
namespace {

struct LibraryNames {
  const char* what;
  std::vector<std::string> files;
  const char* package;
};
const LibraryNames& names_of(SuiteSparse which) {
  // Versions whose structures are known; the plain name belongs to packages for developers.
  static const LibraryNames cholmod{
      "CHOLMOD", {"libcholmod.so.5", "libcholmod.so.4", "libcholmod.so.3", "libcholmod.so"}, "libcholmod3"};
  static const LibraryNames umfpack{"UMFPACK", {"libumfpack.so.6", "libumfpack.so.5", "libumfpack.so"}, "libumfpack5"};
  return which == SuiteSparse::cholmod ? cholmod : umfpack;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// Never destroyed: systems may be solved while the program ends.
struct Found {
  std::unique_ptr<const FoundLibrary> library;
  std::string why;
};
std::map<std::pair<SuiteSparse, std::string>, Found>& known() {
  static auto& k = *new std::map<std::pair<SuiteSparse, std::string>, Found>;
  return k;
}
std::mutex& mutex = fork_mutex<Found>();  // made when the library is loaded

Found look(const LibraryNames& names, const std::string& wish) {
  Found found;
  if (wish == "off") {
    found.why = "SuiteSparse is switched off (STRATA_SUITESPARSE)";
    return found;
  }
  std::string failed;
  const auto open = [&](const std::string& path, int more) {
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | more);
    if (!handle) {
      // What is not there is no news; what is there and does not open is.
      const char* text = dlerror();
      const std::string told = text ? text : "";
      if (more == 0 && told.find(path + ": cannot open") == std::string::npos && failed.empty()) failed = told;
      return false;
    }
    std::string full = path;
    if (const link_map* map = nullptr; dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map) full = map->l_name;
    found.library = std::make_unique<FoundLibrary>(handle, full);
    return true;
  };
  std::vector<std::string> folders;
  if (!wish.empty()) {
    folders.push_back(wish);
  } else {
    for (const auto& file : names.files)
      if (open(file, RTLD_NOLOAD)) return found;
    for (const char* variable : {"CONDA_PREFIX", "VIRTUAL_ENV"})
      if (const auto prefix = environment(variable); !prefix.empty()) folders.push_back(prefix + "/lib");
  }
  for (const auto& folder : folders)
    for (const auto& file : names.files)
      if (open(folder + "/" + file, 0)) return found;
  if (wish.empty())
    for (const auto& file : names.files)
      if (open(file, 0)) return found;
  found.why = !failed.empty() ? failed
              : wish.empty()  ? std::string("no ") + names.files[0] + " or older is found"
                              : "nothing of it is in " + wish + ", which STRATA_SUITESPARSE names";
  return found;
}

}  // namespace

void* FoundLibrary::symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

void refuse_found(const std::string& what, const std::string& why, const std::string& fix) {
  throw Unsupported({.what = what + " cannot be used: " + why,
                     .expected = "a library that is found at run time",
                     .fix = fix + "; or leave library= out, and Eigen factorizes"});
}

const FoundLibrary& suitesparse(SuiteSparse which) {
  const LibraryNames& names = names_of(which);
  const std::string wish = environment("STRATA_SUITESPARSE");
  const std::lock_guard lock(mutex);
  auto [it, fresh] = known().try_emplace({which, wish});
  if (fresh) it->second = look(names, wish);
  if (!it->second.library)
    refuse_found(names.what, it->second.why,
                 std::string("apt-get install ") + names.package + " (Debian), or conda install suitesparse");
  return *it->second.library;
}

}  // namespace strata::solving
