// The general path: reads operands, carries out reductions from the inside out, assembles the result.
#include "reference/reference.h"

#include <algorithm>

#include "base/checked.h"
#include "expr/chain.h"
#include "expr/contract.h"
#include "reference/assemble.h"
#include "reference/groups.h"
#include "reference/semiring_arithmetic.h"

namespace strata::evaluation {
namespace {

class Evaluator {
 public:
  Evaluator(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options)
      : assignment_(a), operands_(operands), options_(options) {
    std::map<std::string, Shape> shapes;
    for (const auto& [name, t] : operands) shapes[name] = t.shape();
    for (const auto& [name, extent] : index_extents(a, shapes)) {
      variables_[name] = static_cast<int>(extents_.size());
      extents_.push_back(extent);
    }
    for (const auto& i : a.indices) {
      output_.push_back(variables_.at(i));
      shape_.push_back(extents_[static_cast<std::size_t>(output_.back())]);
    }
  }

  Tensor run() {
    const Expression value = assignment_.total();
    if (options_.mask) {
      if (options_.mask->shape() != shape_)
        throw TensorError({.what = "the mask has another shape than the result",
                           .expected = "rank " + std::to_string(shape_.size()) + " and the same extents",
                           .got = options_.mask->type().to_string()});
      mask_ = Mask{read_mask(*options_.mask, output_), options_.complement_mask};
    }
    if (options_.semiring.definition()) reorders_ = check_on_samples(options_.semiring, samples(value));
    Tree tree(extents_, options_.semiring);
    const int root = build(tree, value, true);
    tree.drop_signs(root);
    DType dtype = tree.node(root).dtype;
    if (assignment_.accumulate) dtype = operands_.at(assignment_.name).dtype();
    return finish(tree, root, options_.result_dtype.value_or(dtype));
  }

 private:
  [[noreturn]] void refuse_in_semiring(const Expression& e) const {
    throw ExpressionError({.what = "'" + std::string(name_of(e.op())) + "' has no meaning in a semiring",
                           .expected = "'*', '+' and sum(...)",
                           .got = e.to_string(),
                           .fix = "leave semiring= away, or evaluate in two steps",
                           .text = assignment_.text,
                           .where = assignment_.text.empty() ? Span{} : e.node().where});
  }

  int build(Tree& tree, const Expression& e, bool masked) {
    const auto& n = e.node();
    const bool ring = options_.semiring != Semiring::plus_times;
    if (ring && n.op != Operator::constant && n.op != Operator::access && n.op != Operator::add &&
        n.op != Operator::multiply && n.op != Operator::sum)
      refuse_in_semiring(e);
    if (n.op == Operator::constant) return tree.add_constant(e);
    if (n.op == Operator::access) {
      std::vector<int> vars;
      for (const auto& i : n.indices)
        for (const auto& t : i.terms) vars = united(vars, std::vector<int>{variables_.at(t.index)});
      return tree.add_leaf(bind(next_leaf_++, operand(n.name), n.indices, variables_, extents_), std::move(vars));
    }
    if (is_reduction(n.op)) return reduce(tree, e, masked);
    if (is_unary(n.op)) return tree.add_unary(n.op, build(tree, n.arguments[0], masked));
    std::vector<int> arguments;
    std::vector<Expression> factors = n.arguments;
    if (n.op == Operator::multiply) factors = joined(e);
    for (const auto& f : factors) arguments.push_back(build(tree, f, masked));
    return tree.add_operation(n.op, std::move(arguments));
  }

  /// The factors that one join may take: all of them where the order in which dtypes meet does not matter, otherwise
  /// those that are multiplied from left to right. (2.0 * (B * A) of truth values and complex64 is complex64, 2.0 * B *
  /// A is complex128.)
  std::vector<Expression> joined(const Expression& e) const {
    const auto all = factors_of(e);
    const auto dtype = [&](const Expression& f) { return operands_.at(f.node().name).dtype(); };
    const bool plain = std::all_of(all.begin(), all.end(), [&](const Expression& f) {
      return f.op() == Operator::access && dtype(f) == dtype(all[0]);
    });
    if (plain) return all;
    std::vector<Expression> out;
    Expression left = e;
    for (; left.op() == Operator::multiply; left = left.argument(0))
      out.insert(out.begin(), left.node().arguments.begin() + 1, left.node().arguments.end());
    out.insert(out.begin(), left);
    return out;
  }

  const OperandElements& operand(const std::string& name) {
    const auto it = read_.find(name);
    if (it != read_.end()) return it->second;
    return read_[name] = read_operand(operands_.at(name), options_.semiring);
  }

