#include "plan/align_first.h"

#include <algorithm>
#include <cstring>

#include "backend/pool.h"
#include "base/checked.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

constexpr i64 line = 64;                ///< bytes
constexpr i64 largest = i64{32} << 20;  ///< bytes of a copy
/// A copied byte takes as long as some thirty gathered ones gain by it.
constexpr i64 enough_reads = 64;

struct Move {
  std::size_t operand;
  i64 worth;  ///< stored elements from which on the copy pays
};

class AlignFirst : public Preparation {
 public:
  AlignFirst(std::size_t driver, std::vector<Move> moves, RunnerPtr inner)
      : Preparation(std::move(inner)), driver_(driver), moves_(std::move(moves)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    // An output in the driver's pattern has a value for each element, also where the driver's share one.
    const i64 elements = stored_values(out.format().is_all_dense() ? operands[driver_] : out);
    const auto astray = [&](const Move& m) {
      return reinterpret_cast<std::uintptr_t>(operands[m.operand].part().values.data) % line != 0 && elements >= m.worth;
    };
    if (std::none_of(moves_.begin(), moves_.end(), astray)) return inner_->run(operands, out, alpha, beta);
    std::vector<Tensor> in(operands.begin(), operands.end());
    for (const Move& m : moves_)
      if (astray(m)) in[m.operand] = moved(operands[m.operand]);
    inner_->run(in, out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    for (const Move& m : moves_)
      out.emplace_back("copy of " + operand_name(m.operand),
                       "to the start of a cache line, where it stands elsewhere and at least " + std::to_string(m.worth) +
                           " values of " + operand_name(driver_) + " are stored");
    return out;
  }

 private:
  static Tensor moved(const Tensor& t) {
    Part part = t.part();
    const Buffer from = part.values;
    part.values = Buffer::allocate(from.dtype, from.size);
    constexpr i64 chunk = i64{256} << 10;
    parallel_for(ceil_div(from.bytes(), chunk), [&](i64 c) {
      const auto n = static_cast<std::size_t>(std::min(chunk, from.bytes() - c * chunk));
      std::memcpy(static_cast<char*>(part.values.data) + c * chunk, static_cast<const char*>(from.data) + c * chunk, n);
    });
    return make_from_parts(t.type(), {std::move(part)});
  }

  std::size_t driver_;
  std::vector<Move> moves_;
};

/// Rows that the stored elements of the driver, whose indices are `own`, choose: 0 where they do not fill whole vectors,
/// or no copy is worth it.
i64 rows_of(const TensorType& t, const std::vector<int>& ids, const std::vector<int>& own) {
  const auto size = checked_product(t.shape);
  const i64 width = static_cast<i64>(size_of(t.dtype));
  if (!is_plain_dense(t) || !t.strides.empty() || t.format.num_batch_levels() > 0 || !size || *size == 0 ||
      *size > largest / width)
    return 0;
  i64 rows = 1, row = 1;
  bool inside = true;  // still in the row
  for (int l = t.format.num_levels() - 1; l >= 0; --l) {
    const int d = t.format.spec().exprs[static_cast<std::size_t>(t.format.level(l).expr)].a;
    const i64 n = t.shape[static_cast<std::size_t>(d)];
    const bool chosen = std::find(own.begin(), own.end(), ids[static_cast<std::size_t>(d)]) != own.end();
    inside = inside && !chosen;
    if (inside) row *= n;
    if (chosen) rows *= n;
  }
  return inside || row * width % (line / 2) != 0 ? 0 : rows;
}

}  // namespace

RunnerPtr align_first(const Product& product, RunnerPtr inner) {
  const auto& types = product.operands;
  const auto driver = static_cast<std::size_t>(
      std::find_if(types.begin(), types.end(), [](const TensorType& t) { return !is_plain_dense(t); }) - types.begin());
  if (!inner || driver == types.size()) return inner;
  std::vector<Move> moves;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (const i64 rows = rows_of(types[k], product.einsum.operands[k], product.einsum.operands[driver]))
      moves.push_back({k, rows * enough_reads});
  return moves.empty() ? inner : std::make_shared<AlignFirst>(driver, std::move(moves), std::move(inner));
}

}  // namespace strata::planning
