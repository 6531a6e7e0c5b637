#include "ops/direct/kernels.h"

#include "base/lru_cache.h"
#include "compiler/emit/emit_c.h"
#include "plan/epoch.h"

namespace strata::direct {
namespace {

/// All that decides about the text, and the settings that decide about the engine.
std::string key_of(const merging::Input& in) {
  std::string key;
  const auto number = [&](auto n) { key += std::to_string(static_cast<std::int64_t>(n)) + ","; };
  const auto scalar = [&](const Scalar& s) { key.append(reinterpret_cast<const char*>(s.bits), sizeof s.bits); };
  number(in.num_vars);
  for (char s : in.summed) number(s);
  for (auto c : in.constants) number(c);
  for (auto h : in.hints) number(h);
  for (const auto& b : in.bounds) {
    for (const auto& [v, c] : b.terms) number(v), number(c);
    key += ';';
  }
  const auto node = [&](const auto& self, const merging::Node& n) -> void {
    number(n.kind), number(n.op), number(n.operand), number(n.conjugate), number(n.dtype), number(n.compute),
        number(n.no_sign);
    scalar(n.value);
    for (int a : n.arguments) number(a);
    for (char c : n.needed) number(c);
    for (const auto& f : n.formula) self(self, f);
    key += ';';
  };
  for (const auto& n : in.nodes) node(node, n);
  for (const auto& o : in.operands) {
    number(o.dense), number(o.contiguous), number(o.twin), number(o.each_slot), number(o.type.shared_value),
        number(o.type.dtype), number(o.type.pos_dtype), number(o.type.crd_dtype);
    for (int l = 0; l < o.type.format.num_levels(); ++l) number(o.type.format.level(l).kind);
    for (int v : o.vars) number(v);
    for (double f : o.fibers) number(f);
    key += ';';
  }
  number(in.combine), number(in.ring), number(in.compute), number(in.mask), number(in.complement);
  number(in.lanes), number(in.dense_result), number(in.contiguous), number(in.pattern), number(in.slots),
      number(in.dense_top), number(in.dense_tail), number(in.crd);
  number(in.blocks.rows), number(in.blocks.columns), number(in.blocks.column_major);
  number(in.diagonals.row), number(in.diagonals.column), number(in.diagonals.along_columns);
  scalar(in.absent), scalar(in.fill);
  number(in.others.has_value());
  if (in.others) scalar(*in.others);
  const auto epoch = planning::Epoch::now();
  return key + epoch.engine + "," + epoch.jit + "," + epoch.cc;
}

using Cache = LruCache<Kernel, std::string, std::shared_ptr<const Kernel>>;
Cache& cache() {
  static Cache& c = *new Cache(1024);  // never destroyed: expressions may be evaluated while the program ends
  return c;
}
/// Made when the library is loaded: a fork in the middle of its making would leave the child waiting for the end of it.
[[maybe_unused]] const Cache& made_early = cache();

}  // namespace

std::shared_ptr<const Kernel> kernel_for(const merging::Input& input) {
  std::string key = key_of(input);
  if (auto found = cache().find(key)) return *found;
  auto made = std::make_shared<Kernel>();
  made->lowered = merging::lower(input);
  execution::dump("graph", made->lowered.text);  // one text says both: the loops in their order, and what each walks
  execution::dump("schedule", made->lowered.text);
  made->executable = execution::make_executable(made->lowered.function, emit_c(made->lowered.function));
  cache().insert(std::move(key), made);
  return made;
}

}  // namespace strata::direct
