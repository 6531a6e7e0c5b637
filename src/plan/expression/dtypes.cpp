#include "plan/expression/dtypes.h"

#include <algorithm>

#include "convert/convert_elements.h"
#include "plan/product.h"
#include "reference/tree.h"

namespace strata::evaluation {
namespace {

/// As NumPy's sum, where a sum was written.
DType written_sum(DType t) {
  if (t == DType::boolean || is_signed_int(t)) return DType::i64;
  return is_unsigned_int(t) ? DType::u64 : t;
}

/// The dtype of an expression's values, which is known before any of them.
class Inference {
 public:
  /// `own_sums`: written sums keep their dtype too.
  Inference(const std::map<std::string, DType>& operands, bool own_sums) : operands_(operands), own_sums_(own_sums) {}

  DType of(const Expression& e) { return tree_.node(add(e)).dtype; }

 private:
  int add(const Expression& e) {
    const Operator op = e.op();
    if (op == Operator::constant) return tree_.add_constant(e);
    if (op == Operator::access) return leaf(operands_.at(e.node().name));
    std::vector<int> arguments;
    for (const Expression& a : e.node().arguments) arguments.push_back(add(a));
    if (!is_reduction(op))
      return is_unary(op) ? tree_.add_unary(op, arguments[0]) : tree_.add_operation(op, std::move(arguments));
    const DType t = tree_.node(arguments[0]).dtype;
    if (op == Operator::sum) return leaf(e.node().implicit || own_sums_ ? t : written_sum(t));
    return leaf(op == Operator::any || op == Operator::all ? DType::boolean : type_of(op, t).result);
  }
  int leaf(DType t) {
    Leaf leaf;
    leaf.values = std::make_shared<Column>(zeros(t, 0));
    leaf.fill = zeros(t, 1);
    return tree_.add_leaf(std::move(leaf), {});
  }

