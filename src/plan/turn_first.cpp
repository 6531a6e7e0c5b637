#include "plan/turn_first.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "backend/pool.h"
#include "base/checked.h"
#include "execute/dense_view.h"
#include "format/recognise.h"
#include "machine/machine.h"
#include "tensor/row_major.h"

namespace strata::planning {
namespace {

using i64 = std::int64_t;
using execution::DenseView;

constexpr i64 worth_turning = 4;   ///< elements of a row
constexpr i64 rows_of_strip = 64;  ///< of the turned result's columns

/// out(i,k) = sum over j of S(i,j) * X(j,k): how the operands and the result of a product stand for these.
struct Roles {
  std::size_t sparse = 0, dense = 0;
  bool sparse_turned = false, dense_turned = false, out_turned = false;  ///< are their dimensions the other way round?
};

/// The same product with all dimensions of a dense operand but the summed one as one, which lie one after the other in
/// memory there and in the result: X(b,i,j) * S(j,k), as for layers of a network. Itself where it is of another kind.
Product with_one_column_index(const Product& p) {
  const auto& e = p.einsum;
  if (p.operands.size() != 2 || e.output.size() < 3) return p;
  const auto plain = [](const TensorType& t) { return t == dense_type(t.shape, t.dtype); };
  for (const std::size_t k : {0, 1}) {
    const std::vector<int>&x = e.operands[k], &s = e.operands[1 - k];
    const std::size_t n = x.size();
    if (n != e.output.size() || s.size() != 2 || e.num_indices != static_cast<int>(n) + 1 ||
        !std::equal(x.begin(), x.end() - 1, e.output.begin()) || !plain(p.operands[k]) || !plain(p.output))
      continue;
    const auto number = [&](int i) { return i == x.back() ? 1 : i == e.output.back() ? 2 : 0; };
    if (number(s[0]) + number(s[1]) != 3) continue;
    const std::span<const i64> rows = std::span(p.output.shape).first(n - 1);
    const auto flat = [&](const TensorType& t) {
      return dense_type({checked_product(rows).value(), t.shape.back()}, t.dtype);
    };
    Product out = p;
    out.einsum.operands[k] = {0, 1};
    out.einsum.operands[1 - k] = {number(s[0]), number(s[1])};
    out.einsum.output = {0, 2};
    out.einsum.num_indices = 3;
    out.einsum.names = {"i", "j", "k"};
    out.operands[k] = flat(p.operands[k]);
    out.output = flat(p.output);
    return out;
  }
  return p;
}

/// The same memory, row by row.
Tensor reshaped(const Tensor& t, const TensorType& type) {
  RawArrays arrays;
  arrays.values = t.part().values;
  arrays.values.data = execution::view_of(t).data;
  arrays.values.size = checked_product(type.shape).value();
  return make_tensor(type.format, type.shape, std::move(arrays), {}, false);
}

std::optional<Roles> roles_of(const Product& p) {
  if (p.operands.size() != 2 || p.einsum.output.size() != 2 || p.einsum.num_indices != 3) return std::nullopt;
  Roles r;
  r.sparse = p.operands[0].format.is_all_dense() ? 1 : 0;
  r.dense = 1 - r.sparse;
  const std::vector<int>&s = p.einsum.operands[r.sparse], &x = p.einsum.operands[r.dense], &out = p.einsum.output;
  if (p.operands[r.sparse].format.is_all_dense() || !is_plain_dense(p.operands[r.dense]) || s.size() != 2 ||
      x.size() != 2 || s[0] == s[1] || x[0] == x[1] || out[0] == out[1])
    return std::nullopt;
  const auto summed = [&](int i) { return i != out[0] && i != out[1]; };
  r.sparse_turned = summed(s[0]);
  r.dense_turned = summed(x[1]);
  const int row = s[r.sparse_turned ? 1 : 0], column = x[r.dense_turned ? 0 : 1];
  r.out_turned = out[0] == column;
  return row == column || summed(row) || summed(column) ? std::nullopt : std::optional(r);
}

double bytes_of(const TensorType& t) { return dense_size(t) * static_cast<double>(size_of(t.dtype)); }

/// Does a dense matrix lie in memory column by column?
bool has_rows_apart(const TensorType& t) { return t.format.num_levels() == 2 && plain_dim(t.format, 0) == 1; }

constexpr int other_way[] = {1, 0};

TensorType turned(TensorType t) {
  t.format = t.format.transpose(other_way);
  std::swap(t.shape[0], t.shape[1]);
  return t;
}
Tensor turned(const Tensor& t) { return t.transpose(other_way); }

/// Columns first .. first + count.
DenseView columns_of(DenseView v, i64 first, i64 count) {
  v.data += first * v.strides[1] * static_cast<i64>(size_of(v.dtype));
  v.shape[1] = count;
  return v;
}

/// out(i,k) = sum over j of S(i,j) * X(j,k) for so many k, all row by row.
Product with_columns(Product p, i64 count) {
  p.operands[1] = dense_type({p.operands[1].shape[0], count}, p.operands[1].dtype);
  p.output = dense_type({p.output.shape[0], count}, p.output.dtype);
  return p;
}

Product turned_product(const Product& p, const Roles& r) {
  const auto& conjugate = p.einsum.conjugate;
  Einsum e{.operands = {{0, 1}, {1, 2}},
           .output = {0, 2},
           .conjugate = {conjugate[r.sparse], conjugate[r.dense]},
           .num_indices = 3,
           .names = {"i", "j", "k"}};
  const TensorType &s = p.operands[r.sparse], &x = p.operands[r.dense];
  Product inner{.einsum = std::move(e),
                .operands = {r.sparse_turned ? turned(s) : s, r.dense_turned ? turned(x) : x},
                .output = r.out_turned ? turned(p.output) : p.output,
                .compute = p.compute};
  const TensorType output = inner.output;
  inner = with_columns(std::move(inner), output.shape[1]);
  if (!r.out_turned) inner.output = output;  // it is written where it lies
  return inner;
}

class TurnFirst : public Preparation {
 public:
  TurnFirst(Product flat, Product inner, Roles roles, RunnerPtr runner)
      : Preparation(std::move(runner)), flat_(std::move(flat)), product_(std::move(inner)), r_(roles) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    if (out.rank() > 2) {
      std::vector<Tensor> flat(operands.begin(), operands.end());
      flat[r_.dense] = reshaped(flat[r_.dense], flat_.operands[r_.dense]);
      return run(flat, reshaped(out, flat_.output), alpha, beta);
    }
    const Tensor s = r_.sparse_turned ? turned(operands[r_.sparse]) : operands[r_.sparse],
                 x = r_.dense_turned ? turned(operands[r_.dense]) : operands[r_.dense];
    const auto rows = [&] { return x.type() == product_.operands[1] ? x : execution::row_major_copy(x); };
    if (!r_.out_turned) return inner_->run(std::array{s, rows()}, out, alpha, beta);
    const DenseView from = execution::view_of(x), to = execution::permuted(execution::view_of(out), other_way);
    const auto product = [&](const Runner& runner, const Tensor& in, const Tensor& made, const DenseView& written) {
      const DenseView scratch = execution::view_of(made);
      if (!beta.is_zero()) execution::assign(scratch, written);
      runner.run(std::array{s, in}, made, alpha, beta);
      execution::assign(written, scratch);
    };
    const auto empty_result = [&](i64 count) { return empty_dense(out.dtype(), {to.shape[0], count}); };
    const i64 all = to.shape[1], strip = strip_of(s);
    const Runner *whole = strip > 0 ? runner_of(whole_, strip) : nullptr,
                 *rest = strip > 0 && all % strip > 0 ? runner_of(rest_, all % strip) : whole;
    if (!whole || !rest) return product(*inner_, rows(), empty_result(all), to);

