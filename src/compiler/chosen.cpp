// A dense factor that chooses rows: most rows of a frontier hold nothing. Of 64 coordinates at a time it is noted who
// is chosen, without a jump for each, and the rows of those to come are asked for: they lie far apart, and a miss for
// each in turn is what such loops wait for.
#include <algorithm>

#include "compiler/nest.h"

namespace strata::merging {

namespace {

constexpr int words_ahead = 4;  ///< measured: one hides half of what four hide

}  // namespace

Stmt Nest::prefetch_children(int var, const Place& at) {
  Stmts out;
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k) {
    const auto o = static_cast<std::size_t>(k);
    if (operand(k).twin >= 0 || at.present[o] || !has_level(k, var, at) ||
        kind(k, at.level[o]) != LevelKind::compressed)
      continue;
    const int l = at.level[o];
    const std::string suffix = std::to_string(l), stem = name_of_operand(k);
    const int pos = buffer(BufferBinding::pos, k, l, stem + "_pos" + suffix, operand(k).type.pos_dtype);
    const auto end_of = [&](const Expr& p) { return ir::cast(DType::i64, ir::load(params_.param(pos), pos, p)); };
    const std::string first = names_.fresh("first"), last = names_.fresh("last");
    out.push_back(ir::let(first, end_of(at.position[o])));
    out.push_back(ir::let(last, end_of(at.position[o] + 1) - 1));
    // Of long rows the hardware asks for what lies between.
    for (const auto& p : {first, last}) {
      const int crd = buffer(BufferBinding::crd, k, l, stem + "_crd" + suffix, operand(k).type.crd_dtype);
      out.push_back(ir::prefetch(crd, ir::var(p)));
      if (l + 1 < static_cast<int>(operand(k).vars.size()) || k == in_.mask || operand(k).type.shared_value) continue;
      const int values = buffer(BufferBinding::values, k, 0, stem + "_values", part_dtype(operand(k).type.dtype));
      out.push_back(ir::prefetch(values, is_complex(operand(k).type.dtype) ? ir::var(p) * 2 : ir::var(p)));
    }
  }
  return out.empty() ? nullptr : ir::block(std::move(out));
}

Stmt Nest::chosen_coordinates(int var, const Place& given) {
  const auto chooses = [&](int n) { return last_var_[static_cast<std::size_t>(n)] == var && annihilates(in_, n); };
  bool any = false;
  for (int n = 0; n < static_cast<int>(in_.nodes.size()); ++n) any = any || chooses(n);
  if (!any || var + 1 >= in_.num_vars) return nullptr;
  Place at = given;
  const std::string v = names_.fresh(letter(var));
  at.coordinate[static_cast<std::size_t>(var)] = ir::var(v);
  for (int k = 0; k < static_cast<int>(in_.operands.size()); ++k) {
    if (!has_level(k, var, at)) continue;
    const auto o = static_cast<std::size_t>(k);
    at.position[o] = at.position[o] * extent(var) + ir::var(v);
    ++at.level[o];
  }
  const Stmt ask = prefetch_children(var + 1, at);
  if (!ask) return nullptr;
  Stmts note;
  hoist(var, at, note);
  const Expr idle = annihilated(var, at);
  if (!idle) return nullptr;
  const Expr begin = first_of(var), end = last_of(var);
  const std::string base = names_.fresh("base"), next = names_.fresh("next"), noted = names_.fresh("noted"),
                    rest = names_.fresh("rest");
  const auto each_of = [&](const std::string& word, const std::string& from, const Stmt& body) {
    const Expr w = ir::var(word);
    const Expr lowest = ir::var(from) + ir::unary(ir::Op::count_trailing_zeros, w);
    return ir::while_loop(
        ir::ne(w, ir::int_const(0)),
        ir::block({ir::let(v, lowest), body, ir::assign(word, ir::binary(ir::Op::bit_and, w, w - 1))}));
  };
  const Expr bit =
      ir::binary(ir::Op::shift_left, ir::cast(DType::i64, ir::logical_not(idle)), ir::var(v) - ir::var(next));
  note.push_back(ir::assign(noted, ir::binary(ir::Op::bit_or, ir::var(noted), bit)));
  Stmts later;
  later.push_back(ir::loop(v, ir::var(next), ir::min(ir::var(next) + word_bits, end), ir::block(std::move(note))));
  later.push_back(ir::declare(rest, ir::var(noted)));
  later.push_back(each_of(rest, next, ask));
  // Words wait in a queue from when their rows are asked for to when these are visited.
  std::vector<std::string> queue;
  Stmts out, body;
  for (int q = 0; q < words_ahead; ++q) {
    queue.push_back(names_.fresh("chosen"));
    out.push_back(ir::declare(queue.back(), ir::int_const(0)));
  }
  body.push_back(ir::let(next, ir::var(base) + words_ahead * word_bits));
  body.push_back(ir::declare(noted, ir::int_const(0)));
  body.push_back(ir::branch(ir::lt(ir::var(next), end), ir::block(std::move(later))));
  body.push_back(each_of(queue[0], base, enter(var, given, ir::var(v), {}, {})));
  for (std::size_t q = 0; q + 1 < queue.size(); ++q) body.push_back(ir::assign(queue[q], ir::var(queue[q + 1])));
  body.push_back(ir::assign(queue.back(), ir::var(noted)));
  out.push_back(ir::loop(base, begin - words_ahead * word_bits, end, ir::block(std::move(body)), word_bits));
  return ir::block(std::move(out));
}

}  // namespace strata::merging
