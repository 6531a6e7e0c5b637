#pragma once
// Chunks that add to the same places of a result.
#include "backend/backend.h"
#include "execute/dense_view.h"

namespace strata::execution {

/// walk(c, view) for each of so many shares: share 0 goes to `out`, each other one to a copy that holds `absent`, which
/// combining leaves as it is; the copies are combined with `out` in their order.
template <class F>
void scatter(const DenseView& out, std::int64_t copies, const Scalar& absent, merging::Combine how, const F& walk) {
  if (copies == 1) return walk(std::int64_t{0}, out);
  const std::int64_t size = out.size(), bytes = size * static_cast<std::int64_t>(size_of(out.dtype));
  const Buffer scratch = backend().allocate(out.dtype, size * (copies - 1));
  const auto view = [&](std::int64_t c) {
    return c == 0 ? out : contiguous_like(out, static_cast<char*>(scratch.data) + (c - 1) * bytes);
  };
  in_chunks(copies, [&](std::int64_t c) {
    const DenseView mine = view(c);
    if (c > 0) fill(mine, absent);
    walk(c, mine);
  });
  for (std::int64_t c = 1; c < copies; ++c) combine(out, view(c), how);
}

}  // namespace strata::execution
