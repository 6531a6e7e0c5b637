#include "plan/nest/blocks.h"

#include <algorithm>
#include <set>

#include "base/checked.h"
#include "convert/convert_elements.h"
#include "expr/chain.h"
#include "plan/lazy_convert.h"
#include "plan/nest/plain.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using Names = std::vector<std::string>;

class IndexSplitter {
 public:
  IndexSplitter(const NestProblem& given, std::span<const IndexSplit> asked) : given_(given) {
    for (const IndexSplit& s : asked) splits_.emplace(s.index, s);
    asked_ = !asked.empty();
  }

  std::optional<Blocked> split() {
    // (Of a sparse result under a semiring nobody could tell fill-in from what came.)
    if (given_.options.semiring == Semiring::plus_times || given_.options.format->is_all_dense())
      collect(given_.assignment.value);
    if (!ok_ || splits_.empty()) return std::nullopt;
    Blocked out;
    NestProblem& p = out.problem;
    p.assignment = given_.assignment;
    p.assignment.value = rewritten(p.assignment.value);
    p.assignment.indices = names(given_.assignment.indices);
    p.options = given_.options;
    if (p.options.mask) p.options.mask = split_tensor(*p.options.mask, given_.assignment.indices);
    if (!ok_) return std::nullopt;
    p.operands = std::move(made_);
    for (const auto& i : given_.assignment.indices) out.shape.push_back(given_.extents.at(i));
    set_format(out);
    set_extents(p);
    if (out.format.is_all_dense()) set_strides(out);
    p.constraints = given_.constraints;
    return out;
  }

 private:
  const IndexSplit* find(const std::string& index) const {
    const auto it = splits_.find(index);
    return it == splits_.end() ? nullptr : &it->second;
  }

  // --- which indices, and into what -------------------------------------------------------------------------------
  void collect(const Expression& e) {
    if (e.op() == Operator::access) return collect(given_.operands.at(e.node().name).format(), *plain_indices(e));
    for (const auto& x : e.node().arguments) collect(x);
  }

  void collect(const Format& f, const Names& indices) {
    if (f.is_all_dense()) return;
    if (f.num_parts() != 1) {
      ok_ = asked_;
      return;
    }
    const FormatSpec& s = f.spec();
    for (int k = 0; k < s.num_exprs; ++k) {
      const ExprNode& x = s.exprs[static_cast<std::size_t>(k)];
      if (x.op != ExprNode::div && x.op != ExprNode::mod) continue;
      const ExprNode& of = s.exprs[static_cast<std::size_t>(x.a)];
      if (of.op != ExprNode::dim) continue;
      const std::string& i = indices[static_cast<std::size_t>(of.a)];
      const auto [it, fresh] = splits_.try_emplace(i, IndexSplit{i, unused(i + "_block"), unused(i + "_in"), x.n});
      ok_ = ok_ && (asked_ || it->second.size == x.n);
    }
    int behind = f.num_levels();  // of levels that are dense to the end
    while (behind > 0 && f.level(behind - 1).kind == LevelKind::dense) --behind;
    for (int l = 0; l < behind; ++l) {  // (A dense one above another kind has places where nothing is stored below.)
      int e = f.level(l).expr;
      while (is_cut(s, e) && is_cut(s, s.exprs[static_cast<std::size_t>(e)].a))
        e = s.exprs[static_cast<std::size_t>(e)].a;
      const ExprNode& x = s.exprs[static_cast<std::size_t>(e)];
      if (x.op == ExprNode::mod)
        loose_.insert(indices[static_cast<std::size_t>(s.exprs[static_cast<std::size_t>(x.a)].a)]);
    }
  }

  static bool is_cut(const FormatSpec& s, int e) {
    const auto op = s.exprs[static_cast<std::size_t>(e)].op;
    return op == ExprNode::div || op == ExprNode::mod;
  }

  std::string unused(std::string name) const {
    while (given_.extents.contains(name)) name += "_";
    return name;
  }

  Names names(const Names& indices) const {
    Names out;
    for (const auto& i : indices) {
      const IndexSplit* s = find(i);
      out.push_back(s ? s->outer : i);
      if (s) out.push_back(s->inner);
    }
    return out;
  }

