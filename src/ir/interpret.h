#pragma once
#include "backend/kernel.h"
#include "ir/ir.h"

namespace strata::ir {

/// The slow, obvious engine: runs a function as it is written. Every other engine must agree with it, bit for bit
/// (library functions such as exp excepted).
KernelPtr interpret(const Function& f);

}  // namespace strata::ir
