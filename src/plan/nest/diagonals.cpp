// Matrices that are stored by diagonals: the diagonals are rows, each of them dense. In place of rows and columns loops
// run over diagonals and the places on them.
#include <algorithm>
#include <new>

#include "base/checked.h"
#include "convert/convert_elements.h"
#include "expr/chain.h"
#include "format/recognise.h"
#include "plan/nest/blocks.h"
#include "plan/nest/plain.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;
using Names = std::vector<std::string>;

/// Row and column of a matrix, of which one counts the places on a diagonal, and the other goes:
/// other = place + sign * (d + first).
struct DiagonalCoordinates {
  Names names;  ///< of the diagonal and the place, which keeps its own
  std::string other;
  Shape shape;    ///< so many diagonals, and places on each
  i64 first = 0;  ///< diagonals are counted from this one on, the lowest
  i64 sign = 0;
  i64 extent = 0;  ///< of the other index
  Format format;   ///< of matrices over `names`

  DiagonalCoordinates(const NestProblem& given, const Names& indices, int along) {
    const i64 rows = given.extents.at(indices[0]), columns = given.extents.at(indices[1]);
    names = {"d", indices[static_cast<std::size_t>(along)]};
    while (given.extents.contains(names[0])) names[0] += "_";
    other = indices[static_cast<std::size_t>(1 - along)];
    shape = {rows + columns - 1, along == 0 ? rows : columns};
    first = 1 - rows;
    sign = along == 0 ? 1 : -1;
    extent = along == 0 ? columns : rows;
    FormatBuilder b(names);
    b.level(b.dim(0), Level{.kind = LevelKind::compressed});
    b.level(b.dim(1), Level{});
    format = b.build();
  }

  Lazy of(const Lazy& t) const {
    TensorType type = t.type();
    type.format = format;
    type.shape = shape;
    type.crd_dtype = index_dtype_for(shape[0]);
    const auto make = [to = format, shape = shape, first = first](Lazy::Inputs& in) {
      return planning::viewed_as(in[0], to, shape, [&] {
        TensorType by_diagonals = in[0].type();
        by_diagonals.format = to;
        by_diagonals.shape = shape;
        by_diagonals.crd_dtype = index_dtype_for(shape[0]);
        Part part = in[0].part();
        part.format = to;
        part.ranges = to.level_ranges(shape);
        part.levels[0].crd = moved(part.levels[0].crd, by_diagonals.crd_dtype, -first);
        return make_from_parts(std::move(by_diagonals), {std::move(part)});
      });
    };
    return Lazy::made(std::move(type), {.inputs = {t}, .make = make}, t);
  }

  bool reads_other(const Expression& access) const {
    return std::ranges::any_of(access.node().indices, [&](const auto& i) { return i.terms[0].index == other; });
  }
  /// A dense operand's access, which reads the other index as the sum of both.
  Expression of_dense(const Expression& access) const {
    Expression::Node n = access.node();
    for (auto& i : n.indices)
      if (i.terms[0].index == other) {
        i.terms = {{names[1], 1}, {names[0], sign}};
        i.constant = sign * first;
      }
    return Expression(std::move(n));
  }

  /// 0 <= other < extent.
  std::vector<IndexBound<std::string>> bounds() const {
    const i64 constant = sign * first;
    return {{.terms = {{names[0], sign}, {names[1], 1}}, .extent = extent - constant},
            {.terms = {{names[0], -sign}, {names[1], -1}}, .extent = 1 + constant}};
  }
};

/// The one along whose diagonals these elements lie in order; -1: elsewhere.
int ordered_diagonals_of(const Format& f) {
  const int along = f.num_parts() == 1 ? diagonals_of(f) : -1;
  return along >= 0 && f.level(0).unique && f.level(0).ordered ? along : -1;
}

/// Accesses to dense operands through two indices at once become views. Nothing of it fails: they are dense.
void make_plain(NestProblem& p) {
  std::string unused;
  auto plain = with_plain_accesses(p.assignment, p.operands, p.extents, false, unused);
  p.assignment = std::move(plain->assignment);
  p.operands = std::move(plain->operands);
}

/// Work on elements, into diagonals.
class OfElements {
 public:
  explicit OfElements(const NestProblem& given) : given_(given), indices_(given.assignment.indices) {}

  std::optional<Blocked> make() {
    const Asked& o = given_.options;
    if (indices_.size() != 2 || o.mask || o.semiring != Semiring::plus_times || given_.constraints.given)
      return std::nullopt;
    along_ = diagonals_of(*o.format);
    const Shape whole{given_.extents.at(indices_[0]), given_.extents.at(indices_[1])};
    if (along_ < 0 || whole[0] == 0 || whole[1] == 0) return std::nullopt;
    const DiagonalCoordinates skew(given_, indices_, along_);
    skew_ = &skew;
    Blocked out;
    NestProblem& p = out.problem;
    p.assignment = given_.assignment;
    p.assignment.value = rewritten(given_.assignment.value);
    if (!ok_) return std::nullopt;
    p.assignment.indices = skew.names;
    p.operands = std::move(made_);
    p.options = o;
    p.options.format = skew.format;
    p.counts_absent = given_.counts_absent;
    p.extents = given_.extents;
    p.extents.erase(skew.other);
    p.extents.emplace(skew.names[0], skew.shape[0]);
    if (bounded_) {
      make_plain(p);
      p.bounds = skew.bounds();
    }
    out.format = *o.format;
    out.shape = whole;
    out.first_diagonal = skew.first;
    out.wants_pattern = wants_pattern_;
    return out;
  }

 private:
  Expression rewritten(const Expression& e) {
    if (e.op() == Operator::access) return access(e);
    wants_pattern_ = wants_pattern_ || is_reduction(e.op());
    Expression::Node n = e.node();
    for (auto& x : n.arguments) x = rewritten(x);
    return Expression(std::move(n));
  }

