#include "backend/backend.h"

#include <cstring>

#include "backend/pool.h"

namespace strata {
namespace {

const Backend host{};
const Backend* current = &host;

/// Calls f with a pointer to positions of i32 or i64.
template <class F> void with_positions(const Buffer& b, const F& f) {
  if (b.dtype == DType::i32) f(static_cast<std::int32_t*>(b.data));
  else f(static_cast<std::int64_t*>(b.data));
}

}  // namespace

Buffer Backend::allocate(DType dtype, std::int64_t size) const { return Buffer::allocate(dtype, size); }

Buffer Backend::filled(const Scalar& value, std::int64_t size) const { return Buffer::filled(value, size); }

void Backend::copy(void* to, const void* from, std::int64_t bytes) const {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

void Backend::copy_positions(const Buffer& to, std::int64_t at, const Buffer& from, std::int64_t n,
                             std::int64_t by) const {
  const auto* ends = static_cast<const std::int64_t*>(from.data);
  with_positions(to, [&]<class T>(T* p) {
    for (std::int64_t k = 0; k < n; ++k) p[at + k] = static_cast<T>(ends[k] + by);
  });
}

void Backend::scan(const Buffer& to, const Buffer& counts) const {
  const auto* n = static_cast<const std::int64_t*>(counts.data);
  with_positions(to, [&]<class T>(T* p) {
    std::int64_t sum = p[0] = 0;
    for (std::int64_t k = 0; k < counts.size; ++k) p[k + 1] = static_cast<T>(sum += n[k]);
  });
}

std::int32_t Backend::launch(const Kernel& kernel, const KernelArgs& args, std::int64_t begin, std::int64_t end,
                             std::int64_t chunk) const {
  return kernel.run(args, begin, end, chunk);
}

void Backend::parallel(std::int64_t n, const std::function<void(std::int64_t)>& f) const { parallel_for(n, f); }

const Backend& backend() { return *current; }

namespace testing {
UseBackend::UseBackend(const Backend& one) : before_(std::exchange(current, &one)) {}
UseBackend::~UseBackend() { current = before_; }
}  // namespace testing

}  // namespace strata
