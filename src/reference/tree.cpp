// Building a tree, and where it has values.
#include "reference/tree.h"

#include <algorithm>
#include <limits>

#include "reference/semiring_arithmetic.h"

namespace strata::evaluation {
namespace {

/// Joined in the order that promises the fewest rows.
Rows join_all(std::vector<Rows> tables, const Extents& extents) {
  std::size_t first = 0;
  for (std::size_t k = 1; k < tables.size(); ++k)
    if (tables[k].n < tables[first].n) first = k;
  Rows out = std::move(tables[first]);
  tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(first));
  while (!tables.empty()) {
    std::size_t best = 0;
    double least = 0;
    for (std::size_t k = 0; k < tables.size(); ++k)
      if (const double rows = join_estimate(out, tables[k], extents); k == 0 || rows < least) {
        best = k;
        least = rows;
      }
    out = join(out, tables[best], extents);
    tables.erase(tables.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return out;
}

/// Of a Python number that has become one of this dtype.
TreeNode::Weak weak_of(DType t) { return is_complex(t) ? TreeNode::complex : TreeNode::floating; }

/// Does an integer lie below (-1) or above (1) those of a dtype?
int beyond(const Column& number, DType t) {
  const auto bits = size_of(t) * 8;
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - bits + (is_signed_int(t) ? 1 : 0));
  if (const auto* i = std::get_if<std::vector<std::int64_t>>(&number.data); i && (*i)[0] < 0)
    return is_signed_int(t) && (*i)[0] >= -static_cast<std::int64_t>(largest) - 1 ? 0 : -1;
  else if (i) return static_cast<std::uint64_t>((*i)[0]) <= largest ? 0 : 1;
  if (const auto* u = std::get_if<std::vector<std::uint64_t>>(&number.data)) return (*u)[0] <= largest ? 0 : 1;
  return std::get<std::vector<double>>(number.data)[0] < 0 ? -1 : 1;  // of more than 64 bits
}

}  // namespace

int Tree::add(TreeNode n) {
  if (!n.constant && !n.always && is_zero(n.fill)) n.fill = zeros(n.dtype, 1);  // absent elements have no sign
  nodes_.push_back(std::move(n));
  return static_cast<int>(nodes_.size()) - 1;
}

void Tree::drop_signs(int n) {
  TreeNode& x = nodes_[static_cast<std::size_t>(n)];
  x.no_sign = x.fill_in && !x.always && !x.constant && (is_float(x.dtype) || is_complex(x.dtype)) && is_zero(x.fill);
}

int Tree::add_constant(const Expression& e) {
  const auto& n = e.node();
  TreeNode out;
  out.constant = true;
  const Scalar number = [&] {
    switch (n.number) {
      case Number::integer: return Scalar::of(n.integer);
      case Number::unsigned_integer: return Scalar::of(static_cast<std::uint64_t>(n.integer));
      case Number::imaginary: return Scalar::of(n.value);
      case Number::truth: return Scalar::of(n.value.real() != 0);
      default: return Scalar::of(n.value.real());
    }
  }();
  out.dtype = number.dtype;
  out.fill = of_scalar(number);
  if (is_integer(n.number)) out.weak = TreeNode::integer;
  else if (n.number != Number::truth) out.weak = n.number == Number::imaginary ? TreeNode::complex : TreeNode::floating;
  if (semiring_ == Semiring::or_and) {
    out.fill = cast(out.fill, DType::boolean);
    out.dtype = DType::boolean;
    out.weak = TreeNode::strong;
  }
  return add(std::move(out));
}

int Tree::add_leaf(Leaf leaf, std::vector<int> vars) {
  TreeNode out;
  out.op = Operator::access;
  out.leaf = static_cast<int>(leaves_.size());
  out.vars = std::move(vars);
  out.dtype = leaf.values->dtype;
  out.always = leaf.dense;
  out.fill_in = leaf.fill_in;
  out.fill = semiring_ == Semiring::plus_times ? leaf.fill : identity(addition(semiring_), out.dtype);
  leaf.fill = out.fill;
  leaves_.push_back(std::move(leaf));
  return add(std::move(out));
}

int Tree::add_unary(Operator op, int a) {
  TreeNode out = node(a);
  const OperationType t = type_of(op, out.dtype);
  out.op = op;
  out.leaf = -1;
  out.arguments = {a};
  out.compute = t.compute;
  out.dtype = t.result;
  if (out.weak != TreeNode::strong && !is_integer(t.result)) out.weak = weak_of(t.result);
  out.fill = apply(op, cast(node(a).fill, t.compute), t.result);
  return add(std::move(out));
}

/// An absent numerator stays absent, whatever divides it.
bool Tree::is_quotient_of_absent(Operator op, std::span<const int> arguments) const {
  return semiring_ == Semiring::plus_times && is_quotient(op) && node(arguments[0]).annihilates();
}

DType Tree::common(Operator op, std::span<const int> arguments) const {
  // From left to right, as NumPy would; a Python number takes the dtype of what it meets.
  DType dtype = node(arguments[0]).dtype;
  TreeNode::Weak weak = node(arguments[0]).weak;
  const auto meet = [](DType strong, TreeNode::Weak number) {
    if (is_complex(strong)) return strong;
    if (number == TreeNode::complex)
      return is_float(strong) ? promote(strong, DType::c64) : promote(strong, DType::c128);
    if (number == TreeNode::floating && !is_float(strong)) return DType::f64;
    return number == TreeNode::integer && strong == DType::boolean ? DType::i64 : strong;
  };
  for (int a : arguments.subspan(1)) {
    const TreeNode& n = node(a);
    if (weak == TreeNode::strong && n.weak == TreeNode::strong) {
      dtype = promote(dtype, n.dtype);
    } else if (weak != TreeNode::strong && n.weak != TreeNode::strong) {
      weak = std::max(weak, n.weak);
      dtype = promote(dtype, n.dtype);
    } else {
      dtype = weak == TreeNode::strong ? meet(dtype, n.weak) : meet(n.dtype, weak);
      weak = TreeNode::strong;
    }
  }
  if (weak == TreeNode::strong && is_integer(dtype) && op != Operator::divide)  // quotients are floats
    for (int a : arguments)
      if (const TreeNode& n = node(a); n.weak == TreeNode::integer && beyond(n.fill, dtype) != 0)
        throw DTypeError(
            {.what = "the number " + to_scalar(n.fill).to_string() + " does not fit " + std::string(name_of(dtype)),
             .expected = "a number of this dtype, as in NumPy",
             .got = to_scalar(n.fill).to_string(),
             .fix = "write a point for a float"});
  return dtype;
}

DType Tree::common_of_comparison(Operator op, std::span<const int> arguments) {
  for (std::size_t k = 0; k < 2; ++k) {
    TreeNode& number = nodes_[static_cast<std::size_t>(arguments[k])];
    const TreeNode& other = node(arguments[1 - k]);
    if (number.weak != TreeNode::integer || other.weak != TreeNode::strong || is_float(other.dtype) ||
        is_complex(other.dtype))
      continue;
    if (const int side = beyond(number.fill, other.dtype == DType::boolean ? DType::i64 : other.dtype); side != 0) {
      number.dtype = DType::f64;
      number.fill = of_scalar(Scalar::of(side * std::numeric_limits<double>::infinity()));
      return DType::f64;
    }
  }
  return common(op, arguments);
}

int Tree::add_operation(Operator op, std::vector<int> arguments) {
  TreeNode out;
  out.op = op;
  const DType operands = is_comparison(op) ? common_of_comparison(op, arguments) : common(op, arguments);
  OperationType t = type_of(op, operands);
  const bool ring = semiring_ != Semiring::plus_times;
  out.compute = t.compute;
  out.dtype = t.result;
  bool all_constant = true, any_always = false, all_weak = true, all_everywhere = true, any_everywhere = false;
  TreeNode::Weak weak = TreeNode::integer;
  const TreeNode* annihilator = nullptr;
  for (int a : arguments) {
    const TreeNode& n = node(a);
    all_constant = all_constant && n.constant;
    any_always = any_always || n.always;
    all_everywhere = all_everywhere && (n.always || n.constant);
    any_everywhere = any_everywhere || n.always || n.constant;
    out.fill_in = out.fill_in || n.fill_in;
    all_weak = all_weak && n.weak != TreeNode::strong;
    weak = std::max(weak, n.weak);
    if (op == Operator::multiply && n.annihilates()) annihilator = &n;
    out.vars = united(out.vars, n.vars);
  }
  if (all_weak && !is_comparison(op)) out.weak = is_integer(t.result) ? weak : std::max(weak, weak_of(t.result));
  out.constant = all_constant;
  const auto at = [&](std::size_t k) { return cast_in(semiring_, node(arguments[k]).fill, t.compute); };
  if (ring && !all_constant) {
    out.always = op == Operator::multiply ? all_everywhere : any_everywhere;
    out.fill = identity(addition(semiring_), t.result);
  } else if (ring) {
    out.fill = at(0);
    for (std::size_t k = 1; k < arguments.size(); ++k)
      out.fill = op == Operator::multiply ? product(semiring_, out.fill, at(k))
                                          : combine(addition(semiring_), out.fill, at(k));
  } else {
    if (annihilator || is_quotient_of_absent(op, arguments)) {
      out.fill = zeros(t.result, 1);
    } else {
      out.always = any_always;
      out.fill = at(0);
      for (std::size_t k = 1; k < arguments.size(); ++k) out.fill = apply(op, out.fill, at(k), t.result);
    }
  }
  if (!ring && is_quotient(op)) drop_signs(arguments[1]);
  out.arguments = std::move(arguments);
  return add(std::move(out));
}

Rows Tree::covering(Rows rows, std::span<const int> vars) const {
  for (int v : vars)
    if (!rows.has(v) && std::find(rows.free.begin(), rows.free.end(), v) == rows.free.end()) rows.free.push_back(v);
  return rows;
}

std::vector<Rows> Tree::supports(std::span<const int> arguments, const Rows* restrict) const {
  std::vector<Rows> out;
  for (int a : arguments) out.push_back(support(a, restrict));
  return out;
}

Rows Tree::support(int index, const Rows* restrict) const {
  const TreeNode& n = node(index);
  const bool ring = semiring_ != Semiring::plus_times;
  const auto restricted = [&](const Rows& rows) {
    return covering(restrict ? join(rows, * restrict, extents_) : rows, n.vars);
  };
  if (n.always) return restricted(full(n.vars));
  if (n.constant) return covering({}, n.vars);
  if (n.op == Operator::access) return restricted(leaves_[static_cast<std::size_t>(n.leaf)].rows);
  if (n.arguments.size() == 1) return support(n.arguments[0], restrict);
  if (is_quotient_of_absent(n.op, n.arguments)) return covering(support(n.arguments[0], restrict), n.vars);
  std::vector<int> needed, others;
  for (int a : n.arguments) {
    const TreeNode& argument = node(a);
    const bool absent_somewhere = !argument.always && !argument.constant;
    if (n.op == Operator::multiply && absent_somewhere && (ring || argument.annihilates())) needed.push_back(a);
    else if (!argument.constant) others.push_back(a);
  }
  if (!needed.empty()) {
    std::vector<Rows> tables = supports(needed, nullptr);
    if (restrict) tables.push_back(*restrict);
    return covering(join_all(std::move(tables), extents_), n.vars);
  }
  std::optional<Rows> out;
  for (int a : others) {
    Rows rows = covering(support(a, restrict), n.vars);
    out = out ? unite(*out, rows, extents_) : std::move(rows);
  }
  return covering(out ? std::move(*out) : Rows{}, n.vars);
}

void Tree::look_up(int index, Rows& rows) const {
  const TreeNode& n = node(index);
  for (int a : n.arguments) look_up(a, rows);
  if (n.op != Operator::access) return;
  const Leaf& leaf = leaves_[static_cast<std::size_t>(n.leaf)];
  if (leaf.dense || rows.slots.contains(leaf.id)) return;
  Ints where = find(rows, leaf.rows, extents_);
  const Ints& slots = leaf.rows.slots.at(leaf.id);
  for (auto& w : where)
    if (w >= 0) w = slots[static_cast<std::size_t>(w)];
  rows.slots[leaf.id] = std::move(where);
}

NodeValues Tree::evaluate(int index, const Rows& rows) const {
  NodeValues out = value_of(index, rows);
  if (node(index).no_sign) add_zero(out.values);
  return out;
}

NodeValues Tree::value_of(int index, const Rows& rows) const {
  const TreeNode& n = node(index);
  const auto count = static_cast<std::size_t>(rows.n);
  if (n.constant) return {repeat(n.fill, count), {}};
  if (n.op == Operator::access) {
    const Leaf& leaf = leaves_[static_cast<std::size_t>(n.leaf)];
    if (leaf.dense) {
      Ints at(count, leaf.offset);
      for (std::size_t v = 0; v < leaf.vars.size(); ++v) {
        const Ints& c = *rows.column(leaf.vars[v]);
        for (std::size_t k = 0; k < count; ++k) at[k] += c[k] * leaf.strides[v];
      }
      return {gather(*leaf.values, at, leaf.fill), {}};
    }
    const Ints& slots = rows.slots.at(leaf.id);
    NodeValues out{gather(*leaf.values, slots, leaf.fill), std::vector<std::uint8_t>(count)};
    for (std::size_t k = 0; k < count; ++k) out.present[k] = slots[k] >= 0;
    return out;
  }
  if (semiring_ != Semiring::plus_times) return evaluate_semiring(n, rows);
  if (n.arguments.size() == 1) {
    NodeValues a = evaluate(n.arguments[0], rows);
    NodeValues out{apply(n.op, cast(a.values, n.compute), n.dtype), std::move(a.present)};
    if (!out.present.empty()) keep(out.values, out.present, n.fill);  // -0.0 of what is absent has no sign
    return out;
  }
  // Absent where a needed argument is; otherwise where all arguments are that can be.
  NodeValues out;
  bool needs = is_quotient_of_absent(n.op, n.arguments);
  for (int a : n.arguments) needs = needs || (n.op == Operator::multiply && node(a).annihilates());
  bool everywhere = false, started = false;
  for (std::size_t k = 0; k < n.arguments.size(); ++k) {
    const TreeNode& argument = node(n.arguments[k]);
    NodeValues a = evaluate(n.arguments[k], rows);
    if (n.compute != a.values.dtype) a.values = cast(a.values, n.compute);
    out.values = k == 0 ? std::move(a.values) : apply(n.op, out.values, a.values, n.dtype);
    const bool counts = needs ? argument.annihilates() && (n.op == Operator::multiply || k == 0) : !argument.constant;
    if (!counts) continue;
    if (a.present.empty()) {
      everywhere = true;
    } else if (!started) {
      out.present = std::move(a.present);
      started = true;
    } else {
      for (std::size_t r = 0; r < count; ++r)
        out.present[r] = needs ? out.present[r] & a.present[r] : out.present[r] | a.present[r];
    }
  }
  if (!needs && everywhere) out.present.clear();
  if (!out.present.empty()) keep(out.values, out.present, n.fill);
  return out;
}

NodeValues Tree::evaluate_semiring(const TreeNode& n, const Rows& rows) const {
  const auto count = static_cast<std::size_t>(rows.n);
  NodeValues out;
  for (std::size_t k = 0; k < n.arguments.size(); ++k) {
    NodeValues a = evaluate(n.arguments[k], rows);
    if (n.compute != a.values.dtype) a.values = cast_in(semiring_, a.values, n.compute);
    if (k == 0) {
      out = std::move(a);
      continue;
    }
    if (n.op == Operator::multiply) {
      out.values = product(semiring_, out.values, a.values);
      if (out.present.empty()) out.present = std::move(a.present);
      else if (!a.present.empty())
        for (std::size_t r = 0; r < count; ++r) out.present[r] &= a.present[r];
      if (!out.present.empty()) keep(out.values, out.present, n.fill);
      continue;
    }
    // A missing addend changes nothing.
    Column both = combine(addition(semiring_), out.values, a.values);
    std::vector<std::int64_t> from(count);  // 0: the sum, 1: the left alone, 2: the right alone
    for (std::size_t r = 0; r < count; ++r) {
      const bool left = out.present.empty() || out.present[r], right = a.present.empty() || a.present[r];
      from[r] = static_cast<std::int64_t>(r + (left && right ? 0 : left ? count : 2 * count));
    }
    append(both, out.values);
    append(both, a.values);
    out.values = gather(both, from, n.fill);
    if (out.present.empty() || a.present.empty()) out.present.clear();
    else
      for (std::size_t r = 0; r < count; ++r) out.present[r] |= a.present[r];
  }
  return out;
}

}  // namespace strata::evaluation