  const std::map<std::string, DType>& operands_;
  bool own_sums_;
  Tree tree_{{}, Semiring::plus_times};
};

/// Does the operand stand elsewhere than in comparisons, any and all? What those give is a truth value in any dtype.
bool computes_with(const Expression& e, const std::string& name) {
  if (e.op() == Operator::access) return e.node().name == name;
  if (is_comparison(e.op()) || e.op() == Operator::any || e.op() == Operator::all) return false;
  return std::ranges::any_of(e.node().arguments, [&](const Expression& a) { return computes_with(a, name); });
}

/// Would sums of duplicates come out otherwise in `to`? Floats only round otherwise, and narrower integers wrap the
/// same.
bool adds_otherwise(const TensorType& t, DType to) {
  if (t.format.is_unique() || is_float(t.dtype) || is_complex(t.dtype)) return false;
  return t.dtype == DType::boolean || !is_integer(to) || size_of(to) > size_of(t.dtype);
}

/// (Parts around another fill than 0 cannot keep their fill-in, which is that fill.)
Zeros kept_zeros(const Tensor& t) { return t.fill().is_zero() ? Zeros::keep : Zeros::automatic; }

}  // namespace

void check_cast(DType from, DType to, const std::string& what) {
  if (can_cast(from, to)) return;
  throw DTypeError(
      {.what = what + " cannot be cast to " + std::string(name_of(to)),
       .expected = "a dtype of the same kind or a later one: bool, unsigned, signed, float, complex",
       .got = std::string(name_of(from)),
       .fix = "convert it first where that is meant, e.g. t.to(dtype=\"" + std::string(name_of(to)) + "\")"});
}

Tensor cast(const Tensor& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  if (adds_otherwise(t.type(), dtype)) return convert_general(t, t.format(), {.dtype = dtype, .zeros = kept_zeros(t)});
  return conversion::with_dtype(t, dtype);
}

Tensor loaded_as(const Tensor& t, DType dtype) {
  const bool same = planning::accumulator(dtype) == dtype && !adds_otherwise(t.type(), dtype);
  return same ? t : cast(t, dtype);
}

Tensor added(const Tensor& t, DType dtype) {
  const bool same = t.dtype() == dtype || !adds_otherwise(t.type(), dtype);
  return same ? t : convert_general(t, t.format(), {.zeros = kept_zeros(t)});
}

Lazy cast(const Lazy& t, DType dtype) {
  if (t.dtype() == dtype) return t;
  TensorType type = t.type();
  type.dtype = dtype;
  type.fill = type.fill.as(dtype);
  if (t.format().is_all_dense()) type.strides.clear();
  Lazy::Step step{.inputs = {t}, .make = [dtype](Lazy::Inputs& in) { return cast(in[0], dtype); }};
  return adds_otherwise(t.type(), dtype) ? Lazy::made(std::move(type), t.stats(), std::move(step))
                                         : Lazy::made(std::move(type), std::move(step), t);
}

Lazy loaded_as(const Lazy& t, DType dtype) {
  const bool same = planning::accumulator(dtype) == dtype && !adds_otherwise(t.type(), dtype);
  return same ? t : cast(t, dtype);
}

Lazy added(const Lazy& t, DType dtype) {
  if (t.dtype() == dtype || !adds_otherwise(t.type(), dtype)) return t;
  return Lazy::made(t.type(), t.stats(),
                    {.inputs = {t}, .make = [dtype](Lazy::Inputs& in) { return added(in[0], dtype); }});
}

Dtypes::Dtypes(const Assignment& a, const Operands& operands, const Asked& options) : options_(options) {
  asked_ = options.dtype || options.compute_dtype;
  if (!asked_) return;
  options_.dtype = options_.compute_dtype = std::nullopt;
  std::map<std::string, DType> given, used;
  auto names = a.value.operands();
  if (a.accumulate) names.push_back(a.name);
  for (const std::string& name : names) given.emplace(name, operands.at(name).dtype());
  const bool ring = options.semiring != Semiring::plus_times;
  if (options.semiring == Semiring::or_and) {  // truth values are those of what is stored, whatever its dtype
    if (!options_.result_dtype) options_.result_dtype = options.dtype;
    return;
  }
  compute_ = options.compute_dtype ? options.compute_dtype : options.dtype;
  exact_ = options.compute_dtype.has_value();
  if (exact_) planning::check_accumulator(*compute_);
  for (const auto& [name, own] : given) {
    const bool still_ordered = !is_complex(*compute_) || is_complex(own);
    if ((can_cast(own, *compute_) && still_ordered) || computes_with(a.total(), name)) {
      check_cast(own, *compute_, "operand '" + name + "'");
      cast_.insert(name);
    }
    used.emplace(name, of(name, own));
  }
  if (options_.result_dtype) return;
  options_.result_dtype = options.dtype;
  if (options.dtype) {
    if (!ring && !exact_) check_cast(Inference(used, true).of(a.total()), *options.dtype, "the result");
  } else if (a.accumulate) {
    options_.result_dtype = given.at(a.name);
  } else if (ring) {
    options_.result_dtype = given.begin()->second;
    for (const auto& [name, own] : given) options_.result_dtype = promote(*options_.result_dtype, own);
  } else {
    options_.result_dtype = Inference(given, false).of(a.value);
  }
}

Asked Dtypes::plan_options() const {
  Asked out = options_;
  if (compute_) out.compute_dtype = exact_ ? *compute_ : planning::accumulator(*compute_);
  return out;
}

DType Dtypes::of(const std::string& name, DType own) const { return cast_.contains(name) ? *compute_ : own; }

Operands Dtypes::cast(const Operands& operands) const {
  Operands out;
  for (const auto& [name, t] : operands) out.emplace(name, evaluation::cast(t, of(name, t.dtype())));
  return out;
}

Lazy Dtypes::loaded(const std::string& name, const Lazy& t, DType product) const {
  if (!compute_) return added(t, product);
  const DType to = of(name, t.dtype());
  return t.dtype() == to ? t : loaded_as(t, to);
}

}  // namespace strata::evaluation
