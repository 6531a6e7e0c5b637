#include "plan/expression/facts.h"

#include <algorithm>

#include "base/checked.h"
#include "reference/tree.h"

namespace strata::evaluation {
namespace {

class Facts {
 public:
  Facts(const Assignment& a, const std::map<std::string, TensorType>& operands, const Semiring& semiring)
      : assignment_(a), operands_(operands), semiring_(semiring), ring_(semiring != Semiring::plus_times) {
    std::map<std::string, Shape> shapes;
    for (const auto& [name, t] : operands) shapes[name] = t.shape;
    for (const auto& [name, extent] : index_extents(a, shapes)) {
      variables_[name] = static_cast<int>(extents_.size());
      extents_.push_back(extent);
    }
    for (const auto& i : a.indices) shape_.push_back(extents_[static_cast<std::size_t>(variables_.at(i))]);
  }

  const Shape& shape() const { return shape_; }
  /// dtype, and what absent elements are.
  std::pair<DType, Column> of_root() {
    Tree tree(extents_, semiring_);
    const TreeNode& node = tree.node(build(tree, assignment_.total()));
    Column fill = node.always ? zeros(node.dtype, 1) : node.fill;
    if (ring_) fill = identity(addition(semiring_), node.dtype);
    return {node.dtype, std::move(fill)};
  }

 private:
  int build(Tree& tree, const Expression& e) {
    const Operator op = e.op();
    if (op == Operator::constant) return tree.add_constant(e);
    if (op == Operator::access) return access(tree, e);
    if (is_reduction(op)) return reduce(tree, e);
    std::vector<int> arguments;
    for (const auto& a : e.node().arguments) arguments.push_back(build(tree, a));
    return is_unary(op) ? tree.add_unary(op, arguments[0]) : tree.add_operation(op, std::move(arguments));
  }

  int access(Tree& tree, const Expression& e) {
    const TensorType& t = operands_.at(e.node().name);
    const DType dtype = semiring_ == Semiring::or_and ? DType::boolean : t.dtype;
    Leaf leaf;
    leaf.id = next_++;
    leaf.dense = t.format.is_all_dense();
    leaf.fill_in = !leaf.dense && t.format.can_hold_fill();
    leaf.values = std::make_shared<Column>(zeros(dtype, 0));
    leaf.fill = cast(of_scalar(t.fill), dtype);
    std::vector<int> vars;
    for (const auto& i : e.node().indices)
      for (const auto& term : i.terms) vars = united(vars, std::vector<int>{variables_.at(term.index)});
    return tree.add_leaf(std::move(leaf), std::move(vars));
  }

  /// As the general path carries it out, of reductions that have some terms.
  int reduce(Tree& tree, const Expression& e) {
    const Operator op = e.op();
    std::vector<int> reduced;
    Ints sizes;
    Expression body = e;
    while (body.op() == op && body.node().implicit == e.node().implicit) {
      const int v = variables_.at(body.node().name);
      if (std::ranges::find(reduced, v) != reduced.end()) break;
      reduced.push_back(v);
      sizes.push_back(extents_[static_cast<std::size_t>(v)]);
      body = body.argument();
    }
    Tree inner(extents_, semiring_);
    const TreeNode& node = inner.node(build(inner, body));
    std::vector<int> groups;
    for (int v : node.vars)
      if (std::ranges::find(reduced, v) == reduced.end()) groups.push_back(v);
    const DType dtype = ring_ ? node.dtype : type_of_reduction(op, node.dtype, e.node().implicit);
    const std::int64_t size = checked_product(sizes).value_or(INT64_MAX);
    const bool everywhere = (node.always || node.constant) && !(ring_ && size == 0);
    Monoid monoid = ring_ ? addition(semiring_) : Monoid(Monoid::plus);
    if (!ring_ && op == Operator::any) monoid = Monoid::either;
    else if (!ring_ && op == Operator::all) monoid = Monoid::both;
    else if (!ring_ && op != Operator::sum) monoid = op == Operator::reduce_max ? Monoid::maximum : Monoid::minimum;
    Leaf leaf;
    leaf.id = next_++;
    leaf.fill = identity(monoid, dtype);
    if (!ring_ && !everywhere) {
      const Column absent = cast(node.fill, dtype);
      if (op == Operator::sum) leaf.fill = times(absent, std::span(&size, 1));
      else if (size > 0) leaf.fill = absent;
    }
    normalise(leaf.fill);
    leaf.dense = everywhere || (groups.empty() && !ring_);
    leaf.values = std::make_shared<Column>(zeros(dtype, 0));
    leaf.vars = groups;
    return tree.add_leaf(std::move(leaf), groups);
  }

  const Assignment& assignment_;
  const std::map<std::string, TensorType>& operands_;
  const Semiring semiring_;
  const bool ring_;
  std::map<std::string, int> variables_;
  Extents extents_;
  Shape shape_;
  int next_ = 0;
};

}  // namespace

TensorType type_of_result(const Assignment& a, const std::map<std::string, TensorType>& operands,
                          const planning::Asked& asked) {
  Facts facts(a, operands, asked.semiring);
  auto [dtype, fill] = facts.of_root();
  if (a.accumulate) dtype = operands.at(a.name).dtype;
  TensorType out;
  out.format = asked.format ? *asked.format : planning::result_format(a, operands, asked).format;
  out.shape = facts.shape();
  out.dtype = asked.result_dtype.value_or(dtype);
  out.fill = out.format.is_all_dense() ? Scalar::zero(out.dtype) : to_scalar(cast(fill, out.dtype));
  return out;
}

}  // namespace strata::evaluation
