#include "reference/semiring_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "reference/tree.h"

namespace strata::evaluation {
namespace {

int build(Tree& tree, const Expression& e, const std::shared_ptr<const Column>& a,
          const std::shared_ptr<const Column>& b, int& leaves) {
  const auto& n = e.node();
  if (n.op == Operator::constant) return tree.add_constant(e);
  if (n.op == Operator::access) {
    Leaf leaf{.id = leaves++,
              .dense = true,
              .values = n.name == "a" ? a : b,
              .fill = zeros(a->dtype, 1),
              .rows = {},
              .vars = {0},
              .strides = {1},
              .offset = 0};
    return tree.add_leaf(std::move(leaf), {0});
  }
  std::vector<int> arguments;
  for (const auto& x : n.arguments) arguments.push_back(build(tree, x, a, b, leaves));
  return is_unary(n.op) ? tree.add_unary(n.op, arguments[0]) : tree.add_operation(n.op, std::move(arguments));
}

int kind(DType t) { return t == DType::boolean ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; }

Complex value(const Column& c, std::size_t k) {
  return std::visit(
      [k](const auto& v) {
        using T = typename std::decay_t<decltype(v)>::value_type;
        if constexpr (std::is_same_v<T, Complex>) return v[k];
        else return Complex(static_cast<double>(v[k]));
      },
      c.data);
}

/// How far two ways of the same sum may lie apart.
double tolerance(DType t) {
  if (is_integer(t) || t == DType::boolean) return 0;
  switch (t) {
    case DType::f64:
    case DType::c128: return 1e-8;
    case DType::f32:
    case DType::c64: return 1e-3;
    default: return 0.5;
  }
}

/// The first pair that differs; `size` where none does. What is no number says nothing.
std::size_t first_difference(const Column& x, const Column& y) {
  const double relative = tolerance(x.dtype);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const Complex p = value(x, k), q = value(y, k);
    if (p == q || p != p || q != q) continue;
    if (!(std::abs(p - q) <= relative * std::max({1.0, std::abs(p), std::abs(q)}))) return k;
  }
  return x.size();
}

}  // namespace

Column product(const Semiring& semiring, const Column& a, const Column& b) {
  const bool adds = semiring.kind() == Semiring::min_plus || semiring.kind() == Semiring::max_plus;
  Column out = semiring.definition() ? apply(semiring.definition()->multiply, a, b)
                                     : apply(adds ? Operator::add : Operator::multiply, a, b, a.dtype);
  const Monoid plus = addition(semiring);
  if (plus.kind() == Monoid::minimum || plus.kind() == Monoid::maximum || plus.kind() == Monoid::user) {
    // The identity of the sums stands for what is missing: -inf times 0 is not NaN, nor is inf - inf, and the largest
    // integer plus one stays.
    const Column none = identity(plus, a.dtype), nothing = repeat(none, a.size());
    std::vector<std::uint8_t> there(a.size());
    const Column in_a = apply(Operator::not_equal, a, nothing, DType::boolean),
                 in_b = apply(Operator::not_equal, b, nothing, DType::boolean);
    for (std::size_t k = 0; k < there.size(); ++k)
      there[k] = std::get<Ints>(in_a.data)[k] && std::get<Ints>(in_b.data)[k];
    keep(out, there, none);
  }
  return out;
}

Column cast_in(const Semiring& semiring, const Column& c, DType to) {
  Column out = cast(c, to);
  const Monoid plus = addition(semiring);
  const bool ordered = plus.kind() == Monoid::minimum || plus.kind() == Monoid::maximum || plus.kind() == Monoid::user;
  if (c.dtype == to || !is_integer(c.dtype) || !ordered || semiring == Semiring::plus_times) return out;
  const Column is_there = apply(Operator::not_equal, c, repeat(identity(plus, c.dtype), c.size()), DType::boolean);
  std::vector<std::uint8_t> there(c.size());
  for (std::size_t k = 0; k < there.size(); ++k) there[k] = std::get<Ints>(is_there.data)[k] != 0;
  keep(out, there, identity(plus, to));
  return out;
}

