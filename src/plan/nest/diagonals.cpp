// Work on the elements of matrices that are stored by diagonals: the diagonals are rows, each of them dense.
#include <algorithm>
#include <new>

#include "base/checked.h"

#include "expr/chain.h"
#include "convert/convert_elements.h"
#include "format/recognise.h"
#include "plan/nest/blocks.h"
#include "plan/nest/plain.h"
#include "tensor/tensor_impl.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

/// A matrix by diagonals as one whose rows they are.
Lazy by_diagonals(const Lazy& t, const Format& format, const Shape& shape, i64 first) {
  TensorType type = t.type();
  type.format = format;
  type.shape = shape;
  type.crd_dtype = index_dtype_for(shape[0]);
  const auto make = [format, shape, first](Lazy::Inputs& in) {
    TensorType by_diagonals = in[0].type();
    by_diagonals.format = format;
    by_diagonals.shape = shape;
    by_diagonals.crd_dtype = index_dtype_for(shape[0]);
    Part part = in[0].part();
    part.format = format;
    part.ranges = format.level_ranges(shape);
    part.levels[0].crd = moved(part.levels[0].crd, by_diagonals.crd_dtype, -first);
    return make_from_parts(std::move(by_diagonals), {std::move(part)});
  };
  return Lazy::made(std::move(type), {.inputs = {t}, .make = make}, t);
}

/// Rows of diagonals, each of them dense: the diagonal counts from `first` on, the place along a dimension.
Format rows_of_diagonals(const std::vector<std::string>& names) {
  FormatBuilder b(names);
  b.level(b.dim(0), Level{.kind = LevelKind::compressed});
  b.level(b.dim(1), Level{});
  return b.build();
}

class Diagonals {
 public:
  explicit Diagonals(const Problem& given) : given_(given), indices_(given.assignment.indices) {}

  std::optional<Blocked> make() {
    const Asked& o = given_.options;
    if (indices_.size() != 2 || o.mask || o.semiring != Semiring::plus_times || given_.constraints.given)
      return std::nullopt;
    along_ = diagonals_of(*o.format);
    if (along_ < 0) return std::nullopt;
    const i64 rows = given_.extents.at(indices_[0]), columns = given_.extents.at(indices_[1]);
    if (rows == 0 || columns == 0) return std::nullopt;
    first_ = 1 - rows;
    shape_ = {rows + columns - 1, along_ == 0 ? rows : columns};
    names_ = {"d", indices_[static_cast<std::size_t>(along_)]};
    while (given_.extents.contains(names_[0])) names_[0] += "_";
    format_ = rows_of_diagonals(names_);

    Blocked out;
    Problem& p = out.problem;
    p.assignment = given_.assignment;
    p.assignment.value = rewritten(given_.assignment.value);
    if (!ok_) return std::nullopt;
    p.assignment.indices = names_;
    p.operands = std::move(made_);
    p.options = o;
    p.options.format = format_;
    p.extents = {{names_[0], shape_[0]}, {names_[1], shape_[1]}};
    out.format = *o.format;
    out.shape = {rows, columns};
    out.first_diagonal = first_;
    return out;
  }

 private:
  Expression rewritten(const Expression& e) {
    if (e.op() == Operator::access) return access(e);
    ok_ = ok_ && !is_reduction(e.op());
    Expression::Node n = e.node();
    for (auto& x : n.arguments) x = rewritten(x);
    return Expression(std::move(n));
  }

  /// A number, a vector along the diagonals, or a matrix that is stored by them.
  Expression access(const Expression& e) {
    const std::vector<std::string> indices = *plain_indices(e);
    const Lazy& t = given_.operands.at(e.node().name);
    const bool sparse = indices == indices_ && diagonals_of(t.format()) == along_ && t.format().level(0).unique &&
                        t.format().level(0).ordered && lies_inside(t);
    const bool dense =
        t.format().is_all_dense() && (indices.empty() || (indices.size() == 1 && indices[0] == names_[1]));
    const std::string key = e.to_string();
    ok_ = ok_ && (sparse || dense);
    if (!ok_) return e;
    if (!made_.contains(key)) made_.emplace(key, sparse ? by_diagonals(t, format_, shape_, first_) : t);
    return Expression::plain_access(key, sparse ? names_ : indices);
  }

  /// Is most of its diagonals inside of the matrix? (All of them are walked.)
  bool lies_inside(const Lazy& t) const {
    constexpr i64 few = 65536;
    return t.stats().slots <= 2 * t.stats().stored + few;
  }

  const Problem& given_;
  const std::vector<std::string>& indices_;
  int along_ = -1;  ///< dimension that the places on a diagonal count
  i64 first_ = 0;   ///< the lowest diagonal
  Shape shape_;
  std::vector<std::string> names_;
  Format format_;
  Operands made_;
  bool ok_ = true;
};

/// Loops over diagonals and the places on them, in place of rows and columns: whoever has the other index reads it as
/// the sum of both.
class Skewed {
 public:
  explicit Skewed(const Problem& given) : given_(given) {}