  ContractionFactor describe(const Expression& e) {
    ContractionFactor f{.expression = e, .rows = 1, .indices = e.free_indices(), .dtype = {}};
    const Expression& inner = e.op() == Operator::conjugate ? e.argument() : e;
    if (inner.op() != Operator::access) return f;
    const OperandElements& o = operand(inner.node().name);
    for (const auto& i : inner.node().indices)
      if (!i.is_plain() && !i.terms.empty()) return f;
    f.rows = static_cast<double>(o.values->size());
    if (options_.semiring != Semiring::max_times || !has_negative(*o.values))  // a negative factor turns max into min
      f.dtype = o.values->dtype;
    return f;
  }

  /// Some values of the operands, on which a semiring must keep its promises.
  Column samples(const Expression& e) {
    constexpr std::size_t most = 6;
    std::optional<Column> out;
    DType dtype = DType::boolean;
    const auto names = e.operands();
    for (const auto& name : names) dtype = promote(dtype, operand(name).values->dtype);
    for (const auto& name : names) {
      const Column& values = *operand(name).values;
      Ints at;
      const std::size_t n = std::min(values.size(), std::max<std::size_t>(1, most / names.size()));
      for (std::size_t k = 0; k < n; ++k) at.push_back(static_cast<std::int64_t>(k * values.size() / n));
      Column some = cast(gather(values, at, zeros(values.dtype, 1)), dtype);
      if (out && out->size() >= most) break;
      if (out) append(*out, some);
      else out = std::move(some);
    }
    return out.value_or(zeros(DType::f64, 0));
  }

  /// A reduction over one or more indices as a leaf of `tree`.
  int reduce(Tree& tree, const Expression& e, bool masked) {
    const Operator op = e.op();
    const bool implicit = e.node().implicit, ring = options_.semiring != Semiring::plus_times;
    std::vector<int> reduced;
    std::vector<std::string> names;
    Expression body = e;
    while (body.op() == op && body.node().implicit == implicit) {
      const int v = variables_.at(body.node().name);
      if (std::find(reduced.begin(), reduced.end(), v) != reduced.end()) break;
      reduced.push_back(v);
      names.push_back(body.node().name);
      body = body.argument();
    }
    if (op == Operator::sum && reorders_)
      body = contract(
                 body, names, implicit, [this](const Expression& f) { return describe(f); },
                 [this](const std::string& i) {
                   return static_cast<double>(extents_[static_cast<std::size_t>(variables_.at(i))]);
                 })
                 .body;
    for (int v : reduced) masked = masked && std::find(output_.begin(), output_.end(), v) == output_.end();
    Tree inner(extents_, options_.semiring);
    const int root = build(inner, body, masked);
    const TreeNode& node = inner.node(root);
    std::vector<int> groups;
    for (int v : node.vars)
      if (std::find(reduced.begin(), reduced.end(), v) == reduced.end()) groups.push_back(v);
    bool restricts = masked && mask_;
    for (int v : output_) restricts = restricts && std::find(groups.begin(), groups.end(), v) != groups.end();

    Monoid monoid = Monoid::plus;
    DType dtype = node.dtype;
    if (!ring) dtype = type_of_reduction(op, dtype, implicit);
    if (ring) monoid = addition(options_.semiring);
    else if (op == Operator::any) monoid = Monoid::either;
    else if (op == Operator::all) monoid = Monoid::both;
    else if (op != Operator::sum) monoid = op == Operator::reduce_max ? Monoid::maximum : Monoid::minimum;
    Ints sizes;
    for (int v : reduced) sizes.push_back(extents_[static_cast<std::size_t>(v)]);
    const auto counted = checked_product(sizes);
    const std::int64_t size = counted.value_or(INT64_MAX);  // only a sum of a fill needs to know it exactly
    if (size == 0 && (op == Operator::reduce_max || op == Operator::reduce_min))
      throw ExpressionError({.what = std::string(name_of(op)) + " of nothing has no value",
                             .expected = "an extent of 1 or more",
                             .got = "extent 0 of '" + names[0] + "'",
                             .text = assignment_.text,
                             .where = assignment_.text.empty() ? Span{} : e.node().where});

    Groups all{.rows = {.vars = groups, .free = {}, .coords = std::vector<Ints>(groups.size()), .n = 0, .slots = {}},
               .values = zeros(dtype, 0),
               .count = {}};
    std::int64_t compacted = 0;
    bool several = false;
    inner.for_each_slab(root, restricts ? mask() : nullptr, {}, [&](Rows rows, const NodeValues& v) {
      Groups piece{.rows = project(rows, groups),
                   .values = cast(v.values, dtype),
                   .count = Ints(static_cast<std::size_t>(rows.n), 1)};
      if (!v.present.empty()) {
        const Ints there = present_rows(v);
        if (static_cast<std::int64_t>(there.size()) < rows.n) {
          piece.rows = piece.rows.take(there);
          piece.values = gather(piece.values, there, zeros(dtype, 1));
          piece.count.resize(there.size());
        }
      }
      piece.combine_equal(monoid, extents_);
      several = all.rows.n > 0;
      all.append(piece);
      if (all.rows.n > 2 * compacted + (1 << 20)) {
        all.combine_equal(monoid, extents_);
        compacted = all.rows.n;
      }
    });
    if (several) all.combine_equal(monoid, extents_);

    // What the absent ones add.
    const bool everywhere = (node.always || node.constant) && !(ring && size == 0);  // of nothing `any` has no value
    Column fill = identity(monoid, dtype);
    const Column absent = cast(node.fill, dtype);
    if (!ring && !everywhere) {
      Ints missing(all.count.size());
      for (std::size_t k = 0; k < missing.size(); ++k) missing[k] = size - all.count[k];
      if (monoid == Monoid::plus) {
        if (!counted && !is_zero(absent))
          throw Unsupported({.what = "a sum of more equal elements than 64 bits count", .expected = "fewer than 2^63"});
        if (!is_zero(absent)) all.values = combine(monoid, all.values, times(absent, missing));
        fill = times(absent, std::span(&size, 1));
      } else if (size > 0) {
        std::vector<std::uint8_t> whole(missing.size());
        for (std::size_t k = 0; k < missing.size(); ++k) whole[k] = missing[k] == 0;
        Column others = repeat(absent, missing.size());
        Column with_fill = combine(monoid, all.values, others);
        append(with_fill, all.values);
        Ints from(missing.size());
        for (std::size_t k = 0; k < from.size(); ++k)
          from[k] = static_cast<std::int64_t>(k + (whole[k] ? from.size() : 0));
        all.values = gather(with_fill, from, absent);
        fill = absent;
      }
    }
    normalise(all.values);
    normalise(fill);

    Leaf leaf;
    leaf.id = next_leaf_++;
    leaf.fill = fill;
    leaf.vars = groups;
    // A sum over nothing is nothing, as a row's where the row is empty: it leaves out what it is multiplied with, and
    // stays absent whatever divides it.
    if (everywhere || (groups.empty() && !ring && (all.rows.n > 0 || !is_zero(fill)))) {
      leaf.dense = true;
      Ints extents;
      for (int v : groups) extents.push_back(extents_[static_cast<std::size_t>(v)]);
      std::int64_t n = 1;
      leaf.strides.resize(groups.size());
      for (std::size_t d = groups.size(); d-- > 0;) {
        leaf.strides[d] = n;
        n *= extents[d];
      }
      Ints where(static_cast<std::size_t>(n), -1);
      for (std::int64_t k = 0; k < all.rows.n; ++k) {
        std::int64_t at = 0;
        for (std::size_t d = 0; d < groups.size(); ++d)
          at += all.rows.coords[d][static_cast<std::size_t>(k)] * leaf.strides[d];
        where[static_cast<std::size_t>(at)] = k;
      }
      leaf.values = std::make_shared<Column>(gather(all.values, where, fill));
    } else {
      leaf.rows = std::move(all.rows);
      Ints& slots = leaf.rows.slots[leaf.id];
      for (std::int64_t k = 0; k < leaf.rows.n; ++k) slots.push_back(k);
      leaf.values = std::make_shared<Column>(std::move(all.values));
    }
    return tree.add_leaf(std::move(leaf), groups);
  }