  Shape shape(const Shape& given, const Names& indices) const {
    Shape out;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const IndexSplit* s = find(indices[d]);
      out.push_back(s ? ceil_div(given[d], s->size) : given[d]);
      if (s) out.push_back(s->size);
    }
    return out;
  }

  /// Per dimension: the size of its blocks, or 0.
  std::vector<i64> sizes(const Names& indices) const {
    std::vector<i64> out;
    for (const auto& i : indices) out.push_back(find(i) ? find(i)->size : 0);
    return out;
  }
  static std::vector<i64> strides(const std::vector<i64>& given, const std::vector<i64>& sizes) {
    std::vector<i64> out;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      out.push_back(sizes[d] ? given[d] * sizes[d] : given[d]);
      if (sizes[d]) out.push_back(given[d]);
    }
    return out;
  }

  // --- expressions and tensors ------------------------------------------------------------------------------------
  Expression rewritten(const Expression& e) {
    if (e.op() == Operator::access) {
      const Names indices = *plain_indices(e);
      const std::string key = e.to_string();
      if (!made_.contains(key)) made_.emplace(key, split_tensor(given_.operands.at(e.node().name), indices));
      return Expression::plain_access(key, names(indices));
    }
    if (const IndexSplit* s = is_reduction(e.op()) ? find(e.node().name) : nullptr) {
      const bool implicit = e.node().implicit;
      return Expression::reduce(e.op(), s->outer,
                                Expression::reduce(e.op(), s->inner, rewritten(e.argument()), implicit), implicit);
    }
    Expression::Node n = e.node();
    for (auto& x : n.arguments) x = rewritten(x);
    return Expression(std::move(n));
  }

  Lazy split_tensor(const Lazy& given, const Names& indices) {
    if (given.format().is_all_dense()) return split_dense(given, indices);
    const bool drops = given_.options.semiring != Semiring::plus_times;
    Lazy t = given;
    auto format = split_format(t.format(), indices);
    if (!format && asked_) {
      t = convert(t, in_splits(t.format(), indices), {.zeros = drops ? Zeros::automatic : Zeros::keep});
      format = split_format(t.format(), indices);
    }
    if (!format) {
      ok_ = false;
      return given;
    }
    TensorType type = t.type();
    type.format = *format;
    type.shape = shape(t.shape(), indices);
    const auto make = [to = *format, shape = type.shape](Lazy::Inputs& in) {
      return planning::viewed_as(in[0], to, shape, [&] {
        TensorType as_cut = in[0].type();
        as_cut.format = to;
        as_cut.shape = shape;
        Part part = in[0].part();
        part.format = to;
        return make_from_parts(std::move(as_cut), {std::move(part)});
      });
    };
    return Lazy::made(std::move(type), {.inputs = {t}, .make = make}, t);
  }

  Lazy split_dense(const Lazy& given, const Names& indices) const {
    const Lazy t = strided(given);
    const Shape cut = shape(t.shape(), indices);
    const auto make = [cut, sizes = sizes(indices)](Lazy::Inputs& in) {
      return dense_view(in[0].part().values, cut, strides(dimension_strides(in[0]), sizes), in[0].part().values_offset,
                        in[0].fill());
    };
    return Lazy::made(view_type(cut, t.dtype(), strides(dimension_strides(t), sizes(indices)), t.fill()), t.stats(),
                      {.inputs = {t}, .make = make});
  }

  // --- formats ----------------------------------------------------------------------------------------------------
  /// The same levels over the cut dimensions; nothing where the levels are not cut like that.
  std::optional<Format> split_format(const Format& f, const Names& indices) const {
    const Names cut = names(indices);
    if (f.is_all_dense()) return conversion::dense_format(static_cast<int>(cut.size()));
    if (f.num_parts() != 1) return std::nullopt;
    FormatBuilder b(cut);
    for (const Level& level : f.levels()) {
      const auto e = split_expression(f.spec(), level.expr, indices, cut, b);
      if (!e) return std::nullopt;
      b.level(*e, level);
    }
    return b.build();
  }

  std::optional<int> split_expression(const FormatSpec& s, int node, const Names& indices, const Names& cut,
                                      FormatBuilder& b) const {
    const ExprNode& x = s.exprs[static_cast<std::size_t>(node)];
    const auto dimension = [&](const std::string& name) {
      return b.dim(static_cast<int>(std::find(cut.begin(), cut.end(), name) - cut.begin()));
    };
    if (x.op == ExprNode::dim) {
      const std::string& i = indices[static_cast<std::size_t>(x.a)];
      if (find(i)) return std::nullopt;  // whole here, in blocks elsewhere
      return dimension(i);
    }
    const bool divides = x.op == ExprNode::div;
    if (!divides && x.op != ExprNode::mod) return std::nullopt;
    const ExprNode& of = s.exprs[static_cast<std::size_t>(x.a)];
    if (of.op == ExprNode::dim) {
      const IndexSplit* split = find(indices[static_cast<std::size_t>(of.a)]);
      if (!split || split->size != x.n) return std::nullopt;
      return dimension(divides ? split->outer : split->inner);
    }
    const auto inner = split_expression(s, x.a, indices, cut, b);
    if (!inner) return std::nullopt;
    return divides ? b.div(*inner, x.n) : b.mod(*inner, x.n);
  }

  /// Dense and compressed levels, those of an index to be cut twice: its blocks, then the places within.
  Format in_splits(const Format& f, const Names& indices) const {
    const auto order = storage_order(f);
    FormatBuilder b(indices);
    for (std::size_t l = 0; l < indices.size(); ++l) {
      const int d = order ? (*order)[l] : static_cast<int>(l);
      const Level level{.kind = order ? f.level(static_cast<int>(l)).kind : LevelKind::compressed};
      const IndexSplit* s = find(indices[static_cast<std::size_t>(d)]);
      b.level(s ? b.div(b.dim(d), s->size) : b.dim(d), level);
      if (s) b.level(b.mod(b.dim(d), s->size), level);
    }
    return b.build();
  }

  /// Blocks of the result as the operands have them: blocks outside, places inside.
  Format in_blocks(const Names& indices) const {
    FormatBuilder b(indices);
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const int i = b.dim(static_cast<int>(d));
      const IndexSplit* s = find(indices[d]);
      const bool rows = d == 0 && indices.size() > 1;  // a vector of dense blocks would store everything
      b.level(s ? b.div(i, s->size) : i, Level{.kind = rows ? LevelKind::dense : LevelKind::compressed});
    }
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (const IndexSplit* s =
              find(indices[d]))  // what no operand stores would be stored here: a zero that takes part
        b.level(b.mod(b.dim(static_cast<int>(d)), s->size),
                Level{.kind = loose_.contains(indices[d]) ? LevelKind::compressed : LevelKind::dense});
    return b.build();
  }

  void set_format(Blocked& out) const {
    const Names& indices = given_.assignment.indices;
    out.format = *given_.options.format;
    auto format = split_format(out.format, indices);
    if (!format) {  // it is converted afterwards
      out.format = asked_ ? in_splits(out.format, indices) : in_blocks(indices);
      format = split_format(out.format, indices);
    }
    out.problem.options.format = *format;
  }

  // --- the rest of the problem ------------------------------------------------------------------------------------
  void set_extents(NestProblem& p) const {
    for (const auto& [index, n] : given_.extents) {
      const IndexSplit* s = find(index);
      p.extents.emplace(s ? s->outer : index, s ? ceil_div(n, s->size) : n);
      if (!s) continue;
      p.extents.emplace(s->inner, s->size);
      p.constants.emplace(s->inner, s->size);
      if (!given_.constraints.given) p.inside.push_back(s->inner);
      if (n % s->size != 0) p.bounds.push_back({.terms = {{s->outer, s->size}, {s->inner, 1}}, .extent = n});
    }
    for (const auto& index : given_.inside) {
      const IndexSplit* s = find(index);
      p.inside.push_back(s ? s->outer : index);
      if (s && given_.constraints.given) p.inside.push_back(s->inner);
    }
    for (const auto& [index, n] : given_.constants) {
      const IndexSplit* s = find(index);
      p.constants.emplace(s ? s->outer : index, s ? ceil_div(n, s->size) : n);
    }
    for (const auto& bound : given_.bounds) {
      IndexBound<std::string> cut{.terms = {}, .extent = bound.extent};
      for (const auto& [index, c] : bound.terms) {
        const IndexSplit* s = find(index);
        cut.terms.emplace_back(s ? s->outer : index, s ? c * s->size : c);
        if (s) cut.terms.emplace_back(s->inner, c);
      }
      p.bounds.push_back(std::move(cut));
    }
  }

  void set_strides(Blocked& out) const {
    const auto n = checked_product(out.shape);
    if (!n) throw std::bad_alloc();
    const Format plain = conversion::dense_format(static_cast<int>(out.shape.size()));
    out.strides = given_.strides.empty() ? row_major_strides(plain.level_ranges(out.shape)) : given_.strides;
    out.problem.size = given_.strides.empty() ? *n : given_.size;
    out.problem.strides = strides(out.strides, sizes(given_.assignment.indices));
  }

  const NestProblem& given_;
  std::map<std::string, IndexSplit> splits_;
  std::set<std::string> loose_;  ///< indices whose places within a block some operand stores one by one
  bool asked_ = false;
  Operands made_;
  bool ok_ = true;
};

}  // namespace

