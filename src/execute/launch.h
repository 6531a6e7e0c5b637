#pragma once
// A kernel of compiler/lower.h at work: what that header asks of who runs it.
#include "compiler/lower.h"
#include "execute/arguments.h"
#include "execute/dense_view.h"
#include "execute/executable.h"

namespace strata::execution {

/// A kernel for one part of the operand that it walks.
struct LaunchedKernel : Executable {
  LoweredProduct lowered;
  std::int64_t free_work = 1;      ///< product of the extents that only dense operands have
  std::int64_t output_extent = 0;  ///< of the launch's output dimension
};

/// All chunks of all batches of `in.part`. `out` already holds beta * out where the kernel does not apply beta.
void launch(const LaunchedKernel& k, const Inputs& in, const DenseView& out);

}  // namespace strata::execution
