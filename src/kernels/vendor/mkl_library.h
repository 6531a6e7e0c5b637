#pragma once
// Intel's MKL, found at run time and never linked: the sparse BLAS of libmkl_rt by element type and width of its
// integers.
//
// MKL runs on one thread inside our chunks. Where nobody has loaded it before us it is told to be sequential, so that
// no OpenMP runtime enters the process: two of them stall each other, and libgomp hangs after a fork.
#include <complex>
#include <cstdint>
#include <string>
#include <tuple>

namespace strata::kernels::mkl {

using Handle = void*;
struct Description {
  int type, mode, diagonal;
};
inline constexpr Description general{20, 0, 0};
inline constexpr int zero_based = 0, not_transposed = 10, transposed = 11, row_major = 101, column_major = 102;

/// C functions for one element type and one integer type; null where this MKL lacks them. A result of 0 is success.
template <class V, class I> struct Functions {
  int (*create_csr)(Handle*, int base, I rows, I columns, const I* begin, const I* end, const I* crd, const V* values);
  int (*create_bsr)(Handle*, int base, int layout, I rows, I columns, I block, const I* begin, const I* end,
                    const I* crd, const V* values);
  int (*mv)(int operation, V alpha, Handle, Description, const V* x, V beta, V* y);
  int (*mm)(int operation, V alpha, Handle, Description, int layout, const V* x, I columns, I ldx, V beta, V* y, I ldy);
  int (*destroy)(Handle);
  bool complete() const { return create_csr && create_bsr && mv && mm && destroy; }
};

/// An opened libmkl_rt. It stays open until the process ends.
class Library {
 public:
  template <class V, class I> const Functions<V, I>& functions() const { return std::get<Functions<V, I>>(functions_); }
  /// A function outside the sparse BLAS; null where this MKL lacks it.
  template <class F> F* function(const char* name) const { return reinterpret_cast<F*>(symbol(name)); }
  /// Do functions without a suffix take integers of 64 bits?
  bool wide() const { return wide_; }
  const std::string& path() const { return path_; }
  const std::string& version() const { return version_; }

 private:
  friend struct Opener;
  friend class OneThread;
  template <class V> using Both = std::tuple<Functions<V, std::int32_t>, Functions<V, std::int64_t>>;
  decltype(std::tuple_cat(Both<float>{}, Both<double>{}, Both<std::complex<float>>{},
                          Both<std::complex<double>>{})) functions_{};
  void* symbol(const char* name) const;

  void* handle_ = nullptr;
  bool wide_ = false;
  int (*set_num_threads_local_)(int) = nullptr;  ///< null where it is sequential anyway
  std::string path_, version_;
};

/// MKL, opened at the first call; null and the reason where there is none. STRATA_MKL names its file or its folder
/// ("off": none); otherwise: the copy that the process has loaded, the folders of look_in(), MKLROOT, CONDA_PREFIX,
/// VIRTUAL_ENV, the loader's own places, /opt/intel.
const Library* library(std::string& why);
/// A folder to look in (Python's environment). Call it before the first plan.
void look_in(std::string folder);

/// While it lives, MKL uses one thread when called from this thread.
class OneThread {
 public:
  explicit OneThread(const Library& l) : set_(l.set_num_threads_local_), before_(set_ ? set_(1) : 0) {}
  ~OneThread() {
    if (set_) set_(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int (*set_)(int);
  int before_;
};

}  // namespace strata::kernels::mkl
