// The general path: reads operands, carries out reductions from the inside out, assembles the result.
#include "strata/evaluate.h"

#include <algorithm>

#include "base/checked.h"
#include "ops/convert_elements.h"
#include "ops/evaluate/contract.h"
#include "ops/evaluate/tree.h"
#include "ops/fast/sparse_product.h"

namespace strata {
namespace evaluation {
namespace {

/// Elements on their way into groups: coordinates of the group variables, a value, and how many went into it.
struct Groups {
  Rows rows;
  Column values;
  Ints count;

  /// Adds up those with equal coordinates, which come out sorted.
  void combine_equal(Monoid m, const Extents& extents) {
    const Rows* tables[] = {&rows};
    const auto keys = keys_of(tables, rows.vars, extents)[0];
    const auto order = sorting(keys);
    Ints starts, counts;
    for (std::size_t k = 0; k < order.size(); ++k) {
      if (k == 0 || keys[static_cast<std::size_t>(order[k])] != keys[static_cast<std::size_t>(order[k - 1])]) {
        starts.push_back(static_cast<std::int64_t>(k));
        counts.push_back(0);
      }
      counts.back() += count[static_cast<std::size_t>(order[k])];
    }
    Ints first;
    for (auto s : starts) first.push_back(order[static_cast<std::size_t>(s)]);
    starts.push_back(static_cast<std::int64_t>(order.size()));
    if (first.size() < order.size() || !std::is_sorted(order.begin(), order.end())) {
      values = combine(m, gather(values, order, zeros(values.dtype, 1)), starts);
      rows = rows.take(first);
      count = std::move(counts);
    }
  }
  void append(const Groups& more) {
    for (std::size_t v = 0; v < rows.coords.size(); ++v)
      rows.coords[v].insert(rows.coords[v].end(), more.rows.coords[v].begin(), more.rows.coords[v].end());
    rows.n += more.rows.n;
    evaluation::append(values, more.values);
    count.insert(count.end(), more.count.begin(), more.count.end());
  }
};

/// The listed coordinates of these variables alone.
Rows project(const Rows& rows, std::span<const int> vars) {
  Rows out;
  out.n = rows.n;
  for (int v : vars) {
    out.vars.push_back(v);
    out.coords.push_back(*rows.column(v));
  }
  return out;
}

Ints present_rows(const Values& v) {
  Ints out;
  for (std::size_t k = 0; k < v.present.size(); ++k)
    if (v.present[k]) out.push_back(static_cast<std::int64_t>(k));
  return out;
}

/// As NumPy's sum, where a sum was written; what a notation implies keeps the dtype, as NumPy's einsum.
DType sum_dtype(DType t, bool implicit) {
  if (implicit) return t;
  if (t == DType::boolean || is_signed_int(t)) return DType::i64;
  return is_unsigned_int(t) ? DType::u64 : t;
}

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
    Expression value = assignment_.value;
    if (assignment_.accumulate)
      value = Expression::access(assignment_.name,
                                 std::vector<AffineIndex>(assignment_.indices.begin(), assignment_.indices.end())) +
              value;
    if (options_.mask) {
      if (options_.mask->shape() != shape_)
        throw TensorError({.what = "the mask has another shape than the result",
                           .expected = "rank " + std::to_string(shape_.size()) + " and the same extents",
                           .got = options_.mask->type().to_string()});
      Rows rows{.vars = output_, .free = {}, .coords = read_mask(*options_.mask), .n = 0, .slots = {}};
      rows.n = rows.coords.empty() ? 1 : static_cast<std::int64_t>(rows.coords[0].size());
      mask_ = std::move(rows);
    }
    Tree tree(extents_, options_.semiring);
    const int root = build(tree, value, true);
    DType dtype = tree.node(root).dtype;
    if (assignment_.accumulate) dtype = operands_.at(assignment_.name).dtype();
    return assemble(tree, root, options_.dtype.value_or(dtype));
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
    if (n.op == Operator::multiply) factors = factors_of(e);
    for (const auto& f : factors) arguments.push_back(build(tree, f, masked));
    return tree.add_operation(n.op, std::move(arguments));
  }

  const Operand& operand(const std::string& name) {
    const auto it = read_.find(name);
    if (it != read_.end()) return it->second;
    return read_[name] = read_operand(operands_.at(name), options_.semiring);
  }

