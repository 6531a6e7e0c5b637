#include "plan/rewrite/index_values.h"

#include <algorithm>
#include <numeric>

#include "tensor/tensor_impl.h"

namespace strata::evaluation {
namespace {

std::string vector_of(const std::string& index) { return "#" + index; }  // no user's name looks so

/// Accesses to these names, replaced by f(name).
template <class F> Expression replaced(const Expression& e, const std::vector<std::string>& names, const F& f) {
  if (e.op() == Operator::access)
    return e.node().indices.empty() && std::ranges::find(names, e.node().name) != names.end() ? f(e.node().name) : e;
  Expression::Node n = e.node();
  for (Expression& a : n.arguments) a = replaced(a, names, f);
  return Expression(std::move(n));
}

Tensor count_to(std::int64_t extent) {
  Buffer b = Buffer::allocate(DType::i64, extent);
  auto* to = static_cast<std::int64_t*>(b.data);
  std::iota(to, to + extent, std::int64_t{0});
  const std::int64_t stride[] = {1};
  return borrow_dense(std::move(b), {extent}, stride);
}

Lazy counting(std::int64_t extent) {
  TensorType type;
  type.format = dense_format(std::vector<int>{0});
  type.shape = {extent};
  type.dtype = DType::i64;
  type.fill = Scalar::zero(DType::i64);
  return Lazy::made(type, planning::stats_for(type, static_cast<double>(extent)),
                    {.make = [extent](Lazy::Inputs&) { return count_to(extent); }});
}

}  // namespace

std::optional<WithIndexValues> with_index_values(const Assignment& a, const Operands& operands) {
  std::vector<std::string> names = index_values(a);
  std::erase_if(names, [&](const std::string& name) { return operands.contains(name); });
  if (names.empty()) return std::nullopt;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, t] : operands) shapes.emplace(name, t.shape());
  Assignment without = a;
  without.value = replaced(a.value, names, [](const std::string&) { return Expression::integer(0); });
  const auto extents = index_extents(without, shapes);
  WithIndexValues out{a, operands};
  out.assignment.value = replaced(a.value, names, [](const std::string& name) {
    const std::string index[] = {name};
    return Expression::plain_access(vector_of(name), index);
  });
  for (const auto& i : out.assignment.value.free_indices())
    if (std::ranges::find(a.indices, i) == a.indices.end())
      throw ExpressionError({.what = "index '" + i + "' has no value outside of the sum over it",
                             .expected = "an index of the result, or one that is summed here",
                             .got = a.to_string()});
  for (const auto& name : names) {
    const auto extent = extents.find(name);
    if (extent == extents.end())
      throw ExpressionError({.what = "nothing gives index '" + name + "' an extent",
                             .expected = "an access with it",
                             .got = a.to_string(),
                             .fix = "give " + name + "= where an operand is meant"});
    out.operands.emplace(vector_of(name), counting(extent->second));
  }
  return out;
}

}  // namespace strata::evaluation
