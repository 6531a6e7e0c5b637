#include "compiler/binding_text.h"

namespace strata::compiler {
namespace {

const std::string& at(const std::vector<std::string>& names, int n) { return names[static_cast<std::size_t>(n)]; }

std::string of_whom(const BindingNames& names, int operand) {
  return " of " + (operand < 0 ? "the result" : at(names.operands, operand));
}

std::string text_of(const BufferBinding& b, const BindingNames& names) {
  const std::string level = std::to_string(b.level), of = of_whom(names, b.operand);
  switch (b.kind) {
    case BufferBinding::pos: return "pos of level " + level + of;
    case BufferBinding::crd:
    case BufferBinding::out_crd: return "crd of level " + level + of;
    case BufferBinding::values:
    case BufferBinding::output: return "values" + of;
    case BufferBinding::out_pos:
      return "ends of the children in level " + level + " of each element of level " + std::to_string(b.level - 1) + of;
    case BufferBinding::out_counts: return "children of each coordinate of level 0" + of;
    case BufferBinding::out_sizes: return "elements of each level" + of + ", in and out";
    case BufferBinding::out_strips: return "the strip" + of + " for each diagonal, from the lowest one on";
    case BufferBinding::out_met: return "0 for each strip, set where a value was put into it";
    case BufferBinding::row_values: return names.value + names.each + ": " + names.absent + ", as it is left";
    case BufferBinding::row_slots: return "the slot" + names.each + ", or one of a row before it; -1 at first";
    case BufferBinding::row_met: return "0 for each slot of a row, as it is left";
    case BufferBinding::row_bits:
    case BufferBinding::row_mask:
      return "a bit" + (b.level == 0 ? names.each : " for each of these before") + ", in whole words: 0, as it is left";
  }
  return {};
}

std::string text_of(const ScalarBinding& s, const BindingNames& names) {
  const std::string level = std::to_string(s.level), of = of_whom(names, s.operand),
                    of_level = " of level " + level + of;
  switch (s.kind) {
    case ScalarBinding::extent: return "extent of index " + at(names.indices, s.level);
    case ScalarBinding::bound: return "what " + at(names.bounds, s.level) + " stays below";
    case ScalarBinding::level_size: return "coordinates" + of_level;
    case ScalarBinding::level_slots: return "slots of one parent in level " + level + of;
    case ScalarBinding::stride:
      return "elements between neighbours along " +
             (s.operand < 0 ? "index " + at(names.along, s.level) : "level " + level) + of;
    case ScalarBinding::offset: return "elements before the first one" + of;
    case ScalarBinding::walk_begin: return "0";
    case ScalarBinding::walk_end: return "extent of index " + at(names.indices, s.level);
    case ScalarBinding::pos_stride: return "elements of pos" + of_level + " from one batch to the next";
    case ScalarBinding::crd_stride: return "elements of crd" + of_level + " from one batch to the next";
    case ScalarBinding::batch_stride: return "values" + of + " from one batch to the next";
    case ScalarBinding::lead: return "rows between a row" + of_level + " and the one to ask for: any number is right";
    case ScalarBinding::capacity: return "elements" + of_level + " that there is room for";
  }
  return {};
}

template <class Binding> std::vector<std::string> all_texts(const std::vector<Binding>& bindings,
                                                            const BindingNames& names) {
  std::vector<std::string> out;
  for (const auto& b : bindings) out.push_back(text_of(b, names));
  return out;
}

}  // namespace

std::vector<std::string> buffer_texts(const BoundFunction& k, const BindingNames& names) {
  return all_texts(k.buffers, names);
}
std::vector<std::string> scalar_texts(const BoundFunction& k, const BindingNames& names) {
  return all_texts(k.scalars, names);
}

}  // namespace strata::compiler
