#include "plan/align_first.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "backend/pool.h"
#include "base/checked.h"
#include "base/far_apart.h"
#include "kernels/caches.h"
#include "levels/index_view.h"
#include "plan/chosen.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

constexpr i64 line = kernels::line_bytes, nearby = kernels::packed_bytes;
constexpr i64 largest = i64{32} << 20;  ///< bytes of a copy, unless its rows are short and chosen in no order:
constexpr i64 largest_scattered = i64{512} << 20;
constexpr i64 short_row = 256;  ///< bytes of which a line is a large part
constexpr i64 never = INT64_MAX;

/// Reads of a row that pay for its copy: from memory a copied byte takes as long as some thirty gathered ones gain by
/// it. (Where the copy and what it is made of do not fit the second level together, rows of a mesh of 18 elements lose
/// 40 %, uniform ones of 41 gain 15.)
constexpr i64 enough_reads(i64 bytes) { return bytes <= nearby / 4 ? 12 : bytes <= nearby ? 32 : 64; }
/// The same for rows in no order, each of which costs a line more from wherever it lies.
constexpr i64 enough_scattered_reads(i64 row_bytes) { return row_bytes <= short_row / 2 ? 6 : 10; }

struct Move {
  std::size_t operand;
  i64 worth;              ///< stored elements from which on the copy pays
  i64 scattered = never;  ///< the same where rows are chosen in no order,
  int chooser = -1;       ///< by this level of the driver
  bool small = false;     ///< a core's caches hold it: each core fetches what others have copied
};

/// Do the coordinates of this level follow each other in no order?
bool in_no_order(const Tensor& t, int level) {
  const Buffer& crd = t.part().levels[static_cast<std::size_t>(level)].crd;
  return with_index_type(crd.dtype, [&]<class T>(T) {
    return far_apart(static_cast<const T*>(crd.data), std::min(crd.size, stored_values(t)));
  });
}

class AlignFirst : public Preparation {
 public:
  AlignFirst(std::size_t driver, std::vector<Move> moves, RunnerPtr inner)
      : Preparation(std::move(inner)), driver_(driver), moves_(std::move(moves)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    // An output in the driver's pattern has a value for each element, also where the driver's share one.
    const i64 elements = stored_values(out.format().is_all_dense() ? operands[driver_] : out);
    const auto astray = [&](const Move& m) {
      return reinterpret_cast<std::uintptr_t>(operands[m.operand].part().values.data) % line != 0 &&
             (elements >= (m.small ? m.worth * thread_count() : m.worth) ||
              (elements >= m.scattered && in_no_order(operands[driver_], m.chooser)));
    };
    std::vector<Tensor> in;
    for (const Move& m : moves_) {
      if (!astray(m)) continue;
      if (in.empty()) in.assign(operands.begin(), operands.end());
      in[m.operand] = moved(operands[m.operand]);
    }
    inner_->run(in.empty() ? operands : std::span<const Tensor>(in), out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    for (const Move& m : moves_) {
      std::string when = std::to_string(m.worth < never ? m.worth : m.scattered) + " values of " +
                         operand_name(driver_) + " are stored";
      if (m.worth == never) when += " in no order";
      else if (m.scattered < m.worth) when += ", or " + std::to_string(m.scattered) + " in no order";
      out.emplace_back("copy of " + operand_name(m.operand),
                       "to the start of a cache line, where it stands elsewhere and at least " + when);
    }
    return out;
  }

 private:
  static Tensor moved(const Tensor& t) {
    Part part = t.part();
    const Buffer from = part.values;
    part.values = Buffer::allocate(from.dtype, from.size);
    constexpr i64 chunk = i64{32} << 10;
    parallel_for(ceil_div(from.bytes(), chunk), [&](i64 c) {
      const auto n = static_cast<std::size_t>(std::min(chunk, from.bytes() - c * chunk));
      std::memcpy(static_cast<char*>(part.values.data) + c * chunk, static_cast<const char*>(from.data) + c * chunk, n);
    });
    return make_from_parts(t.type(), {std::move(part)});
  }

  std::size_t driver_;
  std::vector<Move> moves_;
};

/// The level of the driver, if any, whose stored coordinates are those of index `id`.
int choosing_level(const TensorType& driver, const std::vector<int>& ids, int id) {
  for (int l = 0; l < driver.format.num_levels() && driver.format.num_parts() == 1; ++l)
    if (chosen_by(driver, ids, l) == id) return l;
  return -1;
}

/// The copy, if any, of a dense operand whose rows the stored elements of the driver, whose indices are `own`, choose:
/// none where they do not fill whole vectors, or no copy is worth it.
std::optional<Move> move_of(std::size_t operand, const TensorType& t, const std::vector<int>& ids,
                            const TensorType& driver, const std::vector<int>& own) {
  const auto size = checked_product(t.shape);
  const i64 width = static_cast<i64>(size_of(t.dtype));
  if (!is_plain_dense(t) || !t.strides.empty() || t.format.num_batch_levels() > 0 || !size || *size == 0 ||
      *size > largest_scattered / width)
    return std::nullopt;
  i64 rows = 1, row = 1;
  int last = -1;       // the last index that the driver chooses
  bool inside = true;  // still in the row
  for (int l = t.format.num_levels() - 1; l >= 0; --l) {
    const int d = t.format.spec().exprs[static_cast<std::size_t>(t.format.level(l).expr)].a;
    const i64 n = t.shape[static_cast<std::size_t>(d)];
    const bool chosen = std::find(own.begin(), own.end(), ids[static_cast<std::size_t>(d)]) != own.end();
    inside = inside && !chosen;
    if (inside) row *= n;
    if (chosen) rows *= n;
    if (chosen && last < 0) last = ids[static_cast<std::size_t>(d)];
  }
  if (inside || row * width % (line / 2) != 0) return std::nullopt;
  const i64 bytes = *size * width;
  Move move{operand, bytes <= largest ? rows * enough_reads(bytes) : never};
  move.small = bytes <= nearby;
  if (bytes > nearby && row * width <= short_row) move.chooser = choosing_level(driver, own, last);
  if (move.chooser >= 0) move.scattered = rows * enough_scattered_reads(row * width);
  if (bytes > largest && move.chooser < 0) return std::nullopt;
  return move;
}

}  // namespace

RunnerPtr align_first(const Product& product, RunnerPtr inner) {
  const auto& types = product.operands;
  const auto driver = static_cast<std::size_t>(
      std::find_if(types.begin(), types.end(), [](const TensorType& t) { return !is_plain_dense(t); }) - types.begin());
  if (!inner || driver == types.size()) return inner;
  std::vector<Move> moves;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (const auto m = move_of(k, types[k], product.einsum.operands[k], types[driver], product.einsum.operands[driver]);
        m && !(m->small && inner->packs()))
      moves.push_back(*m);
  return moves.empty() ? inner : std::make_shared<AlignFirst>(driver, std::move(moves), std::move(inner));
}

}  // namespace strata::planning
