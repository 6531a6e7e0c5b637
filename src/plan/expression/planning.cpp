#include "plan/expression/planning.h"
#include "base/small_float.h"

#include "expr/depth.h"
#include "plan/expression/ways.h"
#include "plan/rewrite/index_values.h"
#include "plan/rewrite/mask.h"
#include "plan/rewrite/padded.h"

namespace strata::evaluation {
namespace {

struct Result {
  Explained explained;
  bool by_types = false;
  std::string way;
};

Result on_statistics(Result r) {
  r.by_types = false;
  return r;
}

Result planned(const Assignment& a, const Operands& operands, const Asked& asked, const Destination::Outline& to) {
  if (const auto whole = with_index_values(a, operands))
    return on_statistics(planned(whole->assignment, whole->operands, asked, to));
  if (const auto inside = with_padding(a, operands, asked)) {
    Result out = on_statistics(planned(inside->assignment, inside->operands, inside->options, to));
    out.explained.text = [first = a.to_string() + "\npadded first, and then\n", then = std::move(out.explained.text)] {
      return first + then();
    };
    return out;
  }
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
  static_cast<void>(index_extents(a, shapes));  // what does not fit is said in the caller's own words
  if (!asked.general && !asked.schedule && asked.semiring == Semiring::plus_times)
    if (const auto own = with_own_indices(a, operands)) return planned(*own, operands, asked, to);
  const Request request(a, operands, asked, to);
  auto [lazy, ways] = by_first_way(request);
  auto text = [a, operands, dtypes = request.dtypes, tried = std::move(ways)] {
    return heading(a, operands, dtypes) + tried();
  };
  return {{std::move(lazy), std::move(text)}, request.by_types, std::move(request.way)};
}

/// Narrow floats that are scaled on their way into memory are rounded there, and not before.
Asked unrounded(Asked asked, const Operands& operands, const Destination::Outline& to) {
  if (!to.scales || !to.dtype || operands.empty()) return asked;
  DType result = operands.begin()->second.dtype();
  for (const auto& [name, t] : operands) result = promote(result, t.dtype());
  result = asked.result_dtype.value_or(result);
  if (is_small_float(result)) asked.result_dtype = planning::accumulator(result);
  return asked;
}

/// The operands as planning sees them: types, and what is known of them.
std::vector<Lazy> seen(std::span<const TensorType> types, const Counts& counts) {
  std::vector<Lazy> out;
  for (std::size_t k = 0; k < types.size(); ++k) {
    out.push_back(Lazy::given(static_cast<int>(k), types[k], counts.stats[k]));
    if (counts.twins[k] != static_cast<int>(k)) out[k].set_twin(out[static_cast<std::size_t>(counts.twins[k])]);
  }
  return out;
}

}  // namespace

PlannedPtr plan_for(const Asking& asking) {
  return planning::plan_for(asking, [&](planning::Key key, const Counts& counts) -> planning::Planned {
    if (asking.einsum) {
      std::vector<Shape> shapes;
      for (std::size_t k = 0; k < asking.einsum->operands.size(); ++k) shapes.push_back(asking.type(k).shape);
      static_cast<void>(index_extents(*asking.einsum, shapes));
    }
    std::vector<Lazy> all = seen(key.types(), counts);
    std::optional<Lazy> mask;
    if (key.has_mask()) mask = std::move(all.back());
    Operands operands;
    double read = 0;
    for (std::size_t k = 0; k < key.names().size(); ++k) {
      operands.emplace(key.names()[k], all[k]);
      read += planning::bytes_of(all[k].type(), all[k].stats());
    }
    const Asking own = key.asking();
    const Asked asked = with_true_mask(planning::asked_of(*own.options, std::move(mask)));
    auto [result, by_types, way] = planned(*own.assignment, operands, unrounded(asked, operands, own.to), own.to);
    const auto program = std::make_shared<const planning::Program>(std::move(result.lazy));
    auto text = [ways = std::move(result.text), program, read] { return ways() + cost(*program, read); };
    return {std::move(key), counts, by_types, std::move(way), std::move(text), program};
  });
}

Tensor run(const planning::Program& program, std::span<const Tensor> tensors, const Destination& to) {
  if (to.out || to.scales())
    if (auto done = program.deliver(tensors, to)) return *std::move(done);
  return delivered(program.run(tensors), to);
}

Tensor run(const Asking& asking, const Destination& to) { return run(*plan_for(asking)->program, asking.tensors, to); }

}  // namespace strata::evaluation

namespace strata::direct {

namespace {

/// Steps of steps that this thread is planning.
thread_local int steps_inside = 0;
constexpr int most_steps_inside = 32;  ///< beyond them rewrites only make what they were given

struct Inside {
  Inside() { ++steps_inside; }
  ~Inside() { --steps_inside; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

}  // namespace

Explained planned(const Assignment& a, const Operands& operands, const Asked& given) {
  const Inside one_more;
  Asked asked = given;
  asked.general = asked.general || steps_inside > most_steps_inside;
  return on_a_large_stack(stack_for(a.value.depth()),
                          [&] { return evaluation::planned(a, operands, asked, {}).explained; });
}

}  // namespace strata::direct
