#include "ops/direct/unit.h"

#include <algorithm>

#include "ops/evaluate/tree.h"

namespace strata::direct {
namespace {

using evaluation::Column;
using evaluation::identity;
using evaluation::is_zero;
using evaluation::to_scalar;
using merging::Combine;

Combine combine_of(const Semiring& s) {
  switch (s.kind()) {
    case Semiring::min_plus: return Combine::minimum;
    case Semiring::max_plus:
    case Semiring::max_times: return Combine::maximum;
    case Semiring::or_and: return Combine::either;
    case Semiring::any: return Combine::first;
    default: return Combine::plus;
  }
}

/// Builds the kernel's tree and, for the facts of dtypes and fills, the general path's beside it.
class Builder {
 public:
  Builder(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options,
          std::string& why)
      : assignment_(a), operands_(operands), options_(options), why_(why) {}

  std::optional<Unit> build() {
    if (assignment_.accumulate) return refuse("it adds to what is there");
    std::map<std::string, Shape> shapes;
    for (const auto& name : assignment_.value.operands()) shapes[name] = operands_.at(name).shape();
    for (const auto& [name, extent] : index_extents(assignment_, shapes)) {
      numbers_[name] = static_cast<int>(unit_.extents.size());
      unit_.extents.push_back(extent);
      unit_.names.push_back(name);
      if (extent == 0) return refuse("an extent is 0");
    }
    if (unit_.extents.empty()) return refuse("there is no index to loop over");
    const Semiring::Kind kind = options_.semiring.kind();
    if (kind == Semiring::user) return refuse("the semiring is a user's");
    ring_ = kind != Semiring::plus_times;
    unit_.ring = ring_ && kind != Semiring::or_and && kind != Semiring::any;
    unit_.combine = combine_of(options_.semiring);
    unit_.summed.assign(unit_.extents.size(), 1);
    for (const auto& i : assignment_.indices) {
      unit_.output.push_back(numbers_.at(i));
      unit_.summed[static_cast<std::size_t>(unit_.output.back())] = 0;
    }
    Expression body = assignment_.value;
    bool implicit = true;
    while (body.op() == Operator::sum) {
      implicit = implicit && body.node().implicit;
      body = body.argument();
    }
    evaluation::Tree tree(unit_.extents, options_.semiring);
    const auto root = add(tree, body);
    if (!root) return std::nullopt;
    const auto& facts = tree.node(root->second);
    if (facts.constant) return refuse("it is a constant");
    const bool sums = std::find(unit_.summed.begin(), unit_.summed.end(), 1) != unit_.summed.end();
    unit_.compute = facts.dtype;
    if (!ring_ && sums && !implicit && is_integer(facts.dtype) && size_of(facts.dtype) < 8)
      return refuse("the sum is wider than its terms");
    if (!ring_ && sums && !implicit && facts.dtype == DType::boolean) return refuse("the sum counts");
    const DType t = unit_.compute;
    if (is_float(t) && size_of(t) < 4) return refuse(std::string(name_of(t)) + " is rounded at every step");
    for (std::size_t n = 0; n < unit_.nodes.size(); ++n) {
      const auto& f = tree.node(static_cast<int>(n));
      const bool leaf = unit_.nodes[n].kind == merging::Node::access || unit_.nodes[n].kind == merging::Node::constant;
      if (!leaf && (f.dtype != t || f.compute != t)) return refuse("its steps have several dtypes");
      if (!ring_ && !f.always && !f.constant && !is_zero(f.fill)) return refuse("where nothing is stored it is not 0");
      if (leaf && unit_.nodes[n].kind == merging::Node::constant) unit_.nodes[n].value = to_scalar(f.fill).as(t);
    }
    if (is_complex(t) && ring_) return refuse("complex numbers have no order");
    if (is_complex(t) && !complex_ok_) return refuse("a function of complex numbers");
    if (t == DType::boolean && !ring_ && !boolean_ok_) return refuse("arithmetic of booleans");
    unit_.absent = ring_ ? to_scalar(identity(evaluation::addition(options_.semiring), t)) : Scalar::zero(t);
    if (std::all_of(unit_.accesses.begin(), unit_.accesses.end(), [](const Access& x) { return x.dense; }))
      return refuse("no operand is sparse");
    if (options_.mask && !add_mask()) return std::nullopt;
    return std::move(unit_);
  }

