// A row of the result under construction: a value, or a block of them, per coordinate, and bits that say where.
#include "compiler/assembler.h"

namespace strata::merging {

void Assembler::gather_block(int var, const Place& at, const Expr& coordinate, Stmts& out) {
  const Expr filled = ir::var("filled", {DType::boolean, 1});
  out.push_back(ir::let("block", coordinate * block_size()));
  out.push_back(ir::declare("filled", ir::bool_const(false)));
  out.push_back(emit(var, at));
  Stmts note;
  mark(coordinate, note);
  out.push_back(ir::branch(filled, ir::block(std::move(note))));
}

/// One bit a coordinate, one a word of those, one a word of those: emptied in order, without a sort.
Expr Assembler::mark(const Expr& coordinate, Stmts& out) {
  const int low = buffer(BufferBinding::row_bits, -1, 0, "row_bits", DType::i64, true);
  const int middle = buffer(BufferBinding::row_bits, -1, 1, "row_words", DType::i64, true);
  const int high = buffer(BufferBinding::row_bits, -1, 2, "row_groups", DType::i64, true);
  const std::string word = names_.fresh("word"), bits = names_.fresh("bits");
  out.push_back(ir::let(word, shift_right(coordinate, 6)));
  out.push_back(ir::let(bits, ir::load(params_.param(low), low, ir::var(word))));
  const auto set_bit = [&](int b, const Expr& n) {
    const Expr at = shift_right(n, 6);
    return ir::store(params_.param(b), b, at, ir::binary(ir::Op::bit_or, ir::load(params_.param(b), b, at), bit_of(n)));
  };
  const Stmt mark_middle = set_bit(middle, ir::var(word));
  const Stmt mark_high = set_bit(high, shift_right(coordinate, 12));
  out.push_back(ir::branch(ir::eq(ir::var(bits), ir::int_const(0)), ir::block({mark_middle, mark_high})));
  const Expr bit = bit_of(coordinate);
  out.push_back(ir::store(params_.param(low), low, ir::var(word), ir::binary(ir::Op::bit_or, ir::var(bits), bit)));
  return ir::eq(ir::binary(ir::Op::bit_and, ir::var(bits), bit), ir::int_const(0));
}

void Assembler::insert(const Expr& coordinate, const Value& value, Stmts& out) {
  const int w = buffer(BufferBinding::row_values, -1, 0, "row", arithmetic_.part(), true);
  const Expr first = mark(coordinate, out);
  const Value old = arithmetic_.load(params_.param(w), w, in_.compute, coordinate, 1, false);
  Value next = combine(old, value);
  if (in_.combine == Combine::first) next = arithmetic_.either(first, value, old);
  out.push_back(arithmetic_.store(params_.param(w), w, in_.compute, coordinate, next));
}

void Assembler::take(const Expr& coordinate, Stmts& out) {
  const int w = buffer(BufferBinding::row_values, -1, 0, "row", arithmetic_.part(), true);
  const Value v = named("value", arithmetic_.load(params_.param(w), w, in_.compute, coordinate, 1, false), out);
  append(static_cast<int>(levels_.size()) - 1, coordinate, &v, out);
  out.push_back(arithmetic_.store(params_.param(w), w, in_.compute, coordinate, constant(in_.absent)));
}

void Assembler::take_block(const Expr& coordinate, Stmts& out) {
  const int w = buffer(BufferBinding::row_values, -1, 0, "row", arithmetic_.part(), true);
  const int v = buffer(BufferBinding::output, -1, 0, "out_values", arithmetic_.part(), true);
  const int last = static_cast<int>(levels_.size()) - 1;
  const int c = buffer(BufferBinding::out_crd, -1, last, "out_crd" + std::to_string(last), in_.crd, true);
  const Expr n = size(last), from = ir::var("from"), to = ir::var("to");
  const auto each = [&](const auto& make) {
    const std::string t = names_.fresh("t");
    return ir::loop(t, ir::int_const(0), block_size(), make(ir::var(t)));
  };
  Stmts fits;
  fits.push_back(ir::store(params_.param(c), c, n, ir::cast(in_.crd, coordinate)));
  fits.push_back(ir::let("to", n * block_size()));
  fits.push_back(each([&](const Expr& t) {
    return arithmetic_.store(params_.param(v), v, in_.compute, to + t,
                             arithmetic_.load(params_.param(w), w, in_.compute, from + t, 1, false));
  }));
  out.push_back(ir::let("from", coordinate * block_size()));
  out.push_back(ir::branch(ir::lt(n, scalar(ScalarBinding::capacity, -1, last, "capacity" + std::to_string(last))),
                           ir::block(std::move(fits))));
  out.push_back(each([&](const Expr& t) {
    return arithmetic_.store(params_.param(w), w, in_.compute, from + t, constant(in_.absent));
  }));
  out.push_back(ir::assign("n" + std::to_string(last), n + 1));
}

Stmt Assembler::drain() {
  const int bits[] = {buffer(BufferBinding::row_bits, -1, 0, "row_bits", DType::i64, true),
                      buffer(BufferBinding::row_bits, -1, 1, "row_words", DType::i64, true),
                      buffer(BufferBinding::row_bits, -1, 2, "row_groups", DType::i64, true)};
  const std::string j = names_.fresh(letter(workspace_));
  const Expr coordinate = ir::var(j);
  Stmts each_one;
  if (tail_.empty() && !in_.blocks) take(coordinate, each_one);
  else take_block(coordinate, each_one);
  Stmt body = ir::block(std::move(each_one));
  // From the coordinates outwards: walk the bits of one word, then clear it.
  std::string inner = j;
  for (int l = 0; l < 3; ++l) {
    const std::string word = names_.fresh("group"), rest = names_.fresh("rest");
    const Expr r = ir::var(rest);
    Stmts each;
    each.push_back(ir::let(inner, ir::var(word) * word_bits + ir::unary(ir::Op::count_trailing_zeros, r)));
    each.push_back(body);
    each.push_back(ir::assign(rest, ir::binary(ir::Op::bit_and, r, r - 1)));
    Stmts all;
    all.push_back(ir::declare(rest, ir::load(params_.param(bits[l]), bits[l], ir::var(word))));
    all.push_back(ir::while_loop(ir::ne(r, ir::int_const(0)), ir::block(std::move(each))));
    all.push_back(ir::store(params_.param(bits[l]), bits[l], ir::var(word), ir::int_const(0)));
    body = ir::block(std::move(all));
    inner = word;
  }
  const Expr coordinates = in_.blocks ? ir::floor_div(extent(workspace_) + (in_.blocks.columns - 1), in_.blocks.columns)
                                      : extent(workspace_);
  const Expr groups = shift_right(coordinates + (word_bits * word_bits * word_bits - 1), 18);
  return ir::loop(inner, ir::int_const(0), groups, body);
}

void Assembler::insert_in_block(const Place& at, const Value& value, Stmts& out) {
  const Expr& column = at.coordinate[static_cast<std::size_t>(workspace_)];
  const std::string block = names_.fresh("block"), row = names_.fresh("row_in"), inside = names_.fresh("column_in");
  out.push_back(ir::let(block, ir::floor_div(column, in_.blocks.columns)));
  out.push_back(ir::let(row, at.coordinate[0] - first_));
  out.push_back(ir::let(inside, column - ir::var(block) * in_.blocks.columns));
  const Expr place = in_.blocks.column_major ? ir::var(inside) * in_.blocks.rows + ir::var(row)
                                             : ir::var(row) * in_.blocks.columns + ir::var(inside);
  mark(ir::var(block), out);
  meet(buffer(BufferBinding::row_values, -1, 0, "row", arithmetic_.part(), true),
       ir::var(block) * in_.blocks.size() + place, value, out);
}

}  // namespace strata::merging