    struct Strip {
      Tensor in, out;
    };
    std::vector<std::optional<Strip>> held(static_cast<std::size_t>(max_threads));
    parallel_for(ceil_div(all, strip), [&](i64 k) {
      const i64 first = k * strip, count = std::min(strip, all - first);
      std::optional<Strip>& own = held[static_cast<std::size_t>(worker_index())];
      if (!own || own->in.shape()[1] != count)
        own = Strip{empty_dense(x.dtype(), {from.shape[0], count}), empty_result(count)};
      execution::assign(execution::view_of(own->in), columns_of(from, first, count));
      product(count == strip ? *whole : *rest, own->in, own->out, columns_of(to, first, count));
    });
  }
  std::string name() const override { return inner_->name() + " after turning " + operand_name(r_.dense); }
  std::vector<std::pair<std::string, std::string>> details() const override {
    auto out = inner_->details();
    out.emplace_back("copy of " + operand_name(r_.dense),
                     r_.out_turned ? "its rows become columns, those of the result rows; in strips of " +
                                         std::to_string(rows_of_strip) +
                                         " where a core's second level holds one and all of " + operand_name(r_.sparse)
                                   : "row by row");
    return out;
  }

 private:
  /// Columns that are turned, multiplied and turned back by one thread while they stay in its second level, with all of
  /// S. 0: S, or what belongs to a column, is too large for that, or there are too few of them.
  i64 strip_of(const Tensor& s) const {
    const TensorType &x = product_.operands[1], &out = product_.output;
    const i64 column =
        x.shape[0] * static_cast<i64>(size_of(x.dtype)) + out.shape[0] * static_cast<i64>(size_of(out.dtype));
    i64 matrix = 0;
    for (int k = 0; k < s.num_parts(); ++k) {
      matrix += s.part(k).values.bytes();
      for (const auto& level : s.part(k).levels) matrix += level.pos.bytes() + level.crd.bytes();
    }
    const i64 most = machine().second_level / 2;
    const bool stays = rows_of_strip * column <= most && matrix <= most;
    return stays && out.shape[1] >= 8 * rows_of_strip ? rows_of_strip : 0;
  }
  /// What computes so many columns: chosen when it is needed first, as all columns' was. (No user's kernel: those were
  /// not registered for what we make.)
  struct LateRunner {
    std::once_flag once;
    RunnerPtr runner;
  };
  const Runner* runner_of(LateRunner& late, i64 count) const {
    std::call_once(late.once, [&] {
      std::vector<Report> unused;
      late.runner = choose(with_columns(product_, count), unused, 1);
    });
    return late.runner.get();
  }

