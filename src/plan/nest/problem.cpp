#include "plan/nest/problem.h"

#include <algorithm>

#include "plan/nest/plain.h"

namespace strata::direct {

std::optional<NestProblem> make_problem(const Assignment& a, const Operands& operands, const Asked& options,
                                        std::string& why) {
  std::map<std::string, Shape> shapes;
  std::map<std::string, TensorType> types;
  for (const auto& [name, t] : operands) {
    shapes.emplace(name, t.shape());
    if (!options.format) types.emplace(name, t.type());
  }
  NestProblem p;
  p.options = options;
  if (!options.format) p.options.format = result_format(a, types, options).format;
  if (p.options.format->rank() != static_cast<int>(a.indices.size())) {
    why = "the format has another rank";  // the general path says it properly
    return std::nullopt;
  }
  p.extents = index_extents(a, shapes);
  auto plain = with_plain_accesses(a, operands, p.extents, options.semiring != Semiring::plus_times, why);
  if (!plain) return std::nullopt;
  p.assignment = std::move(plain->assignment);
  p.operands = std::move(plain->operands);
  return p;
}

bool has_reduction(const Expression& e) {
  return is_reduction(e.op()) || std::any_of(e.node().arguments.begin(), e.node().arguments.end(), has_reduction);
}

Expression peeled(const Expression& value, std::vector<std::pair<std::string, bool>>& reductions) {
  Expression body = value;
  while (is_reduction(value.op()) && body.op() == value.op()) {
    reductions.emplace_back(body.node().name, body.node().implicit);
    body = body.argument();
  }
  return body;
}

}  // namespace strata::direct
