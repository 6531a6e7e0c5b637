#pragma once
#include <string>

#include "ir/ir.h"

namespace strata {

/// Readable, freestanding C (GNU C17: vector types, restrict, __builtin_*): compiles with gcc and clang without
/// headers, as `int f(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk)`. With -ffp-contract=off
/// -fwrapv it agrees bitwise with ir::interpret.
std::string emit_c(const ir::Function& f);

}  // namespace strata
