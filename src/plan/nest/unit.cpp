#include "plan/nest/unit.h"

#include <algorithm>
#include <limits>

#include "plan/nest/monoid.h"
#include "reference/tree.h"

namespace strata::direct {
namespace {

using evaluation::Column;
using evaluation::identity;
using evaluation::is_zero;
using evaluation::to_scalar;
using merging::Combine;

/// A semiring as generated code has it: one way to combine, one operator or a formula of two values.
struct Ring {
  Combine add = Combine::plus;
  std::optional<Operator> multiply = Operator::multiply;
};

/// min(a, b) of a user's two scalars, in either order.
std::optional<Operator> single_operator(const Expression& e) {
  const auto is = [&](std::size_t k, const char* name) {
    return e.argument(k).op() == Operator::access && e.argument(k).node().name == name;
  };
  const bool known = e.op() == Operator::add || e.op() == Operator::multiply || e.op() == Operator::minimum ||
                     e.op() == Operator::maximum;
  if (!known || !((is(0, "a") && is(1, "b")) || (is(0, "b") && is(1, "a")))) return std::nullopt;
  return e.op();
}

/// A user's semiring whose laws need no samples: sums by min, max or +, with their own identity (see choose_result).
std::optional<Ring> ring_of(const Semiring::Definition& d) {
  const auto add = single_operator(d.add), multiply = single_operator(d.multiply);
  if (add == Operator::minimum) return Ring{Combine::minimum, multiply};
  if (add == Operator::maximum) return Ring{Combine::maximum, multiply};
  if (add == Operator::add) return Ring{Combine::plus, multiply};
  return std::nullopt;
}

std::optional<Ring> ring_of(const Semiring& s) {
  switch (s.kind()) {
    case Semiring::min_plus: return Ring{Combine::minimum, Operator::add};
    case Semiring::max_plus: return Ring{Combine::maximum, Operator::add};
    case Semiring::max_times: return Ring{Combine::maximum, Operator::multiply};
    case Semiring::or_and: return Ring{Combine::either, Operator::multiply};
    case Semiring::any: return Ring{Combine::first, Operator::multiply};
    case Semiring::user: return ring_of(*s.definition());
    default: return Ring{};
  }
}

/// Builds the kernel's tree and, for the facts of dtypes and fills, the general path's beside it.
class UnitBuilder {
 public:
  UnitBuilder(const Assignment& a, const Operands& operands, const Asked& options, std::string& why)
      : assignment_(a), operands_(operands), options_(options), why_(why) {}

  std::optional<Unit> build() {
    if (assignment_.accumulate) return refuse("it adds to what is there");
    std::map<std::string, Shape> shapes;
    for (const auto& name : assignment_.value.operands()) shapes[name] = operands_.at(name).shape();
    for (const auto& [name, extent] : index_extents(assignment_, shapes)) {
      numbers_[name] = static_cast<int>(unit_.extents.size());
      unit_.extents.push_back(extent);
      unit_.names.push_back(name);
      // (A sum over nothing still has a slot for each element of a pattern.)
      const auto& result = assignment_.indices;
      const bool summed = std::ranges::find(result, name) == result.end();
      if (extent == 0 && !(summed && options_.semiring == Semiring::plus_times)) return refuse("an extent is 0");
    }
    if (unit_.extents.empty()) return refuse("there is no index to loop over");
    const Semiring::Kind kind = options_.semiring.kind();
    const auto ring = ring_of(options_.semiring);
    if (!ring) return refuse("the semiring's sum is not min, max or +");
    multiply_ = ring->multiply;
    ring_ = kind != Semiring::plus_times;
    unit_.ring = ring_ && kind != Semiring::or_and && kind != Semiring::any;
    unit_.drops_fill_in = ring_;
    unit_.combine = ring->add;
    unit_.summed.assign(unit_.extents.size(), 1);
    unit_.inside.assign(unit_.extents.size(), 0);
    unit_.constants.assign(unit_.extents.size(), 0);
    for (const auto& i : assignment_.indices) {
      unit_.output.push_back(numbers_.at(i));
      unit_.summed[static_cast<std::size_t>(unit_.output.back())] = 0;
    }
    Expression body = assignment_.value;
    const Operator reduction = body.op();
    bool implicit = true;
    while (is_reduction(reduction) && body.op() == reduction) {
      implicit = implicit && body.node().implicit;
      body = body.argument();
    }
    evaluation::Tree tree(unit_.extents, options_.semiring);
    const auto root = add(tree, body);
    if (!root) return std::nullopt;
    if (!is_reduction(reduction)) tree.drop_signs(root->second);  // sums start from +0
    for (std::size_t n = 0; n < unit_.nodes.size(); ++n)
      unit_.nodes[n].no_sign = tree.node(static_cast<int>(n)).no_sign;
    const auto& facts = tree.node(root->second);
    if (facts.constant) return refuse("it is a constant");
    if (!choose_result(facts, is_reduction(reduction) ? std::optional(reduction) : std::nullopt, implicit))
      return std::nullopt;
    if (options_.mask && !add_mask()) return std::nullopt;
    return std::move(unit_);
  }

