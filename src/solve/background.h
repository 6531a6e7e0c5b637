#pragma once
#include <functional>

namespace strata::solving {

/// work(), on a thread of its own, for which this one waits while it hears Ctrl-C: libraries cannot be stopped in the
/// middle. Where the wait is ended so, the thread works on to its end and nobody looks at what it found: `work` owns
/// everything that it touches.
void in_background(std::function<void()> work);

}  // namespace strata::solving
