#include "plan/nest/rows_together.h"

#include <algorithm>
#include <set>

#include "backend/backend.h"
#include "execute/dense_view.h"
#include "expr/chain.h"
#include "plan/nest/plain.h"

namespace strata::direct {
namespace {

using i64 = std::int64_t;

constexpr i64 least_row = 4;  ///< values that it pays to bring together

/// Dimensions in the order of the copy's memory: this one is the innermost.
std::vector<int> innermost_last(int rank, int along) {
  std::vector<int> out;
  for (int d = 0; d < rank; ++d)
    if (d != along) out.push_back(d);
  out.push_back(along);
  return out;
}

std::vector<i64> strides_of_copy(const Shape& shape, int along) {
  std::vector<i64> out(shape.size());
  i64 size = 1;
  const auto order = innermost_last(static_cast<int>(shape.size()), along);
  for (auto d = order.rbegin(); d != order.rend(); ++d) {
    out[static_cast<std::size_t>(*d)] = size;
    size *= shape[static_cast<std::size_t>(*d)];
  }
  return out;
}

Lazy copied(const Lazy& given, int along) {
  const Lazy t = strided(given);
  const auto make = [along](Lazy::Inputs& in) {
    const Tensor& from = in[0];
    const Tensor copy = dense_view(backend().allocate(from.dtype(), *from.size()), from.shape(),
                                   strides_of_copy(from.shape(), along), 0, from.fill());
    const auto order = innermost_last(from.rank(), along);
    assign(permuted(execution::view_of(copy), order), permuted(execution::view_of(from), order));
    return copy;
  };
  return Lazy::made(view_type(t.shape(), t.dtype(), strides_of_copy(t.shape(), along), t.fill()), t.stats(),
                    {.inputs = {t}, .make = make});
}

/// Copies of operands whose rows along this index lie across.
struct Copies {
  const NestProblem& given;
  const std::string& index;
  Operands made = {};
  i64 rows = 0;

  void collect(const Expression& e) {
    for (const auto& x : e.node().arguments) collect(x);
    if (e.op() != Operator::access || made.contains(e.node().name)) return;
    const Lazy& t = given.operands.at(e.node().name);
    const auto indices = *plain_indices(e);
    const auto at = std::ranges::find(indices, index);
    if (!t.format().is_all_dense() || at == indices.end()) return;
    const auto along = static_cast<std::size_t>(at - indices.begin());
    // Neighbours that are neighbours in memory, or one value, stay where they are.
    if (dimension_strides(strided(t))[along] <= 1) return;
    i64 all = 1;
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (d != along && __builtin_mul_overflow(all, t.shape()[d], &all)) return;
    rows += all;
    made.emplace(e.node().name, copied(t, static_cast<int>(along)));
  }
  /// Over the copies.
  NestProblem problem() && {
    NestProblem out = given;
    for (auto& [name, copy] : made) out.operands.insert_or_assign(name, std::move(copy));
    return out;
  }
};

}  // namespace

std::optional<NestProblem> with_rows_together(const NestProblem& problem, const Loops& loops) {
  const Unit& u = loops.unit;
  const Order& o = loops.order;
  const bool vectors = u.compute == DType::f32 || u.compute == DType::f64;
  if (o.pattern < 0 || !vectors || problem.constraints.given || u.output.size() + 1 != u.extents.size()) return {};
  const auto row = static_cast<std::size_t>(o.indices.back());
  if (u.extents[row] < least_row) return {};
  Copies copies{problem, u.names[row]};
  copies.collect(problem.assignment.value);
  // A gathered sum costs some eight times one over a row in one piece, and to copy a row as much as two.
  const double slots = u.accesses[static_cast<std::size_t>(o.pattern)].tensor.stats().slots;
  if (copies.made.empty() || slots < static_cast<double>(copies.rows) / 4) return {};
  return std::move(copies).problem();
}

std::optional<NestProblem> with_columns_last(const NestProblem& problem, const Loops& loops, std::vector<int>& turned) {
  constexpr double little = 65536;   // innermost iterations
  constexpr double least_reads = 2;  // of a value, for which a copy pays
  const Unit& u = loops.unit;
  const Order& o = loops.order;
  NestProblem out = problem;
  const bool number = u.compute == DType::f32 || u.compute == DType::f64;
  std::vector<std::string>& indices = out.assignment.indices;
  if (!o.dense_result || o.along >= 0 || o.tile >= 0 || !number || u.mask >= 0 || problem.constraints.given ||
      o.visits < little || indices.size() < 2 || !problem.strides.empty())
    return {};
  std::set<std::string> stored;  // by sparse operands
  for_each_access(problem.assignment.value, [&](const Expression& e) {
    if (problem.operands.at(e.node().name).format().is_all_dense()) return;
    const auto of_access = *plain_indices(e);
    stored.insert(of_access.begin(), of_access.end());
  });
  // Rows of the result stay where they are if their loop has nothing to search.
  const bool stays = !stored.contains(indices.back());
  // Blocks wider than a vector, and diagonals, have vectors of their own.
  if (!stays && !loops.cuts.empty() && u.extents[static_cast<std::size_t>(o.indices.back())] > lanes_of(u.compute))
    return {};
  const auto length = [&](const std::string& i) { return stored.contains(i) ? 0 : problem.extents.at(i); };
  const auto longest = stays ? indices.end() - 1 : std::ranges::max_element(indices, {}, length);
  if (length(*longest) < least_row) return {};
  Copies copies{problem, *longest};
  copies.collect(problem.assignment.value);
  const auto copied = static_cast<double>(copies.rows) * static_cast<double>(length(*longest));
  if (stays && (copies.made.empty() || o.visits < least_reads * copied)) return {};
  out.operands = std::move(copies).problem().operands;
  if (stays) return out;
  const auto at = longest - indices.begin();
  std::rotate(indices.begin() + at, indices.begin() + at + 1, indices.end());
  const int last = static_cast<int>(indices.size()) - 1;
  for (int d = 0; d <= last; ++d) turned.push_back(d < at ? d : d == at ? last : d - 1);
  return out;
}

}  // namespace strata::direct