 private:
  std::nullopt_t refuse(std::string text) {
    why_ = std::move(text);
    return std::nullopt;
  }

  /// What the root's values become: the dtype of sums, the fill of the result, what absent elements count as.
  bool choose_result(const evaluation::TreeNode& root, std::optional<Operator> reduction, bool implicit) {
    DType t = ir::compute_dtype(root.dtype);  // what is narrower than float is rounded once, at the end
    const Scalar fill = to_scalar(root.fill);
    const bool everywhere = unit_.everywhere = root.always;
    if (ring_) {
      if (is_complex(t)) return refuse("complex numbers have no order"), false;
    } else if (reduction == Operator::sum) {
      if (!everywhere && !is_zero(root.fill)) return refuse("it sums what is not 0 where nothing is stored"), false;
      if (!implicit && (t == DType::boolean || is_signed_int(t))) t = DType::i64;
      if (!implicit && is_unsigned_int(t)) t = DType::u64;
    } else if (reduction) {
      const bool any = *reduction == Operator::any, all = *reduction == Operator::all;
      if (any || all) t = DType::boolean;
      if (is_complex(t)) return refuse("complex numbers have no order"), false;
      unit_.combine = any                                  ? Combine::either
                      : all                                ? Combine::both
                      : *reduction == Operator::reduce_max ? Combine::maximum
                                                           : Combine::minimum;
      if (!everywhere) unit_.others = fill.as(t);
      double places = 1;
      for (std::size_t v = 0; v < unit_.extents.size(); ++v)
        if (unit_.summed[v]) places *= static_cast<double>(unit_.extents[v]);
      if (places > 9e18) return refuse("it counts beyond 64 bits"), false;
    }
    unit_.compute = t;
    unit_.dtype = t == DType::f32 ? root.dtype : t;
    if (options_.semiring.kind() == Semiring::user && !has_own_identity(t))
      return refuse("the additive identity is not that of min, max or +"), false;
    unit_.absent = ring_ ? to_scalar(identity(evaluation::addition(options_.semiring), t)) : Scalar::zero(t);
    if (!ring_ && reduction && *reduction != Operator::sum)
      unit_.absent = to_scalar(identity(monoid_of(unit_.combine), t));
    unit_.fill = ring_ || reduction == Operator::sum || everywhere ? unit_.absent : fill.as(t);
    if (!ring_ && everywhere) unit_.fill = Scalar::zero(t);
    return true;
  }

  /// Is a user's additive identity the one that min, max or + has in this dtype?
  bool has_own_identity(DType t) const {
    const auto given = to_scalar(identity(evaluation::addition(options_.semiring), t));
    if (unit_.combine == Combine::plus) return given.is_zero();
    return given.same_bits(to_scalar(identity(monoid_of(unit_.combine), t)));
  }

  /// Numbers of the node in both trees.
  using Added = std::optional<std::pair<int, int>>;
  Added node(merging::ElementwiseNode n, const evaluation::Tree& tree, int fact) {
    const evaluation::TreeNode& facts = tree.node(fact);
    if (facts.constant) n = {};  // of constants: a loop that stops for their terms would stop everywhere
    n.dtype = facts.dtype;
    n.compute = n.kind == merging::ElementwiseNode::constant || n.kind == merging::ElementwiseNode::access
                    ? facts.dtype
                    : facts.compute;
    n.value = to_scalar(facts.fill).as(n.dtype);
    unit_.nodes.push_back(std::move(n));
    return std::pair(static_cast<int>(unit_.nodes.size()) - 1, fact);
  }

  std::vector<int> numbers(const std::vector<AffineIndex>& indices) const {
    std::vector<int> out;
    for (const auto& i : indices) out.push_back(numbers_.at(i.terms[0].index));
    return out;
  }

