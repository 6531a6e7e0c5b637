// matmul: NumPy's rules for ranks, as an einsum.
#include <algorithm>
#include <array>

#include "base/tuple_text.h"
#include "plan/expression/planning.h"
#include "strata/ops.h"

namespace strata {
namespace {

using evaluation::Destination;

EvaluateOptions evaluated_as(const MatmulOptions& o) {
  return {.dtype = o.plan.output_dtype, .compute_dtype = o.plan.compute_dtype};
}

/// f(einsum, options): of vectors and matrices these are kept, as small products in a loop take no more time than they.
template <class F> auto evaluated(const Tensor& a, const Tensor& b, const MatmulOptions& o, const F& f) {
  check_inner(a.shape(), b.shape(), o);
  const auto at = [](std::size_t rank_a, std::size_t rank_b, const MatmulOptions& how) {
    const auto flag = [](bool is, std::size_t bit) { return is ? bit : 0; };
    return (rank_a - 1) * 2 + (rank_b - 1) + flag(how.transpose_a, 4) + flag(how.transpose_b, 8) +
           flag(how.conjugate_a, 16) + flag(how.conjugate_b, 32);
  };
  static const std::vector<Einsum> known = [&] {
    std::vector<Einsum> all(64);
    for (std::size_t k = 0; k < 64; ++k) {
      const MatmulOptions how{(k & 4) != 0, (k & 8) != 0, (k & 16) != 0, (k & 32) != 0};
      all[k] = matmul_einsum(k & 2 ? 2 : 1, k & 1 ? 2 : 1, how);
    }
    return all;
  }();
  static const EvaluateOptions plain;
  const auto is_small = [](const Tensor& t) { return t.rank() == 1 || t.rank() == 2; };
  const bool asked = o.plan.output_dtype || o.plan.compute_dtype;
  if (is_small(a) && is_small(b) && !asked) return f(known[at(a.shape().size(), b.shape().size(), o)], plain);
  return f(matmul_einsum(a.rank(), b.rank(), o), evaluated_as(o));
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

Tensor matmul(const Tensor& a, const Tensor& b, const MatmulOptions& options, const Scalar& alpha) {
  const std::array operands{a, b};
  return evaluated(a, b, options,
                   [&](const Einsum& e, const EvaluateOptions& how) { return evaluate(e, operands, how, alpha); });
}

void matmul_into(const Tensor& a, const Tensor& b, const Tensor& c, const Scalar& alpha, const Scalar& beta,
                 const MatmulOptions& options) {
  const std::array operands{a, b};
  evaluated(a, b, options,
            [&](const Einsum& e, const EvaluateOptions& how) { evaluate_into(e, operands, c, how, alpha, beta); });
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
  check_inner(a_.shape(), b_.shape(), options_);
  const Destination to{.out = c_, .alpha = alpha_, .beta = beta_};
  plan_ = evaluation::make_plan(to_assignment(matmul_einsum(a_.rank(), b_.rank(), options_)),
                                {{operand_name(0), a_}, {operand_name(1), b_}}, evaluated_as(options_), to.outline());
  planned_ = true;
  return plan_;
}

Tensor Matmul::execute() {
  if (!planned_)
    throw PlanError(
        {.what = "execute() before plan()", .expected = "plan() once", .got = "no plan", .fix = "call plan() first"});
  const std::array operands{a_, b_};
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
