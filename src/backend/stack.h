#pragma once
// Recursion follows what users write, and their threads may have stacks of any size.
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

namespace strata {

/// Bytes that are left of this thread's stack; the largest number where that is not known.
std::size_t stack_left() noexcept;

/// f(); where this thread has less than `needed` bytes left, on a thread with a large stack, for which this one waits.
/// What f throws is thrown here. f asks for no lock that the caller holds, and for Python's only where he does not.
void with_stack(std::size_t needed, const std::function<void()>& f);

/// The same for what returns something.
template <class F> auto on_a_large_stack(std::size_t needed, const F& f) {
  if (stack_left() >= needed) return f();
  std::optional<decltype(f())> result;
  with_stack(needed, [&] { result.emplace(f()); });
  return std::move(*result);
}

}  // namespace strata