  Tensor finish(const Tree& tree, int root, DType dtype) {
    const Format& format = *options_.format;
    if (format.rank() != static_cast<int>(shape_.size()))
      throw TensorError({.what = "the format has another number of dimensions than the result",
                         .expected = std::to_string(shape_.size()),
                         .got = std::to_string(format.rank()) + " in " + format.to_string()});
    const TreeNode& node = tree.node(root);
    check_kept(node.dtype, dtype);
    Column fill = node.always ? zeros(node.dtype, 1) : node.fill;
    if (options_.semiring != Semiring::plus_times) fill = identity(addition(options_.semiring), node.dtype);
    return assemble(tree, root, mask(), {output_, shape_, format, dtype, cast(fill, dtype)});
  }

  /// What '+=' adds must not lose its kind in what holds the sum.
  void check_kept(DType from, DType to) const {
    const bool lossy = (is_complex(from) && !is_complex(to)) || (is_float(from) && is_integer(to)) ||
                       (to == DType::boolean && from != to);
    if (lossy && assignment_.accumulate && !options_.result_dtype)
      throw DTypeError({.what = "'" + assignment_.name + "' cannot hold what '+=' adds to it",
                        .expected = std::string(name_of(from)),
                        .got = std::string(name_of(to))});
  }

  const Mask* mask() const { return mask_ ? &*mask_ : nullptr; }

  const Assignment& assignment_;
  const std::map<std::string, Tensor>& operands_;
  const EvaluateOptions& options_;
  std::map<std::string, int> variables_;
  Extents extents_;
  std::vector<int> output_;
  Shape shape_;
  std::map<std::string, OperandElements> read_;
  std::optional<Mask> mask_;
  int next_leaf_ = 0;
  bool reorders_ = true;  ///< the semiring's products may be taken in any order
};

}  // namespace

Tensor reference(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  return Evaluator(a, operands, options).run();
}

}  // namespace strata::evaluation
