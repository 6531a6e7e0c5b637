#include "format/dim_name.h"
#include "strata/format.h"

namespace strata {

FormatBuilder::FormatBuilder(std::span<const std::string> dims) {
  if (dims.size() > max_dims)
    throw FormatError({.what = "too many dimensions", .expected = "at most 32", .got = std::to_string(dims.size())});
  for (const auto& name : dims) set_dim_name(spec_, spec_.num_dims++, name);
  spec_.num_parts = 1;
}

int FormatBuilder::node(ExprNode e) {
  if (spec_.num_exprs == max_nodes) throw FormatError({.what = "too many expressions", .expected = "at most 512"});
  const auto known = [&](int x) {
    if (x < 0 || x >= spec_.num_exprs)
      throw FormatError({.what = "this expression is not of this builder",
                         .expected = "what dim, div, mod, add or sub returned",
                         .got = std::to_string(x)});
  };
  if (e.op != ExprNode::dim) known(e.a);
  if (e.op == ExprNode::add || e.op == ExprNode::sub) known(e.b);
  if ((e.op == ExprNode::div || e.op == ExprNode::mod) && e.n < 1)
    throw FormatError({.what = "a dimension is divided by numbers from 1 on",
                       .expected = "a whole number, at least 1",
                       .got = std::to_string(e.n)});
  spec_.exprs[static_cast<std::size_t>(spec_.num_exprs)] = e;
  return spec_.num_exprs++;
}

int FormatBuilder::dim(int d) {
  if (d < 0 || d >= spec_.num_dims)
    throw FormatError({.what = "there is no such dimension",
                       .expected = "from 0 to " + std::to_string(spec_.num_dims - 1),
                       .got = std::to_string(d)});
  return node({ExprNode::dim, static_cast<std::int16_t>(d), -1, 0});
}

namespace {
/// Handles that do not fit are refused by node() as -1 is.
std::int16_t handle(int x) { return static_cast<std::int16_t>(x < 0 || x >= max_nodes ? -1 : x); }
}  // namespace

int FormatBuilder::div(int expr, std::int64_t n) { return node({ExprNode::div, handle(expr), -1, n}); }
int FormatBuilder::mod(int expr, std::int64_t n) { return node({ExprNode::mod, handle(expr), -1, n}); }
int FormatBuilder::add(int a, int b) { return node({ExprNode::add, handle(a), handle(b), 0}); }
int FormatBuilder::sub(int a, int b) { return node({ExprNode::sub, handle(a), handle(b), 0}); }

FormatBuilder& FormatBuilder::level(int expr, Level type) {
  if (spec_.num_levels == max_levels) throw FormatError({.what = "too many levels", .expected = "at most 64"});
  if (expr < 0 || expr >= spec_.num_exprs)
    throw FormatError({.what = "this expression is not of this builder",
                       .expected = "what dim, div, mod, add or sub returned",
                       .got = std::to_string(expr)});
  type.expr = static_cast<std::int16_t>(expr);
  spec_.levels[static_cast<std::size_t>(spec_.num_levels++)] = type;
  ++spec_.parts[static_cast<std::size_t>(spec_.num_parts - 1)].num_levels;
  return *this;
}

FormatBuilder& FormatBuilder::next_part() {
  if (spec_.num_parts == max_parts) throw FormatError({.what = "too many parts", .expected = "at most 8"});
  spec_.parts[static_cast<std::size_t>(spec_.num_parts++)].first_level = static_cast<std::int16_t>(spec_.num_levels);
  return *this;
}

}  // namespace strata
