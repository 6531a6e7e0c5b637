// The kernel of a unit as a C file, with the meaning of what it is called with.
#include "compiler/binding_text.h"
#include "compiler/emit/c_file.h"
#include "compiler/emit/emit_c.h"
#include "plan/nest/run.h"

namespace strata::direct {

std::string LoopNest::emit(const std::string& expression) const {
  const merging::LoweredNest lowered = merging::lower(input());
  CFile file{.computes = expression};
  for (std::size_t k = 0; k < stored().size(); ++k) {
    const Access& a = u_.accesses[k];
    const std::string line = "  " + a.name + ": " + stored()[k].type.to_string() +
                             (o_.convert[k] ? " (first converted to that)" : "") +
                             (a.name.starts_with('#') ? ": 0, 1, 2, ..." : "");
    if (std::find(file.notes.begin(), file.notes.end(), line) == file.notes.end()) file.notes.push_back(line);
  }
  std::string extents = "The text holds for other extents too";
  if (fitted_->columns > 0) extents += ", but for those up to 128 of indices that only dense operands have";
  if (const i64 least = fitted_->least_extent(); least > 1)
    extents += ", of index " + u_.names[static_cast<std::size_t>(o_.indices[static_cast<std::size_t>(input().tile)])] +
               " from " + std::to_string(least) + " on";
  file.notes.push_back(extents + ".");
  const std::string parts = (o_.blocks ? "a part of the runs of " + std::to_string(o_.blocks.rows) : "a part of the") +
                            std::string(" coordinates of index ") + u_.names[static_cast<std::size_t>(o_.indices[0])];
  file.range = parts + (input().summed[0] ? "; one part after the other" : "; any parts, side by side too");
  if (o_.pattern >= 0) {
    file.effect.push_back("stores a value in each slot of " + u_.accesses[static_cast<std::size_t>(o_.pattern)].name +
                          "; returns 0");
  } else if (o_.dense_result) {
    file.effect.push_back(meets() || u_.output.empty()
                              ? "adds to the result, which must hold " + u_.absent.to_string() + "; returns 0"
                              : "stores the result; returns 0");
  } else {
    file.range = parts + ", the whole or one after the other; side by side too, where each has a result of its own";
    file.effect.push_back("appends to a result of format " + format(lowered.levels.size()).to_string() + "; returns 0");
    file.effect.push_back(
        "What there is no room for is counted and not stored: make room for as many elements as there are then, set");
    file.effect.push_back("their numbers to what they were before, and call again.");
    if (input().dense_top) file.effect.push_back("pos of level 1 of the result is the running sum of its children.");
  }
  compiler::BindingNames names;
  for (const Access& a : u_.accesses) names.operands.push_back(a.name);
  for (int i : o_.indices) names.indices.push_back(u_.names[static_cast<std::size_t>(i)]);
  names.along = names.indices;
  for (const auto& bound : u_.bounds) {
    std::string& sum = names.bounds.emplace_back();
    for (const auto& [i, c] : bound.terms)
      sum += (sum.empty() ? "" : " + ") + (c == 1 ? "" : std::to_string(c) + " * ") +
             u_.names[static_cast<std::size_t>(i)];
  }
  names.value = lowered.tail.empty() && !o_.blocks ? "a value" : "a block of values";
  if (lowered.workspace >= 0)
    names.each = " for each " + (o_.blocks ? std::to_string(o_.blocks.columns) + " coordinates" : "coordinate") +
                 " of index " + names.indices[static_cast<std::size_t>(lowered.workspace)];
  names.absent = u_.absent.to_string();
  file.buffers = buffer_texts(lowered, names);
  file.scalars = scalar_texts(lowered, names);
  return c_file(file, lowered.function, emit_c(lowered.function));
}

std::string Run::emit_main(const BoundFunction& kernel, const std::string& name, const Tensor& expected) const {
  const execution::DenseResult result = dense(false, {});
  const execution::Inputs in{.operands = tensors_, .extents = extents(), .bounds = bounds()};
  std::vector<CArgument> buffers;
  for (const auto& b : kernel.buffers) {
    if (const Buffer* array = execution::array_of(b, in)) buffers.push_back({*array});
    else if (b.kind == BufferBinding::output)
      buffers.push_back({Buffer::filled(result.start.value_or(u_.absent), result.size), true});
    else throw InternalError("a kernel with a dense result takes an array of its own");
  }
  const execution::Arguments args(kernel, in, {.strides = result.strides, .offset = result.offset});
  return c_main(name, buffers, {args.scalars(), kernel.scalars.size()}, top_extent(), expected.values());
}

std::string emit_main(const Unit& unit, const Order& order, const Unit& tiny, std::span<const Tensor> operands,
                      const std::string& name, const Tensor& expected) {
  const merging::LoweredNest kernel = merging::lower(FittedNest(unit, order).input);
  return Run(tiny, order, operands).emit_main(kernel, name, expected);
}

}  // namespace strata::direct
