// The interpreter as a kernel.
#include "ir/interpret.h"

#include <algorithm>

#include "ir/bytecode.h"

namespace strata::ir {
namespace {

class Interpreted final : public Kernel {
 public:
  explicit Interpreted(Bytecode code) : code_(std::move(code)) {}

  std::int32_t run(const KernelArgs& args, std::int64_t begin, std::int64_t end, std::int64_t chunk) const override {
    constexpr std::size_t on_stack = 512;
    std::uint64_t small[on_stack];
    std::unique_ptr<std::uint64_t[]> large;
    if (code_.registers > on_stack) large.reset(new std::uint64_t[code_.registers]);
    std::uint64_t* const registers = large ? large.get() : small;

    std::uint64_t* r = std::copy(code_.constants.begin(), code_.constants.end(), registers);
    for (const std::int64_t v : {begin, end, chunk}) *r++ = static_cast<std::uint64_t>(v);
    for (std::size_t i = 0; i < code_.scalars; ++i) *r++ = static_cast<std::uint64_t>(args.scalars[i]);

    BytecodeFrame frame{registers, args.buffers, 0, 0};
    for (const Instruction* i = code_.code.data(); i != nullptr;) i = i->run(i, frame);
    return frame.status;
  }
  std::string engine() const override { return "interpreter"; }

 private:
  Bytecode code_;
};

}  // namespace

KernelPtr interpret(const Function& f) {
  verify(f);
  return std::make_shared<Interpreted>(translate(f));
}

}  // namespace strata::ir
