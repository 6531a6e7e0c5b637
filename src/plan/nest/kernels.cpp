#include "plan/nest/kernels.h"

#include "base/lru_cache.h"
#include "compiler/emit/emit_c.h"
#include "strata/settings.h"

namespace strata::direct {
namespace {

/// All that decides about the text, and the settings that decide about the engine.
struct KernelKey {
  merging::Input input;
  std::string engine, jit, cc;
  bool operator==(const KernelKey&) const = default;
};

/// Of what mostly differs: equality looks at everything.
struct KernelHash {
  std::size_t operator()(const KernelKey& k) const {
    std::size_t h = k.input.nodes.size();
    const auto mix = [&h](auto v) { h = (h ^ static_cast<std::size_t>(v)) * 0x9E3779B97F4A7C15ull, h ^= h >> 29; };
    for (const auto& n : k.input.nodes) mix(n.kind), mix(n.op), mix(n.operand), mix(n.dtype);
    for (const auto& o : k.input.operands) {
      mix(o.type.dtype), mix(o.type.crd_dtype), mix(o.dense);
      for (const auto& l : o.type.levels) mix(l.kind), mix(l.unique);
      for (int v : o.vars) mix(v);
      for (double f : o.fibers) mix(f);
    }
    for (char s : k.input.summed) mix(s);
    for (auto c : k.input.constants) mix(c);
    mix(k.input.combine), mix(k.input.mask), mix(k.input.pattern), mix(k.input.dense_result);
    return h;
  }
};

using Cache = LruCache<NestKernel, KernelKey, std::shared_ptr<const NestKernel>, KernelHash>;
Cache& cache() {
  static Cache& c = *new Cache(1024);  // never destroyed: expressions may be evaluated while the program ends
  return c;
}
/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const Cache& made_early = cache();

}  // namespace

std::shared_ptr<const NestKernel> kernel_for(const merging::Input& input) {
  const Settings& s = settings();
  KernelKey key{input, s.engine, s.jit, s.cc};
  if (auto found = cache().find(key)) return *found;
  auto made = std::make_shared<NestKernel>();
  made->lowered = merging::lower(input);
  execution::dump("graph", made->lowered.text);  // one text says both: the loops in their order, and what each walks
  execution::dump("schedule", made->lowered.text);
  made->executable = execution::make_executable(made->lowered.function, emit_c(made->lowered.function));
  cache().insert(std::move(key), made);
  return made;
}

bool is_ahead(const merging::Input& input) {
  const merging::LoweredNest lowered = merging::lower(input);
  return is_compiled_ahead(emit_c(lowered.function), lowered.function.name);
}

}  // namespace strata::direct
