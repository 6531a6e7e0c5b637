// matmul: NumPy's rules for ranks, as an einsum.
#include <algorithm>
#include <array>

#include "base/tuple_text.h"
#include "execute/dense_view.h"
#include "format/recognise.h"
#include "ops/memo.h"
#include "ops/turned_product.h"
#include "plan/expression/dtypes.h"
#include "plan/plan_impl.h"
#include "plan/product.h"
#include "strata/evaluate.h"
#include "strata/ops.h"
#include "tensor/row_major.h"

namespace strata {
namespace {

/// NumPy's rule of the same kind: c may be narrower than the product, never of a lower kind (a float product in an
/// integer c).
void check_kind(const Tensor& a, const Tensor& b, DType c) {
  const auto kind = [](DType t) { return t == DType::boolean ? 0 : is_integer(t) ? 1 : is_float(t) ? 2 : 3; };
  const DType product = promote(a.dtype(), b.dtype());
  if (kind(c) < kind(product))
    throw DTypeError({.what = "c cannot hold the values of a @ b",
                      .expected = "a dtype of the kind of " + std::string(name_of(product)),
                      .got = std::string(name_of(c)),
                      .fix = "give a c of dtype " + std::string(name_of(product))});
}

using evaluation::is_plain, evaluation::wants_turning, evaluation::turned_product;
using Pair = std::array<Tensor, 2>;

/// The operands as a plan takes them: cast to the dtype asked for, where that is another thing than casting what is
/// loaded.
Pair loaded(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  const auto asked = options.plan.compute_dtype ? options.plan.compute_dtype : options.plan.output_dtype;
  if (!asked && a.dtype() == b.dtype()) return {a, b};
  Pair out;
  for (std::size_t k = 0; k < 2; ++k) {
    const Tensor& t = k == 0 ? a : b;
    if (asked) evaluation::check_cast(t.dtype(), *asked, k == 0 ? "a" : "b");
    out[k] = asked ? evaluation::loaded_as(t, *asked) : evaluation::added(t, promote(a.dtype(), b.dtype()));
  }
  return out;
}

/// What is computed in another dtype has that of the operands.
MatmulOptions with_output(MatmulOptions options, const Tensor& a, const Tensor& b) {
  if (options.plan.compute_dtype && !options.plan.output_dtype)
    options.plan.output_dtype = promote(a.dtype(), b.dtype());
  return options;
}

Plan plan_matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options, std::optional<DType> output = {}) {
  PlanOptions plan = options.plan;
  if (output && !plan.output_dtype) {
    check_kind(a, b, *output);
    plan.output_dtype = output;
  }
  const int flags =
      options.transpose_a | options.transpose_b << 1 | options.conjugate_a << 2 | options.conjugate_b << 3;
  const evaluation::Choices choices{.dtype = plan.output_dtype, .compute_dtype = plan.compute_dtype};
  const Tensor* operands[] = {&a, &b};
  thread_local evaluation::Memo<int> memo;
  if (const auto* known = memo.find(flags, choices, [&](const auto&, std::size_t k) { return &operands[k]->type(); }))
    return known->plan;
  check_inner(a.shape(), b.shape(), options);
  planning::Epoch epoch = planning::Epoch::now();
  std::vector<TensorType> types{a.type(), b.type()};
  Plan made = make_plan(matmul_einsum(a.rank(), b.rank(), options), types, plan);
  memo.insert({flags, choices, std::move(types), std::move(epoch), made});
  return made;
}

bool is_sparse_matrix(const Tensor& t) { return t.rank() == 2 && !t.format().is_all_dense(); }

/// Does a dense matrix lie in memory column by column?
bool has_rows_apart(const Tensor& t) {
  return t.rank() == 2 && t.shape()[1] >= evaluation::worth_moving && t.format().is_all_dense() && t.num_parts() == 1 &&
         t.format().num_levels() == 2 && plain_dim(t.format(), 0) == 1;
}

bool wants_moving(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  return is_plain(options) && is_sparse_matrix(a) && has_rows_apart(b);
}

/// May a matrix of this shape be written into c as it lies? (What may not, Plan::run() refuses.)
bool can_hold(const Tensor& c, std::int64_t rows, std::int64_t columns) {
  return c.shape() == Shape{rows, columns} && planning::is_plain_dense(c.type()) && !c.part().values.read_only &&
         !execution::overlaps_itself(execution::view_of(c));
}

}  // namespace