 private:
  std::nullopt_t refuse(std::string text) {
    why_ = std::move(text);
    return std::nullopt;
  }

  /// Numbers of the node in both trees.
  using Added = std::optional<std::pair<int, int>>;
  Added node(merging::Node n, int fact) {
    unit_.nodes.push_back(std::move(n));
    return std::pair(static_cast<int>(unit_.nodes.size()) - 1, fact);
  }

  std::optional<std::vector<int>> plain(const std::vector<AffineIndex>& indices, const Shape& shape) {
    std::vector<int> out;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (!indices[d].is_plain()) return refuse("an access is not a plain index");
      const int i = numbers_.at(indices[d].terms[0].index);
      if (std::find(out.begin(), out.end(), i) != out.end()) return refuse("an operand has one index twice");
      if (shape[d] != unit_.extents[static_cast<std::size_t>(i)]) return refuse("an extent of 1 is stretched");
      out.push_back(i);
    }
    return out;
  }

  Added access(evaluation::Tree& tree, const Expression& e, bool conjugate) {
    const Tensor& t = operands_.at(e.node().name);
    const auto indices = plain(e.node().indices, t.shape());
    if (!indices) return std::nullopt;
    if (is_float(t.dtype()) && size_of(t.dtype()) < 4) return refuse("an operand is " + std::string(name_of(t.dtype())));
    Access a{.name = e.node().name, .tensor = t, .indices = *indices, .dense = t.format().is_all_dense()};
    if (!a.dense && !t.fill().is_zero()) {
      const DType own = options_.semiring.kind() == Semiring::or_and ? DType::boolean : t.dtype();
      if (!ring_ || !t.fill().as(own).same_bits(to_scalar(identity(evaluation::addition(options_.semiring), own))))
        return refuse("the fill of '" + e.node().name + "' is not 0");
    }
    const DType dtype = options_.semiring.kind() == Semiring::or_and ? DType::boolean : t.dtype();
    // Of a leaf only the facts are asked: it has no elements here.
    evaluation::Leaf leaf;
    leaf.id = static_cast<int>(unit_.accesses.size());
    leaf.dense = a.dense;
    leaf.values = std::make_shared<Column>(evaluation::zeros(dtype, 0));
    leaf.fill = evaluation::zeros(dtype, 1);
    const int fact = tree.add_leaf(std::move(leaf), *indices);
    unit_.accesses.push_back(std::move(a));
    return node({.kind = merging::Node::access,
                 .operand = static_cast<int>(unit_.accesses.size()) - 1,
                 .conjugate = conjugate},
                fact);
  }

