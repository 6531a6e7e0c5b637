#include "plan/rewrite/parts.h"

#include <algorithm>

#include "base/small_float.h"
#include "expr/chain.h"
#include "plan/nest/loops.h"
#include "plan/rewrite/in_place.h"

namespace strata::direct {
namespace {

/// Is the value of `e` a sum of what it would be for each part of the operand that `is_split` knows?
bool is_linear(const Expression& e, const std::function<bool(const Expression&)>& is_split) {
  const auto holds_split = [&](const Expression& x) {
    const auto holds = [&](const auto& self, const Expression& y) -> bool {
      return is_split(y) || std::ranges::any_of(y.node().arguments, [&](const Expression& z) { return self(self, z); });
    };
    return holds(holds, x);
  };
  switch (e.op()) {
    case Operator::access: return is_split(e);
    case Operator::sum:
    case Operator::negate: return is_linear(e.argument(), is_split);
    case Operator::multiply: {
      const Expression &a = e.node().arguments[0], &b = e.node().arguments[1];
      return holds_split(a) ? !holds_split(b) && is_linear(a, is_split) : is_linear(b, is_split);
    }
    case Operator::divide: return !holds_split(e.node().arguments[1]) && is_linear(e.node().arguments[0], is_split);
    default: return false;
  }
}

/// The one sparse operand, if it is a sum of parts and stands there once.
const Expression* split_access(const Expression& e, const NestProblem& p, int& sparse, const Expression*& found) {
  for (const auto& x : e.node().arguments) split_access(x, p, sparse, found);
  if (e.op() == Operator::access && !p.operands.at(e.node().name).format().is_all_dense()) {
    ++sparse;
    found = &e;
  }
  return sparse == 1 ? found : nullptr;
}

/// Part k of the operand.
Lazy part_of(const Lazy& t, int k) {
  TensorType type = t.type();
  type.format = t.format().part(k);
  const auto stats = planning::stats_for(type, t.stats().stored / t.num_parts());
  return Lazy::made(type, stats, {.inputs = {t}, .make = [type, k](Lazy::Inputs& in) {
                                    TensorType now = type;
                                    now.pos_dtype = in[0].type().pos_dtype;
                                    now.crd_dtype = in[0].type().crd_dtype;
                                    return make_from_parts(std::move(now), {in[0].part(k)});
                                  }});
}

Tensor joined(const TensorType& planned, std::span<const Tensor> parts) {
  TensorType type = planned;
  std::vector<Part> out;
  type.pos_dtype = parts[0].type().pos_dtype;
  type.crd_dtype = parts[0].type().crd_dtype;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    out.push_back(parts[k].part());
    out.back().format = type.format.part(static_cast<int>(k));
  }
  return make_from_parts(std::move(type), std::move(out));
}

}  // namespace

namespace {

/// The name of the one sparse operand, where it is a sum of parts and the value is the sum of what it would be for each
/// of them; "" elsewhere.
std::string name_of_sum(const NestProblem& p) {
  int sparse = 0;
  const Expression* found = nullptr;
  const Expression* access = split_access(p.assignment.value, p, sparse, found);
  if (!access || p.options.mask || p.options.semiring != Semiring::plus_times || p.constraints.given) return {};
  const std::string name = access->node().name;
  const Lazy& t = p.operands.at(name);
  const auto is_split = [&](const Expression& e) { return e.op() == Operator::access && e.node().name == name; };
  return t.num_parts() > 1 && t.fill().is_zero() && is_linear(p.assignment.value, is_split) ? name : "";
}

}  // namespace

std::optional<Explained> sum_over_parts(const NestProblem& p) {
  const std::string name = name_of_sum(p);
  if (name.empty() || !p.options.format->is_all_dense()) return std::nullopt;
  for (const auto& [other, t] : p.operands)  // what is rounded, or no number, is added up whole
    if (t.dtype() == DType::boolean || is_small_float(t.dtype())) return std::nullopt;
  const Lazy t = p.operands.at(name);
  Operands sums;
  std::vector<std::function<std::string()>> texts;
  Assignment add = p.assignment;
  std::optional<Lazy> total;
  for (int k = 0; k < t.num_parts(); ++k) {
    if (t.format().part(k).is_all_dense()) return std::nullopt;  // its strides are not in the type of the sum
    Operands one = p.operands;
    one.insert_or_assign(name, part_of(t, k));
    auto [made, text] = planned(p.assignment, one, p.options);
    texts.push_back(std::move(text));
    if (!total) {
      total = std::move(made);
      continue;
    }
    const Operands both{{"#first", *total}, {"#part", made}};
    add.value = Expression::plain_access("#first", add.indices) + Expression::plain_access("#part", add.indices);
    const auto plain = [add, both, options = p.options] { return planned(add, both, options).lazy; };
    auto sum = added_in_place(add, both, p.options, plain);
    total = sum ? *std::move(sum) : plain();
  }
  return Explained{*std::move(total), [texts, name] {
                     std::string out = "the sum of what it is for each part of " + name + ":\n";
                     for (const auto& text : texts) out += text();
                     return out;
                   }};
}

std::optional<Explained> part_by_part(const NestProblem& problem, const std::function<Lazy()>& otherwise) {
  const Asked& o = problem.options;
  const std::string name = name_of_sum(problem);
  if (name.empty()) return std::nullopt;
  const Lazy& t = problem.operands.at(name);
  const int n = t.num_parts();
  if (o.format->num_parts() != n) return std::nullopt;
  const auto nests = std::make_shared<std::vector<Loops>>();
  Lazy::Step step{.otherwise = otherwise};
  for (int k = 0; k < n; ++k) {
    NestProblem one = problem;
    one.options.format = o.format->part(k);
    one.operands.insert_or_assign(name, part_of(t, k));
    std::string why;
    auto loops = t.format().part(k).is_all_dense() ? std::nullopt : make_loops(one, why);
    if (!loops || !loops->source(*one.options.format)) return std::nullopt;
    for (Lazy& x : loops->inputs()) step.inputs.push_back(std::move(x));
    step.work += loops->order.visits;
    nests->push_back(*std::move(loops));
  }
  TensorType type = nests->front().type(o.format->part(0), o.result_dtype);
  type.format = *o.format;
  type.pos_dtype = t.type().pos_dtype;
  type.crd_dtype = t.type().crd_dtype;
  step.make = [nests, type, dtype = o.result_dtype](Lazy::Inputs& in) -> std::optional<Tensor> {
    std::vector<Tensor> parts;
    std::size_t first = 0;
    for (std::size_t k = 0; k < nests->size(); ++k) {
      const Loops& loops = (*nests)[k];
      const std::size_t count = loops.num_inputs();
      auto part = loops.run(std::span(in).subspan(first, count), type.format.part(static_cast<int>(k)), dtype);
      if (!part) return std::nullopt;
      parts.push_back(*std::move(part));
      first += count;
    }
    return joined(type, parts);
  };
  const auto text = [nests](bool code) {
    std::string out;
    for (std::size_t k = 0; k < nests->size(); ++k)
      out += "part " + std::to_string(k) + ":\n" + (*nests)[k].describe(code);
    return out;
  };
  step.code = [text, a = problem.assignment.to_string()] { return std::pair("generated code: " + a, text(true)); };
  return Explained{Lazy::made(std::move(type), t.stats(), std::move(step)), [text] { return text(false); }};
}

}  // namespace strata::direct
