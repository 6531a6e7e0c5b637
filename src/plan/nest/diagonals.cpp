// Work on the elements of matrices that are stored by diagonals: the diagonals are rows, each of them dense.
#include <algorithm>

#include "expr/chain.h"
#include "format/recognise.h"
#include "plan/nest/blocks.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

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
    FormatBuilder b(names_);
    b.level(b.dim(0), Level{.kind = LevelKind::compressed});
    b.level(b.dim(1), Level{});
    format_ = b.build();

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
    if (!made_.contains(key)) made_.emplace(key, sparse ? of_diagonals(t) : t);
    return Expression::plain_access(key, sparse ? names_ : indices);
  }

  /// Is most of its diagonals inside of the matrix? (All of them are walked.)
  bool lies_inside(const Lazy& t) const {
    constexpr i64 few = 65536;
    return t.stats().slots <= 2 * t.stats().stored + few;
  }

  Lazy of_diagonals(const Lazy& t) const {
    TensorType type = t.type();
    type.format = format_;
    type.shape = shape_;
    type.crd_dtype = index_dtype_for(shape_[0]);
    const auto make = [to = format_, shape = shape_, first = first_](Lazy::Inputs& in) {
      TensorType by_diagonals = in[0].type();
      by_diagonals.format = to;
      by_diagonals.shape = shape;
      by_diagonals.crd_dtype = index_dtype_for(shape[0]);
      Part part = in[0].part();
      part.format = to;
      part.ranges = to.level_ranges(shape);
      part.levels[0].crd = moved(part.levels[0].crd, by_diagonals.crd_dtype, -first);
      return make_from_parts(std::move(by_diagonals), {std::move(part)});
    };
    return Lazy::made(std::move(type), {.inputs = {t}, .make = make}, t);
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

}  // namespace

std::optional<Blocked> by_diagonals(const Problem& problem) { return Diagonals(problem).make(); }

}  // namespace strata::direct