  Factor describe(const Expression& e) {
    Factor f{.expression = e, .rows = 1, .indices = e.free_indices(), .dtype = {}};
    const Expression& inner = e.op() == Operator::conjugate ? e.argument() : e;
    if (inner.op() != Operator::access) return f;
    const Operand& o = operand(inner.node().name);
    for (const auto& i : inner.node().indices)
      if (!i.is_plain() && !i.terms.empty()) return f;
    f.rows = static_cast<double>(o.values->size());
    f.dtype = o.values->dtype;
    return f;
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
    if (op == Operator::sum)
      body = contract(
          body, names, implicit, [this](const Expression& f) { return describe(f); },
          [this](const std::string& i) {
            return static_cast<double>(extents_[static_cast<std::size_t>(variables_.at(i))]);
          });
    for (int v : reduced) masked = masked && std::find(output_.begin(), output_.end(), v) == output_.end();
    Tree inner(extents_, options_.semiring);
    const int root = build(inner, body, masked);
    const Node& node = inner.node(root);
    std::vector<int> groups;
    for (int v : node.vars)
      if (std::find(reduced.begin(), reduced.end(), v) == reduced.end()) groups.push_back(v);
    bool restricts = masked && mask_;
    for (int v : output_) restricts = restricts && std::find(groups.begin(), groups.end(), v) != groups.end();

    Monoid monoid = Monoid::plus;
    DType dtype = node.dtype;
    if (ring)
      monoid = addition(options_.semiring);
    else if (op == Operator::sum)
      dtype = sum_dtype(dtype, implicit);
    else if (op == Operator::any || op == Operator::all)
      monoid = op == Operator::any ? Monoid::either : Monoid::both, dtype = DType::boolean;
    else
      monoid = op == Operator::reduce_max ? Monoid::maximum : Monoid::minimum, dtype = type_of(op, dtype).result;
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
    inner.for_each_slab(root, restricts ? &*mask_ : nullptr, {}, [&](Rows rows, const Values& v) {
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
    const bool everywhere = node.always || node.constant;
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
    if (everywhere || groups.empty()) {
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

  Tensor assemble(const Tree& tree, int root, DType dtype) {
    std::map<std::string, TensorType> types;
    for (const auto& [name, t] : operands_) types.emplace(name, t.type());
    const Format format = options_.format ? *options_.format : result_format(assignment_, types).format;
    if (format.rank() != static_cast<int>(shape_.size()))
      throw TensorError({.what = "the format has another number of dimensions than the result",
                         .expected = std::to_string(shape_.size()),
                         .got = std::to_string(format.rank()) + " in " + format.to_string()});
    const Node& node = tree.node(root);
    Column fill = node.always ? zeros(node.dtype, 1) : node.fill;
    if (options_.semiring != Semiring::plus_times) fill = identity(addition(options_.semiring), node.dtype);
    fill = recast(fill, dtype);
    const std::size_t width = size_of(dtype);
    const auto each = [&](const auto& f) {
      tree.for_each_slab(root, mask_ ? &*mask_ : nullptr, output_, [&](Rows rows, const Values& v) {
        std::vector<const Ints*> dims;
        for (int o : output_) dims.push_back(rows.column(o));
        Column values = recast(v.values, dtype);
        Ints there;
        const bool some = !v.present.empty();
        if (some) there = present_rows(v);
        f(dims, values, some ? &there : nullptr, rows.n);
      });
    };
    if (format.is_all_dense() && format == conversion::dense_format(format.rank())) {
      const auto n = checked_product(shape_);
      if (!n || *n > INT64_MAX / 16) throw std::bad_alloc();
      Buffer out = Buffer::allocate(dtype, *n);
      std::vector<char> one(width);
      store(fill, one.data());
      for (std::int64_t k = 0; k < *n; ++k)
        std::copy_n(one.data(), width, static_cast<char*>(out.data) + k * static_cast<std::int64_t>(width));
      std::vector<char> bytes;
      each([&](const std::vector<const Ints*>& dims, const Column& values, const Ints* there, std::int64_t rows) {
        bytes.resize(values.size() * width);
        store(values, bytes.data());
        const std::int64_t count = there ? static_cast<std::int64_t>(there->size()) : rows;
        for (std::int64_t k = 0; k < count; ++k) {
          const auto r = static_cast<std::size_t>(there ? (*there)[static_cast<std::size_t>(k)] : k);
          std::int64_t at = 0;
          for (std::size_t d = 0; d < dims.size(); ++d) at = at * shape_[d] + (*dims[d])[r];
          std::copy_n(bytes.data() + r * width, width,
                      static_cast<char*>(out.data) + at * static_cast<std::int64_t>(width));
        }
      });
      std::vector<std::int64_t> strides(shape_.size());
      std::int64_t step = 1;
      for (std::size_t d = strides.size(); d-- > 0;) {
        strides[d] = step;
        step *= std::max<std::int64_t>(shape_[d], 1);
      }
      return borrow_dense(out, shape_, strides);
    }
    const auto emit = [&](const conversion::Sink& sink) {
      std::vector<char> bytes;
      each([&](const std::vector<const Ints*>& dims, const Column& values, const Ints* there, std::int64_t rows) {
        const Column chosen = there ? gather(values, *there, fill) : values;
        bytes.resize(chosen.size() * width);
        store(chosen, bytes.data());
        std::vector<Ints> columns(dims.size());
        constexpr std::int64_t step = 1 << 12;
        const std::int64_t count = there ? static_cast<std::int64_t>(there->size()) : rows;
        std::vector<const std::int64_t*> starts(dims.size());
        if (there)
          for (std::size_t d = 0; d < dims.size(); ++d)
            for (auto r : *there) columns[d].push_back((*dims[d])[static_cast<std::size_t>(r)]);
        for (std::int64_t begin = 0; begin < count; begin += step) {
          for (std::size_t d = 0; d < dims.size(); ++d)
            starts[d] = (there ? columns[d].data() : dims[d]->data()) + begin;
          sink({static_cast<int>(std::min(step, count - begin)), starts.data(),
                bytes.data() + static_cast<std::size_t>(begin) * width});
        }
      });
    };
    return conversion::assemble({emit}, dtype, to_scalar(fill), shape_, format, {});
  }

  /// To the result's dtype; the identity of a semiring stays what it is.
  Column recast(const Column& c, DType dtype) const {
    if (c.dtype == dtype) return c;
    const bool lossy = (is_complex(c.dtype) && !is_complex(dtype)) || (is_float(c.dtype) && is_integer(dtype)) ||
                       (dtype == DType::boolean);
    if (lossy && assignment_.accumulate && !options_.dtype)
      throw DTypeError({.what = "'" + assignment_.name + "' cannot hold what '+=' adds to it",
                        .expected = std::string(name_of(c.dtype)),
                        .got = std::string(name_of(dtype))});
    return cast(c, dtype);
  }

  const Assignment& assignment_;
  const std::map<std::string, Tensor>& operands_;
  const EvaluateOptions& options_;
  std::map<std::string, int> variables_;
  Extents extents_;
  std::vector<int> output_;
  Shape shape_;
  std::map<std::string, Operand> read_;
  std::optional<Rows> mask_;
  int next_leaf_ = 0;
};

}  // namespace
}  // namespace evaluation

Tensor evaluate(const Assignment& a, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  auto needed = a.value.operands();
  if (a.accumulate) needed.push_back(a.name);
  for (const auto& name : needed)
    if (!operands.contains(name))
      throw ExpressionError({.what = "no operand '" + name + "'",
                             .expected = "a tensor of this name",
                             .got = "none",
                             .fix = "give " + name + "="});
  return evaluation::Evaluator(a, operands, options).run();
}

Tensor evaluate(std::string_view text, const std::map<std::string, Tensor>& operands, const EvaluateOptions& options) {
  return evaluate(parse_assignment(text), operands, options);
}

std::string operand_name(std::size_t k) {
  return k < 26 ? std::string(1, static_cast<char>('A' + k)) : "T" + std::to_string(k);
}

Assignment to_assignment(const Einsum& e) {
  Assignment out;
  out.name = operand_name(e.operands.size());
  const auto name = [&](int i) { return e.names[static_cast<std::size_t>(i)]; };
  for (int i : e.output) out.indices.push_back(name(i));
  std::optional<Expression> product;
  for (std::size_t k = 0; k < e.operands.size(); ++k) {
    std::vector<AffineIndex> indices;
    for (int i : e.operands[k]) indices.emplace_back(name(i));
    Expression factor = Expression::access(operand_name(k), std::move(indices));
    if (k < e.conjugate.size() && e.conjugate[k]) factor = Expression::unary(Operator::conjugate, factor);
    product = product ? *product * factor : factor;
  }
  out.value = with_sums(product.value_or(Expression::integer(1)), out.indices);
  return out;
}

Tensor evaluate(const Einsum& e, std::span<const Tensor> operands, const EvaluateOptions& options) {
  if (e.operands.size() != operands.size())
    throw ExpressionError({.what = "the expression and the operands differ in number",
                           .expected = std::to_string(e.operands.size()),
                           .got = std::to_string(operands.size())});
  if (auto product = fast::sparse_product(e, operands, options)) return *product;
  std::map<std::string, Tensor> named;
  for (std::size_t k = 0; k < operands.size(); ++k) named.emplace(operand_name(k), operands[k]);
  return evaluate(to_assignment(e), named, options);
}

Semiring parse_semiring(std::string_view name) {
  std::string plain(name);
  std::replace(plain.begin(), plain.end(), '_', '-');
  for (int k = 0; k <= static_cast<int>(Semiring::any); ++k)
    if (plain == name_of(static_cast<Semiring>(k))) return static_cast<Semiring>(k);
  throw ExpressionError({.what = "no semiring '" + std::string(name) + "'",
                         .expected = "plus-times, min-plus, max-plus, max-times, or-and, any",
                         .got = std::string(name)});
}
std::string_view name_of(Semiring s) {
  constexpr std::string_view names[] = {"plus-times", "min-plus", "max-plus", "max-times", "or-and", "any"};
  return names[static_cast<std::size_t>(s)];
}

}  // namespace strata
