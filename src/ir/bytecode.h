#pragma once
// The interpreter's machine: a flat list of instructions over registers of 8 bytes, one register per lane. Every
// instruction holds the address of the function that runs it, so that a step costs one indirect call (a few ns).
#include <cstdint>
#include <memory>
#include <vector>

#include "ir/ir.h"

namespace strata::ir {

struct BytecodeFrame {
  std::uint64_t* registers;
  void* const* buffers;
  std::int32_t status;
  std::uint32_t jumps = 0;  ///< backward ones, so that long loops ask now and then whether to stop
};

struct Instruction;
/// Runs one instruction; gives the next, or null at the end.
using Step = const Instruction* (*)(const Instruction*, BytecodeFrame&);

struct Instruction {
  Step run = nullptr;
  std::int32_t dst = 0, a = 0, b = 0, c = 0;  ///< registers (the first of `lanes`)
  std::int32_t lanes = 1;
  std::int32_t extra = 0;   ///< buffer, lane, status or distance of a jump
  std::int64_t number = 0;  ///< step of a loop, packed bits
};

/// The functions that run instructions. They throw InternalError where the operation does not exist.
namespace steps {
Step binary(Op op, DType t, int lanes);
Step unary(Op op, DType t);
Step cast(DType to, DType from, int lanes);
Step fma(DType t, int lanes);
Step reduce(Op op, DType t);
Step load(const BufferParam& buffer, int lanes);
Step store(const BufferParam& buffer, int lanes);
Step store_or(const BufferParam& buffer);
Step copy();                          ///< dst = a
Step broadcast();                     ///< every lane of dst = a
Step select_scalar();                 ///< dst = a ? b : c, a one boolean
Step select_lanes();                  ///< lane by lane
Step jump();                          ///< by `extra`
Step jump_unless();                   ///< unless a
Step jump_unless_i64(Op comparison);  ///< unless a op b
Step loop_next();                     ///< dst += number; jump while dst < a
Step fail();                          ///< with status `extra`
Step halt();
}  // namespace steps

/// A function ready to run.
struct Bytecode {
  std::vector<Instruction> code;
  std::vector<std::uint64_t>
      constants;  ///< the first registers; then begin, end, chunk, the scalars, and everything else
  std::size_t registers = 0;
  std::size_t scalars = 0;
};
Bytecode translate(const Function& f);

}  // namespace strata::ir