  /// A dense tensor, or a matrix that is stored by diagonals.
  Expression access(const Expression& e) {
    const Names indices = *plain_indices(e);
    const Lazy& t = given_.operands.at(e.node().name);
    const bool dense = t.format().is_all_dense();
    const bool sparse = indices == indices_ && ordered_diagonals_of(t.format()) == along_ && lies_inside(t);
    ok_ = ok_ && (sparse || dense);
    wants_pattern_ = wants_pattern_ || (dense && indices.size() > 1);
    if (!ok_) return e;
    const std::string key = e.to_string();
    if (!made_.contains(key)) made_.emplace(key, sparse ? skew_->of(t) : t);
    bounded_ = bounded_ || (dense && skew_->reads_other(e));
    if (sparse) return Expression::plain_access(key, skew_->names);
    const Expression as = Expression::plain_access(key, indices);
    return skew_->reads_other(as) ? skew_->of_dense(as) : as;
  }

  /// Is most of its diagonals inside of the matrix? (All of them are walked.)
  static bool lies_inside(const Lazy& t) {
    constexpr i64 few = 65536;
    return t.stats().slots <= 2 * t.stats().stored + few;
  }

  const NestProblem& given_;
  const Names& indices_;
  const DiagonalCoordinates* skew_ = nullptr;
  int along_ = -1;
  Operands made_;
  bool ok_ = true, bounded_ = false, wants_pattern_ = false;
};

/// Anything of matrices by diagonals and dense operands, into dense memory.
class IntoDense {
 public:
  explicit IntoDense(const NestProblem& given) : given_(given) {}

  std::optional<Blocked> make() {
    const Asked& o = given_.options;
    if (o.mask || given_.constraints.given || !o.format->is_all_dense() || !given_.bounds.empty()) return std::nullopt;
    find(given_.assignment.value);
    if (!ok_ || indices_.empty()) return std::nullopt;
    const Names& result = given_.assignment.indices;
    const auto in_result = [&](const std::string& i) { return std::ranges::find(result, i) != result.end(); };
    const DiagonalCoordinates skew(given_, indices_, along_);
    const std::string& place = skew.names[1];
    if (skew.shape[1] == 0 || skew.extent == 0 || (in_result(place) && in_result(skew.other))) return std::nullopt;

    Blocked out;
    NestProblem& p = out.problem;
    p.assignment = given_.assignment;
    p.operands = given_.operands;
    p.assignment.value =
        rewritten(given_.assignment.value, skew, in_result(skew.other) ? place : skew.other, p.operands);
    p.options = o;
    p.counts_absent = given_.counts_absent;
    p.extents = given_.extents;
    p.extents.erase(skew.other);
    p.extents.emplace(skew.names[0], skew.shape[0]);
    make_plain(p);
    p.bounds = skew.bounds();
    out.format = *o.format;
    for (const auto& i : result) out.shape.push_back(given_.extents.at(i));
    out.strides = row_major_strides(conversion::dense_format(static_cast<int>(result.size())).level_ranges(out.shape));
    if (in_result(skew.other)) move_result(out, skew);
    return out;
  }

 private:
  /// The place stands for the other index of the result, which lies further on with every diagonal.
  static void move_result(Blocked& out, const DiagonalCoordinates& skew) {
    NestProblem& p = out.problem;
    const auto size = checked_product(out.shape);
    if (!size) throw std::bad_alloc();
    Names& result = p.assignment.indices;
    const auto d = static_cast<std::size_t>(std::ranges::find(result, skew.other) - result.begin());
    result[d] = skew.names[1];
    p.size = *size;
    p.strides = out.strides;
    const i64 stride = skew.sign * out.strides[d];
    p.skew = {skew.names[0], stride, stride * skew.first};
  }

  /// The indices of the sparse operands, which must be one pair.
  void find(const Expression& e) {
    if (is_reduction(e.op()) && e.op() != Operator::sum)  // what is absent counts by whole rows
      ok_ = ok_ && (!given_.counts_absent || given_.options.semiring != Semiring::plus_times);
    for (const auto& x : e.node().arguments) find(x);
    if (e.op() != Operator::access) return;
    const Format& f = given_.operands.at(e.node().name).format();
    if (f.is_all_dense()) return;
    const int along = ordered_diagonals_of(f);
    const Names indices = *plain_indices(e);
    ok_ = ok_ && along >= 0 && (indices_.empty() || (indices == indices_ && along == along_));
    if (ok_) indices_ = indices, along_ = along;
  }

  /// `summed`: the index whose sum becomes one over diagonals.
  Expression rewritten(const Expression& e, const DiagonalCoordinates& skew, const std::string& summed,
                       Operands& operands) const {
    Expression::Node n = e.node();
    if (e.op() == Operator::access) {
      const Lazy& t = given_.operands.at(n.name);
      if (t.format().is_all_dense()) return skew.of_dense(e);
      const std::string key = e.to_string() + " by diagonals";
      if (!operands.contains(key)) operands.emplace(key, skew.of(t));
      return Expression::plain_access(key, skew.names);
    }
    if (is_reduction(e.op()) && n.name == summed) n.name = skew.names[0];
    for (auto& x : n.arguments) x = rewritten(x, skew, summed, operands);
    return Expression(std::move(n));
  }

  const NestProblem& given_;
  Names indices_;  ///< row and column
  int along_ = -1;
  bool ok_ = true;
};

}  // namespace

std::optional<Blocked> by_diagonals(const NestProblem& problem) {
  if (auto elements = OfElements(problem).make()) return elements;
  return IntoDense(problem).make();
}

}  // namespace strata::direct