  Product flat_;     ///< of two matrices
  Product product_;  ///< turned
  Roles r_;
  mutable LateRunner whole_, rest_;  ///< of strips
};

}  // namespace

RunnerPtr turn_first(const Product& given, std::vector<Report>& reports) {
  Product product = with_one_column_index(given);
  const auto roles = roles_of(product);
  if (!roles) return nullptr;
  const TensorType& x = product.operands[roles->dense];
  if (!(roles->out_turned || has_rows_apart(roles->dense_turned ? turned(x) : x))) return nullptr;
  Product inner = turned_product(product, *roles);
  // What the first level nearly holds is read at strides in less time than it takes to copy (8 rows of 100: half).
  const double moved = bytes_of(inner.operands[1]) + (roles->out_turned ? bytes_of(inner.output) : 0);
  if (inner.operands[1].shape[1] < worth_turning || moved <= 2 * static_cast<double>(machine().first_level))
    return nullptr;
  std::vector<Report> asked;
  RunnerPtr runner = choose(inner, asked, 1);
  if (!runner) return nullptr;
  reports.push_back({"after turning " + operand_name(roles->dense), true,
                     "loops over " + operand_name(roles->sparse) + " take rows of it, and of the result", 0});
  reports.insert(reports.end(), asked.begin(), asked.end());
  return std::make_shared<TurnFirst>(std::move(product), std::move(inner), *roles, std::move(runner));
}

}  // namespace strata::planning
