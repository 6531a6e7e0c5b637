#pragma once
// SuiteSparse's libraries, found at run time and never linked: CHOLMOD's supernodes and UMFPACK are under the GPL,
// which binds whoever gives a program away together with them.
#include <string>

namespace strata::solving {

/// An opened library. It stays open until the process ends.
class FoundLibrary {
 public:
  FoundLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  /// The function of this name; null where the library lacks it.
  template <class F> F* function(const std::string& name) const { return reinterpret_cast<F*>(symbol(name)); }
  const std::string& path() const { return path_; }

 private:
  void* symbol(const std::string& name) const;
  void* handle_;
  std::string path_;
};

enum class SuiteSparse : unsigned char { cholmod, umfpack };
/// Opened at the first call: the copy that the process has loaded, CONDA_PREFIX, VIRTUAL_ENV, the loader's own places;
/// STRATA_SUITESPARSE names a folder instead, or "off". Unsupported, which says how to get it.
const FoundLibrary& suitesparse(SuiteSparse which);
[[noreturn]] void refuse_found(const std::string& what, const std::string& why, const std::string& fix);

}  // namespace strata::solving