  std::optional<Blocked> make() {
    const Asked& o = given_.options;
    if (o.mask || given_.constraints.given || !o.format->is_all_dense() || !given_.bounds.empty()) return std::nullopt;
    find(given_.assignment.value);
    if (!ok_ || indices_.empty()) return std::nullopt;
    const std::string &place = indices_[static_cast<std::size_t>(along_)], &other = gone();
    const auto result = given_.assignment.indices;
    const auto moved = std::ranges::find(result, other);
    if (moved != result.end() && std::ranges::find(result, place) != result.end()) return std::nullopt;
    summed_ = moved == result.end() ? other : place;
    const i64 rows = given_.extents.at(indices_[0]), columns = given_.extents.at(indices_[1]);
    if (rows == 0 || columns == 0) return std::nullopt;
    first_ = 1 - rows;
    names_ = {"d", place};
    while (given_.extents.contains(names_[0])) names_[0] += "_";
    shape_ = {rows + columns - 1, given_.extents.at(place)};

    Blocked out;
    Problem& p = out.problem;
    p.assignment = given_.assignment;
    p.operands = given_.operands;
    p.assignment.value = rewritten(given_.assignment.value, p.operands);
    p.options = o;
    p.counts_absent = given_.counts_absent;
    p.extents = given_.extents;
    p.extents.erase(other);
    p.extents.emplace(names_[0], shape_[0]);
    std::string unused;
    auto plain = with_plain_accesses(p.assignment, p.operands, p.extents, false, unused);
    if (!plain) return std::nullopt;
    p.assignment = std::move(plain->assignment);
    p.operands = std::move(plain->operands);
    // 0 <= other < extent, where other = sign * (d + first) + place.
    const i64 sign = this->sign(), constant = sign * first_;
    p.bounds.push_back({.terms = {{names_[0], sign}, {place, 1}}, .extent = given_.extents.at(other) - constant});
    p.bounds.push_back({.terms = {{names_[0], -sign}, {place, -1}}, .extent = 1 + constant});
    out.format = *o.format;
    for (const auto& i : result) out.shape.push_back(given_.extents.at(i));
    out.strides = row_major_strides(conversion::dense_format(static_cast<int>(result.size())).level_ranges(out.shape));
    if (moved == result.end()) return out;
    // The place stands for the other index, which lies further on with every diagonal.
    const auto d = static_cast<std::size_t>(moved - result.begin());
    const auto size = checked_product(out.shape);
    if (!size) throw std::bad_alloc();
    p.assignment.indices[d] = place;
    p.size = *size;
    p.strides = out.strides;
    p.skew = {names_[0], sign * out.strides[d], constant * out.strides[d]};
    return out;
  }

 private:
  const std::string& gone() const { return indices_[static_cast<std::size_t>(1 - along_)]; }
  i64 sign() const { return along_ == 0 ? 1 : -1; }

  /// The indices of the sparse operands, which must be one pair: of matrices by diagonals.
  void find(const Expression& e) {
    if (is_reduction(e.op()))  // what is absent counts by whole rows
      ok_ = ok_ && (e.op() == Operator::sum || !given_.counts_absent ||
                    given_.options.semiring != Semiring::plus_times);
    if (e.op() == Operator::access) {
      const Format& f = given_.operands.at(e.node().name).format();
      if (f.is_all_dense()) return;
      const int along = f.num_parts() == 1 ? diagonals_of(f) : -1;
      const auto indices = *plain_indices(e);
      ok_ = ok_ && along >= 0 && f.level(0).unique && f.level(0).ordered && indices[0] != indices[1] &&
            (indices_.empty() || (indices == indices_ && along == along_));
      if (ok_) indices_ = indices, along_ = along;
    }
    for (const auto& x : e.node().arguments) find(x);
  }

  Expression rewritten(const Expression& e, Operands& operands) const {
    Expression::Node n = e.node();
    if (e.op() == Operator::access) {
      const Lazy& t = given_.operands.at(n.name);
      if (t.format().is_all_dense()) {
        for (auto& i : n.indices)
          if (i.terms[0].index == gone()) {
            i.terms = {{names_[1], 1}, {names_[0], sign()}};
            i.constant = sign() * first_;
          }
        return Expression(std::move(n));
      }
      const std::string key = e.to_string() + " by diagonals";
      if (!operands.contains(key)) operands.emplace(key, by_diagonals(t, rows_of_diagonals(names_), shape_, first_));
      return Expression::plain_access(key, names_);
    }
    if (is_reduction(e.op()) && n.name == summed_) n.name = names_[0];
    for (auto& x : n.arguments) x = rewritten(x, operands);
    return Expression(std::move(n));
  }

  const Problem& given_;
  std::vector<std::string> indices_;  ///< row and column
  int along_ = -1;
  bool ok_ = true;
  i64 first_ = 0;
  Shape shape_;
  std::vector<std::string> names_;  ///< of the diagonal, and of the place on it
  std::string summed_;              ///< the index whose sum is one over diagonals
};

}  // namespace

std::optional<Blocked> by_diagonals(const Problem& problem) { return Diagonals(problem).make(); }
std::optional<Blocked> by_skewed_loops(const Problem& problem) { return Skewed(problem).make(); }

}  // namespace strata::direct