void check_inner(const Shape& a, const Shape& b, const MatmulOptions& o) {
  const std::size_t ra = a.size(), rb = b.size();
  if (ra == 0 || rb == 0) return;  // matmul_einsum refuses
  const auto inner_a = a[ra == 1 ? 0 : o.transpose_a ? ra - 2 : ra - 1];
  const auto inner_b = b[rb == 1 ? 0 : o.transpose_b ? rb - 1 : rb - 2];
  if (inner_a != inner_b)
    throw ExpressionError(
        {.what = "the inner extents of a @ b differ",
         .expected =
             std::to_string(inner_a) + ", as in a of shape " + tuple_text(a) + (o.transpose_a ? ", transposed" : ""),
         .got = std::to_string(inner_b) + " in b of shape " + tuple_text(b) + (o.transpose_b ? ", transposed" : "")});
}

Einsum matmul_einsum(int rank_a, int rank_b, const MatmulOptions& options) {
  if (rank_a == 0 || rank_b == 0)
    throw ExpressionError({.what = "matmul of a scalar",
                           .expected = "at least one dimension on either side",
                           .got = "ranks " + std::to_string(rank_a) + " and " + std::to_string(rank_b),
                           .fix = "use einsum, or multiply by alpha"});
  Einsum e;
  const auto index = [&](std::string name) {
    e.names.push_back(std::move(name));
    return e.num_indices++;
  };
  const int batch_a = std::max(0, rank_a - 2), batch_b = std::max(0, rank_b - 2), batches = std::max(batch_a, batch_b);
  for (int d = 0; d < batches; ++d) e.output.push_back(index("b" + std::to_string(d)));
  e.operands.resize(2);
  for (int d = 0; d < batch_a; ++d) e.operands[0].push_back(batches - batch_a + d);
  for (int d = 0; d < batch_b; ++d) e.operands[1].push_back(batches - batch_b + d);
  const int i = rank_a > 1 ? index("i") : -1, j = index("j"), k = rank_b > 1 ? index("k") : -1;
  const auto side = [&](std::vector<int>& own, int outer, bool outer_first) {
    if (outer >= 0 && outer_first) own.push_back(outer);
    own.push_back(j);
    if (outer >= 0 && !outer_first) own.push_back(outer);
    if (outer >= 0) e.output.push_back(outer);
  };
  side(e.operands[0], i, !options.transpose_a);
  side(e.operands[1], k, options.transpose_b);
  e.conjugate = {options.conjugate_a ? char{1} : char{0}, options.conjugate_b ? char{1} : char{0}};
  return e;
}

bool may_be_sparse(const Tensor& a, const Tensor& b) {
  const bool sparse_a = !a.format().is_all_dense(), sparse_b = !b.format().is_all_dense();
  return (sparse_a && sparse_b) || (sparse_a && a.rank() > 2 && b.rank() == 1) ||
         (sparse_b && b.rank() > 2 && a.rank() == 1);
}

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options) {
  if (may_be_sparse(a, b)) {
    check_inner(a.shape(), b.shape(), options);
    const Tensor operands[] = {a, b};
    return evaluate(matmul_einsum(a.rank(), b.rank(), options), operands,
                    {.dtype = options.plan.output_dtype, .compute_dtype = options.plan.compute_dtype});
  }
  if (wants_moving(a, b, options)) return matmul(a, execution::row_major_copy(b), options);
  if (wants_turning(a, b, options)) {
    check_inner(a.shape(), b.shape(), options);
    const Pair operands = loaded(a, b, options);
    const std::array types{operands[0].type(), operands[1].type()};
    const Tensor c =
        empty_dense(planning::dtypes_for(types, with_output(options, a, b).plan).output, {a.shape()[0], b.shape()[1]});
    turned_product(a, b, c, Scalar::of(1.0), Scalar::of(0.0), options);
    return c;
  }
  const Pair operands = loaded(a, b, options);
  return plan_matmul(operands[0], operands[1], with_output(options, a, b)).run(operands);
}