Column apply(const Expression& e, const Column& a, const Column& b) {
  const DType dtype = a.dtype;
  Tree tree({static_cast<std::int64_t>(a.size())}, Semiring::plus_times);
  int leaves = 0;
  const int root = build(tree, e, std::make_shared<const Column>(a), std::make_shared<const Column>(b), leaves);
  const TreeNode& node = tree.node(root);
  if (kind(node.dtype) > kind(dtype) && node.weak == TreeNode::strong)
    throw DTypeError({.what = "'" + e.to_string() + "' of " + std::string(name_of(dtype)) + " values is " +
                              std::string(name_of(node.dtype)) + ", in a semiring",
                      .expected = "the kind of the operands",
                      .got = std::string(name_of(node.dtype)),
                      .fix = "give operands of " + std::string(name_of(node.dtype))});
  if (node.constant) return repeat(cast(node.fill, dtype), a.size());
  Column out = zeros(dtype, 0);
  tree.for_each_slab(root, nullptr, {}, [&](const Rows&, const NodeValues& v) { append(out, cast(v.values, dtype)); });
  return out;
}

Column fold(const Expression& add, const Column& c, std::span<const std::int64_t> starts) {
  Column now = c;
  Ints at(starts.begin(), starts.end());
  const auto groups = at.size() - 1;
  const auto unfinished = [&] {
    for (std::size_t g = 0; g < groups; ++g)
      if (at[g + 1] - at[g] > 1) return true;
    return false;
  };
  while (unfinished()) {
    Ints left, right, next{0};
    for (std::size_t g = 0; g < groups; ++g) {
      for (auto k = at[g]; k < at[g + 1]; k += 2) {
        left.push_back(k);
        right.push_back(k + 1 < at[g + 1] ? k + 1 : -1);
      }
      next.push_back(static_cast<std::int64_t>(left.size()));
    }
    const Column a = gather(now, left, zeros(now.dtype, 1));
    Column both = apply(add, a, gather(now, right, zeros(now.dtype, 1)));
    Ints from(left.size());  // one that found no partner stays what it is
    for (std::size_t k = 0; k < from.size(); ++k)
      from[k] = static_cast<std::int64_t>(right[k] < 0 ? k + from.size() : k);
    append(both, a);
    now = gather(both, from, zeros(now.dtype, 1));
    at = std::move(next);
  }
  return now;
}

bool check_on_samples(const Semiring& semiring, const Column& samples) {
  const Expression& addend = semiring.definition()->add;
  const Column zero = identity(addition(semiring), samples.dtype);
  Column all = samples;
  append(all, zero);
  const std::size_t n = all.size();
  Ints i, j, k;
  for (std::size_t x = 0; x < n; ++x)
    for (std::size_t y = 0; y < n; ++y)
      for (std::size_t z = 0; z < n; ++z) {
        i.push_back(static_cast<std::int64_t>(x));
        j.push_back(static_cast<std::int64_t>(y));
        k.push_back(static_cast<std::int64_t>(z));
      }
  const Column a = gather(all, i, zero), b = gather(all, j, zero), c = gather(all, k, zero);
  const auto add = [&](const Column& x, const Column& y) { return apply(addend, x, y); };
  const auto times = [&](const Column& x, const Column& y) { return product(semiring, x, y); };
  const auto refuse = [&](const char* law, const Column& x, const Column& y) {
    const std::size_t at = first_difference(x, y);
    if (at == x.size()) return;
    const auto text = [&](const Column& v) { return to_scalar(v, at).to_string(); };
    throw ExpressionError({.what = std::string("the addition '") + addend.to_string() + "' makes no semiring",
                           .expected = law,
                           .got = text(x) + " and " + text(y) + " for a = " + text(a) + ", b = " + text(b) +
                                  ", c = " + text(c) + ", zero = " + to_scalar(zero).to_string()});
  };
  const Column nothing = repeat(zero, a.size());
  refuse("add(a, zero) equal to a", add(a, nothing), a);
  refuse("add(a, b) equal to add(b, a)", add(a, b), add(b, a));
  refuse("add(add(a, b), c) equal to add(a, add(b, c))", add(add(a, b), c), add(a, add(b, c)));
  const auto same = [](const Column& x, const Column& y) { return first_difference(x, y) == x.size(); };
  return same(times(a, b), times(b, a)) && same(times(times(a, b), c), times(a, times(b, c))) &&
         same(times(a, add(b, c)), add(times(a, b), times(a, c)));
}

}  // namespace strata::evaluation
