// The numeric phase by itself: the pattern of the result is known from an earlier one, and only its values are
// computed.
//
// The nest is the one that assembles a result. Where that appends an element, this one compares with the next of the
// earlier result, so that equal sequences, and no others, come to the end. Where that gathers a row in a workspace,
// this one notes there which slot each coordinate of the earlier row has, and adds to the values in place: a row need
// not be emptied, since what older rows have noted lies before the row's first slot. That some value came to every slot
// is mostly seen from the values (noting it for each product would take a third of the time).
//
// Gustavson, "Two Fast Algorithms for Sparse Matrices", TOMS 1978, has both phases of a product.
#include "compiler/numeric.h"

namespace strata::merging {

int first_inverted(const std::vector<char>& summed) {
  for (std::size_t v = 0; v < summed.size(); ++v)
    if (summed[v] && std::find(summed.begin() + static_cast<std::ptrdiff_t>(v), summed.end(), 0) != summed.end())
      return static_cast<int>(v);
  return -1;
}

bool can_assemble(const std::vector<char>& summed) {
  const int inverted = first_inverted(summed);
  return inverted < 0 || std::count(summed.begin() + inverted, summed.end(), 0) == 1;
}

int workspace_of(const std::vector<char>& summed) {
  const int inverted = first_inverted(summed);
  if (inverted < 0) return -1;
  return static_cast<int>(std::find(summed.begin() + inverted, summed.end(), 0) - summed.begin());
}

NumericPhase::NumericPhase(const Input& input) : Values(input) {
  level_of_.assign(static_cast<std::size_t>(in_.num_vars), -1);
  inverted_ = first_inverted(in_.summed) >= 0;
  if (in_.dense_result || in_.pattern >= 0) return;
  for (int v = 0; v < in_.num_vars; ++v)
    if (!in_.summed[static_cast<std::size_t>(v)]) levels_.push_back(v);
  tail_.assign(levels_.end() - in_.dense_tail, levels_.end());
  levels_.resize(levels_.size() - tail_.size());
  for (std::size_t l = 0; l < levels_.size(); ++l)
    level_of_[static_cast<std::size_t>(levels_[l])] = static_cast<int>(l);
  if (in_.blocks) {
    workspace_ = levels_.back();
    return;
  }
  std::vector<char> above = in_.summed;  // a block takes sums in any order
  for (int v : tail_) above[static_cast<std::size_t>(v)] = 1;
  workspace_ = workspace_of(above);
  if (workspace_ >= 0) drained_ = first_inverted(above);
}

namespace {

Stmt refuse_unless(const Expr& same) { return ir::branch(ir::logical_not(same), ir::fail(other_pattern)); }

}  // namespace

Expr NumericPhase::earlier_pos(int level, const Expr& parent) {
  const int b = buffer(BufferBinding::pos, in_.earlier, level, "earlier_pos" + std::to_string(level),
                       operand(in_.earlier).type.pos_dtype);
  return ir::cast(DType::i64, ir::load(params_.param(b), b, parent));
}

Expr NumericPhase::is_next(int level, const Expr& coordinate) {
  return ir::logical_and(ir::lt(size(level), capacity(level)),
                         ir::eq(crd(in_.earlier, level, size(level)), coordinate));
}

Expr NumericPhase::has_next(int level, const Place& at) {
  const Expr coordinate = at.coordinate[static_cast<std::size_t>(levels_[static_cast<std::size_t>(level)])];
  if (level == 0) return is_next(0, coordinate);
  const Expr above = level == 1 && in_.dense_top ? nullptr : has_next(level - 1, at);
  return both(above, ir::logical_and(ir::lt(size(level), end_of_children(level, at)),
                                     ir::eq(crd(in_.earlier, level, size(level)), coordinate)));
}

Expr NumericPhase::end_of_children(int level, const Place& at) {
  const Expr parent =
      level == 1 && in_.dense_top ? at.coordinate[static_cast<std::size_t>(levels_[0])] : size(level - 1);
  return earlier_pos(level, parent + 1);
}

void NumericPhase::put_next(const Expr& coordinate, const Value& value, Stmts& out) {
  const int last = static_cast<int>(levels_.size()) - 1;
  const int v = buffer(BufferBinding::output, -1, 0, "out_values", arithmetic_.part(), true);
  out.push_back(refuse_unless(is_next(last, coordinate)));
  out.push_back(arithmetic_.store(params_.param(v), v, in_.compute, size(last), value));
  out.push_back(ir::assign("n" + std::to_string(last), size(last) + 1));
}

void NumericPhase::check_start(const Expr& coordinate, const Expr& start, Stmts& out) {
  out.push_back(refuse_unless(ir::eq(earlier_pos(1, coordinate), start)));
}

void NumericPhase::check_parent(int level, const Expr& coordinate, const Expr& start, Stmts& out) {
  const Expr children = size(level + 1), n = size(level);
  if (level == 0 && in_.dense_top) {
    if (workspace_ < 0 || levels_.size() > 2) check_start(coordinate, start, out);
    out.push_back(refuse_unless(ir::eq(earlier_pos(1, coordinate + 1), children)));
    return;
  }
  Stmts some;
  some.push_back(
      refuse_unless(ir::logical_and(is_next(level, coordinate), ir::eq(earlier_pos(level + 1, n + 1), children))));
  some.push_back(ir::assign("n" + std::to_string(level), n + 1));
  out.push_back(ir::branch(ir::gt(children, start), ir::block(std::move(some))));
}

NumericPhase::Workspace NumericPhase::workspace() {
  return {.slots = buffer(BufferBinding::row_slots, -1, 0, "row_slots", operand(in_.earlier).type.pos_dtype, true),
          .met = buffer(BufferBinding::row_met, -1, 0, "row_met", DType::u8, true),
          .values = buffer(BufferBinding::output, -1, 0, "out_values", arithmetic_.part(), true)};
}

void NumericPhase::put_in_slot(const Expr& coordinate, const Value& value, Stmts& out) {
  const auto [s, m, v] = workspace();
  const std::string name = names_.fresh("slot");
  const Expr slot = ir::var(name), in_row = slot - ir::var(row_begin_);
  out.push_back(ir::let(name, ir::cast(DType::i64, ir::load(params_.param(s), s, coordinate))));
  if (notes_ != Notes::again) {
    out.push_back(refuse_unless(ir::ge(slot, ir::var(row_begin_))));
    const Value old = arithmetic_.load(params_.param(v), v, in_.compute, slot, 1, false);
    Value next = combine(old, value);
    if (in_.combine == Combine::first) {
      const Expr first = ir::eq(ir::load(params_.param(m), m, in_row), ir::constant(Scalar::zero(DType::u8)));
      next = named("value", arithmetic_.either(first, value, old), out);
    }
    out.push_back(arithmetic_.store(params_.param(v), v, in_.compute, slot, next));
  }
  if (notes_ != Notes::none)
    out.push_back(ir::store(params_.param(m), m, in_row, ir::constant(Scalar::one(DType::u8))));
}

Stmt NumericPhase::fill_row(int var, const Place& at) {
  const auto [s, m, v] = workspace();
  const int last = static_cast<int>(levels_.size()) - 1;
  row_begin_ = names_.fresh("row_begin");
  const std::string row_end = names_.fresh("row_end"), slot = names_.fresh("slot"), same = names_.fresh("untouched");
  const Expr begin = ir::var(row_begin_), end = ir::var(row_end), p = ir::var(slot);
  // Above compressed rows it is not known yet whether anything comes: what has no row there may not put a value.
  const bool in_rows = last == 1 && in_.dense_top;
  const Expr row = last == 0 ? capacity(0)
                   : in_rows ? end_of_children(1, at)
                             : ir::select(has_next(last - 1, at), end_of_children(last, at), begin);
  const Value nothing = constant(in_.absent);
  Stmts out;
  if (in_rows) check_start(at.coordinate[static_cast<std::size_t>(levels_[0])], size(1), out);  // then it is one row
  out.push_back(ir::let(row_begin_, size(last)));
  out.push_back(ir::let(row_end, row));
  out.push_back(ir::loop(
      slot, begin, end,
      ir::block({ir::store(params_.param(s), s, crd(in_.earlier, last, p), ir::cast(params_.param(s).dtype, p)),
                 arithmetic_.store(params_.param(v), v, in_.compute, p, nothing)})));
  // A value that is another than before has come; where one is the same, a second walk notes what comes.
  notes_ = in_.combine == Combine::first ? Notes::at_once : Notes::none;
  out.push_back(emit_loop(var, at));
  if (notes_ == Notes::at_once) {
    out.push_back(all_met(end - begin));
  } else {
    const ir::Type truth{DType::boolean, 1};
    const Value now = arithmetic_.load(params_.param(v), v, in_.compute, p, 1, false);
    Expr equal = ir::eq(now.re, nothing.re);
    if (now.im) equal = ir::binary(ir::Op::bit_and, equal, ir::eq(now.im, nothing.im));
    out.push_back(ir::declare(same, ir::bool_const(false)));
    out.push_back(
        ir::loop(slot, begin, end, ir::assign(same, ir::binary(ir::Op::bit_or, ir::var(same, truth), equal))));
    const std::vector<std::string> lines = lines_;
    notes_ = Notes::again;
    const Stmt again = emit_loop(var, at);
    lines_ = lines;
    out.push_back(ir::branch(ir::var(same, truth), ir::block({again, all_met(end - begin)})));
  }
  out.push_back(ir::assign("n" + std::to_string(last), end));
  return ir::block(std::move(out));
}

Stmt NumericPhase::all_met(const Expr& slots) {
  const int m = workspace().met;
  const std::string name = names_.fresh("met"), all = names_.fresh("all_met");
  const ir::Type byte{DType::u8, 1};
  const Expr here = ir::load(params_.param(m), m, ir::var(name));
  const Expr zero = ir::constant(Scalar::zero(DType::u8));
  const Stmt each = ir::block({ir::assign(all, ir::binary(ir::Op::bit_and, ir::var(all, byte), here)),
                               ir::store(params_.param(m), m, ir::var(name), zero)});
  return ir::block({ir::declare(all, ir::constant(Scalar::one(DType::u8))),
                    ir::loop(name, ir::int_const(0), slots, each), refuse_unless(ir::ne(ir::var(all, byte), zero))});
}

void NumericPhase::check_ends(Stmts& out) {
  for (int l = in_.dense_top ? 1 : 0; l < static_cast<int>(levels_.size()); ++l)
    out.push_back(refuse_unless(ir::eq(size(l), capacity(l))));
}

}  // namespace strata::merging
