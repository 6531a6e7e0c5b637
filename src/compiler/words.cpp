#include "compiler/words.h"

namespace strata::compiler {
namespace {

const std::string& at(const std::vector<std::string>& names, int n) { return names[static_cast<std::size_t>(n)]; }

std::string of_whom(const Words& w, int operand) {
  return " of " + (operand < 0 ? "the result" : at(w.operands, operand));
}

std::string in_words(const BufferBinding& b, const Words& w) {
  const std::string level = std::to_string(b.level), of = of_whom(w, b.operand);
  switch (b.kind) {
    case BufferBinding::pos: return "pos of level " + level + of;
    case BufferBinding::crd:
    case BufferBinding::out_crd: return "crd of level " + level + of;
    case BufferBinding::values:
    case BufferBinding::output: return "values" + of;
    case BufferBinding::alpha: return "one number, which scales the expression";
    case BufferBinding::beta: return "one number, which scales what the result held (0: it is not read)";
    case BufferBinding::out_pos:
      return "ends of the children in level " + level + " of each element of level " + std::to_string(b.level - 1) + of;
    case BufferBinding::out_counts: return "children of each coordinate of level 0" + of;
    case BufferBinding::out_sizes: return "elements of each level" + of + ", in and out";
    case BufferBinding::out_strips: return "the strip" + of + " for each diagonal, from the lowest one on";
    case BufferBinding::out_met: return "0 for each strip, set where a value was put into it";
    case BufferBinding::row_values: return w.value + w.each + ": " + w.absent + ", as it is left";
    case BufferBinding::row_bits:
    case BufferBinding::row_mask:
      return "a bit" + (b.level == 0 ? w.each : " for each of these before") + ", in whole words: 0, as it is left";
  }
  return {};
}

std::string in_words(const ScalarBinding& s, const Words& w) {
  const std::string level = std::to_string(s.level), of = of_whom(w, s.operand), of_level = " of level " + level + of;
  switch (s.kind) {
    case ScalarBinding::extent: return "extent of index " + at(w.indices, s.level);
    case ScalarBinding::bound: return "what " + at(w.bounds, s.level) + " stays below";
    case ScalarBinding::dim_extent: return "extent of dimension " + level + of;
    case ScalarBinding::level_lo: return "least coordinate" + of_level;
    case ScalarBinding::level_size: return "coordinates" + of_level;
    case ScalarBinding::level_slots: return "slots of one parent in level " + level + of;
    case ScalarBinding::stride:
      return "elements between neighbours along " +
             (s.operand < 0 ? "index " + at(w.along, s.level) : "level " + level) + of;
    case ScalarBinding::offset: return "elements before the first one" + of;
    case ScalarBinding::walk_begin: return "0";
    case ScalarBinding::walk_end: return "iterations" + of_level;
    case ScalarBinding::lead: return "rows between a row" + of_level + " and the one to ask for: any number is right";
    case ScalarBinding::batch_coordinate: return "coordinate of batch level " + level + of;
    case ScalarBinding::capacity: return "elements" + of_level + " that there is room for";
  }
  return {};
}

template <class Binding> std::vector<std::string> all_in_words(const std::vector<Binding>& bindings, const Words& w) {
  std::vector<std::string> out;
  for (const auto& b : bindings) out.push_back(in_words(b, w));
  return out;
}

}  // namespace

std::vector<std::string> buffers_in_words(const BoundFunction& k, const Words& w) { return all_in_words(k.buffers, w); }
std::vector<std::string> scalars_in_words(const BoundFunction& k, const Words& w) { return all_in_words(k.scalars, w); }

}  // namespace strata::compiler