void matmul_into(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& alpha, const Scalar& beta,
                 const MatmulOptions& options) {
  if (wants_moving(a, b, options)) return matmul_into(a, execution::row_major_copy(b), c, alpha, beta, options);
  if (wants_turning(a, b, options) && can_hold(c, a.shape()[0], b.shape()[1])) {
    check_inner(a.shape(), b.shape(), options);
    return turned_product(a, b, c, alpha, beta, options);
  }
  const Pair operands = loaded(a, b, options);
  plan_matmul(operands[0], operands[1], options, c.dtype()).run(operands, c, alpha, beta);
}

Matmul::Matmul(Tensor a, Tensor b, std::optional<Tensor> c, Scalar alpha, std::optional<Scalar> beta,
               MatmulOptions options)
    : a_(std::move(a)),
      b_(std::move(b)),
      c_(std::move(c)),
      alpha_(alpha),
      beta_(beta.value_or(Scalar::of(c_ ? 1.0 : 0.0))),
      options_(std::move(options)) {
  if (!c_ && !beta_.is_zero())
    throw PlanError({.what = "beta without c",
                     .expected = "c, or beta 0",
                     .got = "beta " + beta_.to_string(),
                     .fix = "give c, which beta scales"});
}

const Plan& Matmul::plan() {
  if (may_be_sparse(a_, b_)) {
    check_inner(a_.shape(), b_.shape(), options_);
    plan_ = make_plan(to_assignment(matmul_einsum(a_.rank(), b_.rank(), options_)),
                      {{operand_name(0), a_}, {operand_name(1), b_}},
                      {.dtype = options_.plan.output_dtype, .compute_dtype = options_.plan.compute_dtype});
    planned_ = true;
    return plan_;
  }
  const Pair operands = loaded(a_, b_, options_);
  plan_ = c_ ? plan_matmul(operands[0], operands[1], options_, c_->dtype())
             : plan_matmul(operands[0], operands[1], with_output(options_, a_, b_));
  planned_ = true;
  return plan_;
}

Tensor Matmul::execute() {
  if (!planned_)
    throw PlanError(
        {.what = "execute() before plan()", .expected = "plan() once", .got = "no plan", .fix = "call plan() first"});
  // What is better turned, or moved first, goes as in matmul(), which remembers its plans.
  if (wants_moving(a_, b_, options_) || wants_turning(a_, b_, options_)) {
    const Shape shape{a_.shape()[0], b_.shape()[1]};
    const Tensor c = c_ ? *c_ : empty_dense(plan_.output_type().dtype, shape);
    matmul_into(a_, b_, c, alpha_, beta_, options_);
    return c;
  }
  const Pair operands = may_be_sparse(a_, b_) ? Pair{a_, b_} : loaded(a_, b_, options_);
  if (c_) {
    plan_.run(operands, *c_, alpha_, beta_);
    return *c_;
  }
  return plan_.run(operands, alpha_);
}

void Matmul::reset_operands(std::optional<Tensor> a, std::optional<Tensor> b, std::optional<Tensor> c,
                            std::optional<Scalar> alpha, std::optional<Scalar> beta) {
  const auto check = [](const char* name, const Tensor& before, const Tensor& now) {
    if (before.type() == now.type()) return;
    throw PlanError({.what = std::string("operand ") + name + " has another type",
                     .expected = before.type().to_string(),
                     .got = now.type().to_string(),
                     .fix = "make a new Matmul for operands of other types"});
  };
  if (a) check("a", a_, *a);
  if (b) check("b", b_, *b);
  if (c && c_) check("c", *c_, *c);
  if (c && !c_)
    throw PlanError({.what = "c was not planned for",
                     .expected = "no c",
                     .got = c->type().to_string(),
                     .fix = "give c when the Matmul is made"});
  if (beta && !c_ && !beta->is_zero())
    throw PlanError({.what = "beta without c", .expected = "beta 0", .got = "beta " + beta->to_string()});
  if (a) a_ = std::move(*a);
  if (b) b_ = std::move(*b);
  if (c) c_ = std::move(*c);
  if (alpha) alpha_ = *alpha;
  if (beta) beta_ = *beta;
}

}  // namespace strata