Buffer moved(const Buffer& crd, DType dtype, std::int64_t by) {
  Buffer out = Buffer::allocate(dtype, crd.size);
  for (i64 k = 0; k < crd.size; ++k) out.set_index(k, crd.index(k) + by);
  return out;
}

std::optional<Blocked> by_blocks(const NestProblem& problem, std::span<const IndexSplit> splits) {
  return IndexSplitter(problem, splits).split();
}

Format Blocked::with_rows_of(const Format& result) const {
  const auto same = [&](int l) { return format.level(l).arg == result.level(l).arg; };
  bool all = true;
  for (int l = 0; l < format.num_levels(); ++l) all = all && same(l);
  if (all) return format;
  FormatSpec spec = format.spec();
  for (int l = 0; l < spec.num_levels; ++l) spec.levels[static_cast<std::size_t>(l)].arg = result.level(l).arg;
  return Format(spec);
}

Tensor Blocked::joined(const Tensor& result) const {
  if (format.is_all_dense()) return dense_view(result.part().values, shape, strides, 0, result.fill());
  if (result.num_parts() > 1) return result.transpose(turned);
  TensorType type = result.type();
  type.format = with_rows_of(result.format());
  type.shape = shape;
  Part part = result.part();
  part.format = type.format;
  if (first_diagonal != 0) {
    part.ranges = type.format.level_ranges(shape);
    part.levels[0].crd = moved(part.levels[0].crd, type.crd_dtype, first_diagonal);
  }
  return make_from_parts(std::move(type), {std::move(part)});
}

}  // namespace strata::direct
