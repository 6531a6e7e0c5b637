#pragma once
// What runs kernels: memory, launches, and the few loops between them. Neither kernels nor results are known here.
#include <functional>

#include "backend/kernel.h"
#include "strata/buffer.h"

namespace strata {

/// Its own functions are the host's. Safe to call from several threads at once.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Memory that holds nothing yet.
  virtual Buffer allocate(DType dtype, std::int64_t size) const;
  /// `size` times this value.
  virtual Buffer filled(const Scalar& value, std::int64_t size) const;
  virtual void copy(void* to, const void* from, std::int64_t bytes) const;
  /// to[at + k] = from[k] + by, for k below n; `from` of i64.
  virtual void copy_positions(const Buffer& to, std::int64_t at, const Buffer& from, std::int64_t n,
                              std::int64_t by) const;
  /// to[0] = 0, to[k + 1] = to[k] + counts[k]; `counts` of i64, `to` of one element more.
  virtual void scan(const Buffer& to, const Buffer& counts) const;
  /// One chunk, [begin, end), of a kernel; its status.
  virtual std::int32_t launch(const Kernel& kernel, const KernelArgs& args, std::int64_t begin, std::int64_t end,
                              std::int64_t chunk) const;
  /// f(c) for each c below n, in any order and side by side, as parallel_for.
  virtual void parallel(std::int64_t n, const std::function<void(std::int64_t)>& f) const;
};

/// What kernels run on.
const Backend& backend();

/// The same without a call where there is one chunk, and without memory for what f refers to.
template <class F> void in_chunks(std::int64_t n, const F& f) {
  if (n == 1) f(std::int64_t{0});
  else backend().parallel(n, std::cref(f));
}

namespace testing {
/// Kernels run on this one while the object lives.
class UseBackend {
 public:
  explicit UseBackend(const Backend& one);
  ~UseBackend();
  UseBackend(const UseBackend&) = delete;
  UseBackend& operator=(const UseBackend&) = delete;

 private:
  const Backend* before_;
};
}  // namespace testing

}  // namespace strata
