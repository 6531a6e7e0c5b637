#include "plan/rows_first.h"

#include <algorithm>
#include <array>

#include "base/last_made.h"
#include "convert/convert_elements.h"
#include "format/recognise.h"
#include "strata/convert.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;

constexpr double long_row = 512;  ///< bytes of the result for each stored element, from which on a conversion pays
constexpr i64 few_elements = 4096;
constexpr i64 most_elements = i64{1} << 27;  ///< of a copy that nobody asked for

/// The sparse operand of a matrix product that is stored by what is summed, and its dimensions by rows.
struct Scattered {
  std::size_t operand = 0;
  std::array<int, 2> rows = {0, 1};
};

std::optional<Scattered> scattered(const Product& p) {
  if (p.operands.size() != 2) return std::nullopt;
  const std::size_t k = p.operands[0].format.is_all_dense() ? 1 : 0;
  const TensorType& t = p.operands[k];
  const auto stored = rows_of(t.format, LevelKind::compressed);
  if (!stored || t.format.num_batch_levels() > 0 || !p.operands[1 - k].format.is_all_dense()) return std::nullopt;
  const std::vector<int>&own = p.einsum.operands[k], &out = p.einsum.output;
  const int outer = own[static_cast<std::size_t>(stored->outer)], inner = own[static_cast<std::size_t>(stored->inner)];
  const auto has = [&](int index) { return std::ranges::find(out, index) != out.end(); };
  if (outer == inner || has(outer) || !has(inner)) return std::nullopt;
  double row = static_cast<double>(size_of(p.output.dtype));
  for (std::size_t d = 0; d < out.size(); ++d)
    if (out[d] != inner) row *= static_cast<double>(p.output.shape[d]);
  if (row < long_row) return std::nullopt;
  return Scattered{k, {stored->inner, stored->outer}};
}

class RowsFirst : public Preparation {
 public:
  RowsFirst(Product product, const Scattered& s, RunnerPtr scatter)
      : Preparation(std::move(scatter)),
        product_(std::move(product)),
        sparse_(s.operand),
        row_(static_cast<std::size_t>(s.rows[0])),
        rows_(conversion::levels_in_order(s.rows, true)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    const i64 stored = stored_values(operands[sparse_]);
    // Beside few elements the rows of the result would be walked for none.
    if (stored < few_elements || stored > most_elements || 4 * stored < operands[sparse_].shape()[row_])
      return inner_->run(operands, out, alpha, beta);
    std::vector<Tensor> in(operands.begin(), operands.end());
    in[sparse_] = convert(operands[sparse_], rows_, {.zeros = Zeros::keep});
    const RunnerPtr rows = by_rows(in[sparse_].type());
    if (rows) rows->run(in, out, alpha, beta);
    else inner_->run(operands, out, alpha, beta);
  }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    out.emplace_back("rows of " + operand_name(sparse_),
                     "instead, converted at each run, where at least " + std::to_string(few_elements) +
                         " values are stored: each adds to a long row of the result");
    return out;
  }

 private:
  struct ByRows {
    TensorType type;
    RunnerPtr runner;
  };
  RunnerPtr by_rows(const TensorType& type) const {
    const auto last = last_.get();
    if (last && last->type == type) return last->runner;
    Product product = product_;
    product.operands[sparse_] = type;
    std::vector<Report> unused;
    RunnerPtr runner = choose_direct(product, unused, 1);
    last_.set(std::make_shared<const ByRows>(ByRows{type, runner}));
    return runner;
  }

  Product product_;
  std::size_t sparse_, row_;  ///< row_: its dimension
  Format rows_;
  LastMade<ByRows> last_;
};

}  // namespace

RunnerPtr rows_first(const Product& product, RunnerPtr scatter) {
  const auto s = scatter ? scattered(product) : std::nullopt;
  return s ? std::make_shared<RowsFirst>(product, *s, std::move(scatter)) : scatter;
}

}  // namespace strata::planning
