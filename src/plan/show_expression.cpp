#include <algorithm>

#include "base/suggest.h"
#include "plan/compiled.h"
#include "plan/plan_impl.h"

namespace strata {

std::string show_expression(std::string_view text, const std::map<std::string, SymbolicOperand>& operands,
                            std::int64_t extent) {
  std::vector<std::string> names;
  const Einsum e = parse_index_notation(text, names);
  for (const auto& [name, unused] : operands) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string close(closest(name, known));
    std::string all;
    for (const auto& n : names) all += (all.empty() ? "" : ", ") + n;
    throw ExpressionError({.what = "the expression has no operand '" + name + "'",
                           .expected = all,
                           .got = name,
                           .fix = close.empty() ? "" : "write '" + close + "'",
                           .text = std::string(text),
                           .where = {0, text.size()}});
  }
  std::vector<TensorType> types;
  std::vector<Shape> shapes;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const int rank = static_cast<int>(e.operands[k].size());
    const auto it = operands.find(names[k]);
    const SymbolicOperand operand = it == operands.end() ? SymbolicOperand{} : it->second;
    shapes.emplace_back(static_cast<std::size_t>(rank), extent);
    TensorType t = planning::dense_type(shapes.back(), operand.dtype);
    t.format = parse_format(operand.format, rank);
    if (t.format.rank() != rank)
      throw ExpressionError({.what = "operand " + names[k] + " does not fit its format",
                             .expected = std::to_string(t.format.rank()) + " dimensions, as in " + t.format.to_string(),
                             .got = std::to_string(rank) + " in the expression",
                             .text = std::string(text),
                             .where = {0, text.size()}});
    types.push_back(std::move(t));
  }
  const auto dtypes = planning::dtypes_for(types, {});
  planning::Product product{planning::normalise(e, types), types,
                            planning::dense_type(output_shape(e, shapes), dtypes.output), dtypes.compute};

  // The largest operand that is not dense is walked; plans make further ones dense.
  std::string out;
  int driver = -1;
  for (std::size_t k = 0; k < types.size(); ++k)
    if (!planning::is_plain_dense(types[k]) &&
        (driver < 0 || types[k].shape.size() > types[static_cast<std::size_t>(driver)].shape.size()))
      driver = static_cast<int>(k);
  for (std::size_t k = 0; k < types.size(); ++k) {
    out += (k ? ", " : "") + names[k] + ": " + types[k].to_string();
    if (driver < 0 || static_cast<int>(k) == driver || planning::is_plain_dense(types[k])) continue;
    product.operands[k] = planning::dense_type(shapes[k], types[k].dtype);
    out += " (made dense at each run)";
  }
  out += "\n\n";
  std::string why, refused;
  std::vector<planning::KernelText> kernels;
  for (int k = driver < 0 ? 0 : driver; kernels.empty() && k < static_cast<int>(types.size()); ++k) {
    kernels = planning::lower_product(product, k, why);
    if (kernels.empty()) refused += (refused.empty() ? "" : "\n") + names[static_cast<std::size_t>(k)] + ": " + why;
    if (driver >= 0) break;
  }
  if (kernels.empty())
    throw Unsupported({.what = "no kernel can be generated",
                       .expected = "operands that one walk serves",
                       .got = refused,
                       .text = std::string(text),
                       .where = {0, text.size()}});
  return out + planning::show_kernels(kernels);
}

}  // namespace strata