  Added access(evaluation::Tree& tree, const Expression& e, bool conjugate) {
    const Lazy& t = operands_.at(e.node().name);
    Access a{
        .name = e.node().name, .tensor = t, .indices = numbers(e.node().indices), .dense = t.format().is_all_dense()};
    if (ring_ && !a.dense && !t.fill().is_zero()) {
      const DType own = options_.semiring.kind() == Semiring::or_and ? DType::boolean : t.dtype();
      if (!t.fill().as(own).same_bits(to_scalar(identity(evaluation::addition(options_.semiring), own))))
        return refuse("the fill of '" + e.node().name + "' is a value of the semiring");
    }
    const DType dtype = options_.semiring.kind() == Semiring::or_and ? DType::boolean : t.dtype();
    // Of a leaf only the facts are asked: it has no elements here.
    evaluation::Leaf leaf;
    leaf.id = static_cast<int>(unit_.accesses.size());
    leaf.dense = a.dense;
    leaf.fill_in = !a.dense && t.may_hold_fill_in();
    leaf.values = std::make_shared<Column>(evaluation::zeros(dtype, 0));
    leaf.fill = evaluation::cast(evaluation::of_scalar(t.fill()), dtype);
    const int fact = tree.add_leaf(std::move(leaf), a.indices);
    for (std::size_t p = 0; p < unit_.accesses.size() && a.twin < 0; ++p) {
      const Access& before = unit_.accesses[p];
      if (!a.dense && !before.dense && before.indices == a.indices && a.tensor.is_twin_of(before.tensor))
        a.twin = static_cast<int>(p);
    }
    unit_.accesses.push_back(std::move(a));
    return node({.kind = merging::ElementwiseNode::access,
                 .operand = static_cast<int>(unit_.accesses.size()) - 1,
                 .conjugate = conjugate},
                tree, fact);
  }

  /// Children first: the numbers of nodes in both trees stay equal.
  Added add(evaluation::Tree& tree, const Expression& e) {
    const Operator op = e.op();
    if (op == Operator::constant) return node({}, tree, tree.add_constant(e));
    if (op == Operator::access) return access(tree, e, false);
    if (op == Operator::conjugate && e.argument().op() == Operator::access) return access(tree, e.argument(), true);
    if (is_reduction(op)) return refuse("a reduction stands inside");
    if (is_unary(op)) return add_function(tree, e);
    const bool multiplies = op == Operator::multiply;
    if (ring_ && !multiplies && op != Operator::add) return refuse("it has no meaning in a semiring");
    if (options_.semiring.kind() == Semiring::any && !multiplies) return refuse("a sum of terms in the semiring 'any'");
    const auto left = add(tree, e.argument(0));
    if (!left) return std::nullopt;
    const auto right = add(tree, e.argument(1));
    if (!right) return std::nullopt;
    const int fact = tree.add_operation(op, {left->second, right->second});
    for (const auto& [number, facts] : {*left, *right}) {  // a number beyond the integers that it is compared with
      const evaluation::TreeNode& n = tree.node(facts);
      if (!n.constant) continue;
      merging::ElementwiseNode& own = unit_.nodes[static_cast<std::size_t>(number)];
      own.dtype = own.compute = n.dtype;
      own.value = to_scalar(n.fill);
    }
    const DType t = tree.node(fact).compute;
    if (is_complex(t) && (ring_ || (!multiplies && op != Operator::add && op != Operator::subtract)))
      return refuse("'" + std::string(name_of(op)) + "' of complex numbers");
    if (options_.semiring.kind() == Semiring::user) {
      if (t == DType::boolean) return refuse("booleans in a user's semiring");
      for (const auto& x : e.node().arguments)
        if (multiplies && x.op() == Operator::multiply) return refuse("a product of three in a user's semiring");
    }
    if (t == DType::boolean && is_comparison(op) && op != Operator::equal && op != Operator::not_equal)
      return refuse("an order of booleans");
    const auto& l = tree.node(left->second);
    const auto& r = tree.node(right->second);
    // What is absent annihilates: as the general path says it.
    const auto absent_somewhere = [](const evaluation::TreeNode& n) { return !n.always && !n.constant; };
    const bool quotient = is_quotient(op) && l.annihilates();
    merging::ElementwiseNode n{.op = op, .arguments = {left->first, right->first}, .needed = {0, 0}};
    if (multiplies) {
      n.needed[0] = absent_somewhere(l) && (ring_ || l.annihilates());
      n.needed[1] = absent_somewhere(r) && (ring_ || r.annihilates());
    } else if (quotient) {
      n.needed[0] = 1;
    }
    n.kind = n.needed[0] || n.needed[1] ? merging::ElementwiseNode::all : merging::ElementwiseNode::any;
    if (ring_) {
      n.kind = multiplies ? merging::ElementwiseNode::all : merging::ElementwiseNode::any;
      if (!multiplies || multiply_) {
        n.op = operator_in_ring(multiplies);
      } else {
        auto formula = formula_of(options_.semiring.definition()->multiply, t);
        if (!formula) return refuse("the semiring's product has an operation that no loop has here");
        n.formula = std::move(*formula);
      }
    }
    return node(std::move(n), tree, fact);
  }