  /// Children first: the numbers of nodes in both trees stay equal.
  Added add(evaluation::Tree& tree, const Expression& e) {
    const Operator op = e.op();
    if (op == Operator::constant) return node({}, tree.add_constant(e));
    if (op == Operator::access) return access(tree, e, false);
    if (op == Operator::conjugate && e.argument().op() == Operator::access) return access(tree, e.argument(), true);
    if (is_reduction(op)) return refuse("a reduction stands inside");
    if (is_unary(op)) return add_function(tree, e);
    const bool multiplies = op == Operator::multiply;
    if (!multiplies && op != Operator::add && op != Operator::subtract && op != Operator::minimum &&
        op != Operator::maximum && op != Operator::divide)
      return refuse("'" + std::string(name_of(op)) + "' is not compiled yet");
    if (ring_ && !multiplies && op != Operator::add) return refuse("it has no meaning in a semiring");
    if (options_.semiring.kind() == Semiring::any && !multiplies) return refuse("a sum of terms in the semiring 'any'");
    if (!multiplies && op != Operator::add) boolean_ok_ = false;
    if (op == Operator::minimum || op == Operator::maximum || op == Operator::divide) complex_ok_ = false;
    const auto left = add(tree, e.argument(0));
    if (!left) return std::nullopt;
    const auto right = add(tree, e.argument(1));
    if (!right) return std::nullopt;
    if (op == Operator::divide) {
      const auto& by = tree.node(right->second);
      if (!by.always && !by.constant) return refuse("it divides by something sparse");
      if (is_integer(by.dtype) && is_integer(tree.node(left->second).dtype)) return refuse("it divides integers");
    }
    merging::Node n{.kind = multiplies || op == Operator::divide ? merging::Node::all : merging::Node::any,
                    .op = op,
                    .arguments = {left->first, right->first}};
    if (ring_) n.op = operator_in_ring(multiplies);
    return node(std::move(n), tree.add_operation(op, {left->second, right->second}));
  }

  Operator operator_in_ring(bool multiplies) const {
    const Semiring::Kind s = options_.semiring.kind();
    if (multiplies) return s == Semiring::min_plus || s == Semiring::max_plus ? Operator::add : Operator::multiply;
    if (s == Semiring::min_plus) return Operator::minimum;
    return s == Semiring::or_and ? Operator::add : Operator::maximum;
  }

  Added add_function(evaluation::Tree& tree, const Expression& e) {
    const Operator op = e.op();
    if (ring_) return refuse("a function has no meaning in a semiring");
    if (op != Operator::negate && op != Operator::absolute && op != Operator::square_root && op != Operator::sine &&
        op != Operator::hyperbolic_tangent && op != Operator::error_function && op != Operator::relu)
      return refuse("'" + std::string(name_of(op)) + "' is not compiled yet");
    boolean_ok_ = false;
    if (op != Operator::negate) complex_ok_ = false;
    const auto a = add(tree, e.argument());
    if (!a) return std::nullopt;
    const bool exact = op == Operator::negate || op == Operator::absolute || op == Operator::relu;
    if (!exact && !is_float(tree.node(a->second).dtype)) return refuse("a function of integers");
    if (op == Operator::absolute && is_unsigned_int(tree.node(a->second).dtype)) return refuse("abs of unsigned numbers");
    return node({.kind = merging::Node::map, .op = op, .arguments = {a->first}}, tree.add_unary(op, a->second));
  }

  bool add_mask() {
    const Tensor& m = *options_.mask;
    if (m.format().is_all_dense()) return refuse("the mask is dense"), false;
    if (static_cast<std::size_t>(m.rank()) != unit_.output.size()) return refuse("the mask has another rank"), false;
    for (std::size_t d = 0; d < unit_.output.size(); ++d)
      if (m.shape()[d] != unit_.extents[static_cast<std::size_t>(unit_.output[d])])
        return refuse("the mask has another shape"), false;
    if (unit_.output.empty()) return refuse("a number under a mask"), false;
    unit_.mask = static_cast<int>(unit_.accesses.size());
    unit_.complement = options_.complement_mask;
    unit_.accesses.push_back({.name = "mask", .tensor = m, .indices = unit_.output, .dense = false});
    return true;
  }

  const Assignment& assignment_;
  const std::map<std::string, Tensor>& operands_;
  const EvaluateOptions& options_;
  std::string& why_;
  std::map<std::string, int> numbers_;
  Unit unit_;
  bool ring_ = false, complex_ok_ = true, boolean_ok_ = true;
};

}  // namespace

std::optional<Unit> make_unit(const Assignment& a, const std::map<std::string, Tensor>& operands,
                              const EvaluateOptions& options, std::string& why) {
  return Builder(a, operands, options, why).build();
}

}  // namespace strata::direct
