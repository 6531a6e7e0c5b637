#include "expr/contract.h"

#include <algorithm>

#include "expr/chain.h"

namespace strata {
namespace {

bool has(const std::vector<std::string>& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

/// Expected rows of the join of these factors, elements being spread evenly.
double join_rows(const std::vector<const ContractionFactor*>& factors,
                 const std::function<double(const std::string&)>& extent) {
  double rows = 1;
  std::vector<std::string> seen;
  for (const ContractionFactor* f : factors) {
    rows *= f->rows;
    for (const auto& i : f->indices) {
      if (has(seen, i)) rows /= std::max(extent(i), 1.0);
      else seen.push_back(i);
    }
  }
  return rows;
}

}  // namespace

Contraction contract(const Expression& body, const std::vector<std::string>& reduced, bool implicit,
                     const std::function<ContractionFactor(const Expression&)>& describe,
                     const std::function<double(const std::string&)>& extent) {
  const auto expressions = factors_of(body);
  if (expressions.size() < 3) return {body};
  std::vector<ContractionFactor> factors;
  for (const auto& e : expressions) {
    factors.push_back(describe(e));
    if (!factors.back().dtype) return {body};
  }
  DType dtype = *factors[0].dtype;
  for (const auto& f : factors) dtype = promote(dtype, *f.dtype);
  const auto together = [&] {
    std::vector<const ContractionFactor*> all;
    for (const auto& f : factors) all.push_back(&f);
    return join_rows(all, extent);
  };
  const double whole = together();
  double apart = 0;
  bool changed = false;
  while (factors.size() > 2) {
    double least = together();
    std::size_t best_p = 0, best_q = 0;
    std::vector<std::string> best;
    for (std::size_t p = 0; p < factors.size(); ++p)
      for (std::size_t q = p + 1; q < factors.size(); ++q) {
        if (promote(*factors[p].dtype, *factors[q].dtype) != dtype)
          continue;  // it would round, or wrap, before it is widened
        std::vector<std::string> summed;
        for (const auto& i : reduced) {
          if (!has(factors[p].indices, i) || !has(factors[q].indices, i)) continue;
          bool elsewhere = false;
          for (std::size_t k = 0; k < factors.size(); ++k)
            elsewhere = elsewhere || (k != p && k != q && has(factors[k].indices, i));
          if (!elsewhere) summed.push_back(i);
        }
        if (summed.empty()) continue;
        if (const double rows = join_rows({&factors[p], &factors[q]}, extent); rows < least) {
          least = rows;
          best_p = p;
          best_q = q;
          best = summed;
        }
      }
    if (best.empty()) break;
    ContractionFactor merged{.expression = factors[best_p].expression * factors[best_q].expression,
                             .rows = least,
                             .indices = {},
                             .dtype = dtype};
    double bound = 1;
    for (const std::size_t k : {best_p, best_q})
      for (const auto& i : factors[k].indices)
        if (!has(best, i) && !has(merged.indices, i)) {
          merged.indices.push_back(i);
          bound *= extent(i);
        }
    apart += least;
    merged.rows = std::min(least, bound);
    for (const auto& i : best) merged.expression = Expression::reduce(Operator::sum, i, merged.expression, implicit);
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(best_q));
    factors[best_p] = std::move(merged);
    changed = true;
  }
  if (!changed) return {body, whole, whole};
  Expression out = factors[0].expression;
  for (std::size_t k = 1; k < factors.size(); ++k) out = out * factors[k].expression;
  return {out, whole, apart + together()};
}

}  // namespace strata