  /// A user's product of two values of a dtype, as nodes of its own.
  static std::optional<std::vector<merging::ElementwiseNode>> formula_of(const Expression& e, DType t) {
    evaluation::Tree tree({}, Semiring::plus_times);
    std::vector<merging::ElementwiseNode> out;
    const auto number = [](DType d) { return is_integer(d) ? 1 : 2; };
    const auto add = [&](const auto& self, const Expression& x) -> int {
      merging::ElementwiseNode n;
      int fact = -1;
      if (x.op() == Operator::constant) {
        fact = tree.add_constant(x);
      } else if (x.op() == Operator::access) {
        n.kind = merging::ElementwiseNode::access;
        n.operand = x.node().name == "a" ? 0 : 1;
        evaluation::Leaf leaf;
        leaf.dense = true;
        leaf.values = std::make_shared<Column>(evaluation::zeros(t, 0));
        leaf.fill = evaluation::zeros(t, 1);
        fact = tree.add_leaf(std::move(leaf), {});
      } else {
        n.kind = is_unary(x.op()) ? merging::ElementwiseNode::map : merging::ElementwiseNode::any;
        n.op = x.op();
        for (const auto& a : x.node().arguments) {
          const int argument = self(self, a);
          if (argument < 0) return -1;
          n.arguments.push_back(argument);
        }
        if (n.op == Operator::conjugate) return -1;
        fact = is_unary(n.op) ? tree.add_unary(n.op, n.arguments[0]) : tree.add_operation(n.op, n.arguments);
      }
      const evaluation::TreeNode& facts = tree.node(fact);
      if (is_complex(facts.compute) ||
          (n.kind != merging::ElementwiseNode::constant && facts.compute == DType::boolean) ||
          (n.op == Operator::absolute && is_unsigned_int(facts.compute)))
        return -1;
      n.dtype = facts.dtype;
      n.compute = n.kind == merging::ElementwiseNode::constant || n.kind == merging::ElementwiseNode::access
                      ? facts.dtype
                      : facts.compute;
      n.value = to_scalar(facts.fill).as(n.dtype);
      if (facts.constant) n.kind = merging::ElementwiseNode::constant, n.arguments.clear();
      out.push_back(std::move(n));
      return static_cast<int>(out.size()) - 1;
    };
    const int root = add(add, e);
    // (The general path says what is wrong with a result of a higher kind.)
    if (root < 0 || (out.back().dtype != DType::boolean && number(out.back().dtype) > number(t) &&
                     tree.node(root).weak == evaluation::TreeNode::strong))
      return std::nullopt;
    return out;
  }

  Operator operator_in_ring(bool multiplies) const {
    if (multiplies) return *multiply_;
    switch (unit_.combine) {
      case Combine::minimum: return Operator::minimum;
      case Combine::maximum: return Operator::maximum;
      default: return Operator::add;
    }
  }

  Added add_function(evaluation::Tree& tree, const Expression& e) {
    const Operator op = e.op();
    if (ring_) return refuse("a function has no meaning in a semiring");
    if (op == Operator::conjugate) return refuse("the conjugate of what is no tensor");
    const auto a = add(tree, e.argument());
    if (!a) return std::nullopt;
    const int fact = tree.add_unary(op, a->second);
    const DType t = tree.node(fact).compute;
    if (is_complex(t) && op != Operator::negate) return refuse("a function of complex numbers");
    const bool exact =
        op == Operator::negate || op == Operator::absolute || op == Operator::relu || op == Operator::sign;
    if (exact && t == DType::boolean) return refuse("arithmetic of booleans");
    if (op == Operator::absolute && is_unsigned_int(t)) return refuse("abs of unsigned numbers");
    return node({.kind = merging::ElementwiseNode::map, .op = op, .arguments = {a->first}}, tree, fact);
  }

  bool add_mask() {
    const Lazy& m = *options_.mask;
    if (static_cast<std::size_t>(m.rank()) != unit_.output.size()) return refuse("the mask has another rank"), false;
    for (std::size_t d = 0; d < unit_.output.size(); ++d)
      if (m.shape()[d] != unit_.extents[static_cast<std::size_t>(unit_.output[d])])
        return refuse("the mask has another shape"), false;
    if (unit_.output.empty()) return refuse("a number under a mask"), false;
    unit_.mask = static_cast<int>(unit_.accesses.size());
    unit_.complement = options_.complement_mask;
    unit_.accesses.push_back(
        {.name = "mask", .tensor = m, .indices = unit_.output, .dense = m.format().is_all_dense()});
    return true;
  }

  const Assignment& assignment_;
  const Operands& operands_;
  const Asked& options_;
  std::string& why_;
  std::map<std::string, int> numbers_;
  Unit unit_;
  bool ring_ = false;
  std::optional<Operator> multiply_ = Operator::multiply;  ///< what '*' is in the ring; none: a formula of two values
};

}  // namespace

std::optional<Unit> make_unit(const Assignment& a, const Operands& operands, const Asked& options, std::string& why) {
  return UnitBuilder(a, operands, options, why).build();
}

}  // namespace strata::direct
