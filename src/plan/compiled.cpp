// Products by generated code: lowered once per part of the driver, and compiled.
#include "plan/compiled.h"

#include <algorithm>
#include <utility>

#include "backend/kernel.h"
#include "compiler/lower.h"
#include "execute/launch.h"
#include "strata/settings.h"
#include "tensor/row_major.h"

namespace strata::planning {
namespace {

using execution::DenseView;
using i64 = std::int64_t;

struct PartKernel : execution::LaunchedKernel {
  std::string source;
};

/// Is every element of the output one product of values of dense operands?
bool is_one_product(const Product& p) {
  std::vector<char> in_output(static_cast<std::size_t>(p.einsum.num_indices), 0);
  for (int i : p.einsum.output) in_output[static_cast<std::size_t>(i)] = 1;
  return (is_float(p.compute) || is_complex(p.compute)) &&
         std::ranges::all_of(in_output, [](char c) { return c != 0; }) &&
         std::ranges::all_of(p.operands, [](const TensorType& t) { return t.format.is_all_dense(); });
}

class CompiledRunner : public Runner {
 public:
  CompiledRunner(Product product, int driver, bool wide_parts, std::vector<PartKernel> parts, std::vector<i64> extents)
      : product_(std::move(product)),
        driver_(driver),
        wide_parts_(wide_parts),
        parts_(std::move(parts)),
        extents_(std::move(extents)),
        one_product_(is_one_product(product_)) {}

  void run(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
           const Scalar& beta) const override {
    const Scalar a = alpha.as(product_.compute), b = beta.as(product_.compute);
    const DenseView view = execution::view_of(out);
    if (!wide_parts_ && !(parts_.size() == 1 && parts_[0].lowered.wide_output)) return run_parts(operands, view, a, b);
    // Sums in memory are kept wide and rounded once.
    const Tensor scratch = empty_dense(product_.compute, out.shape());
    const DenseView wide = execution::view_of(scratch);
    if (!b.is_zero()) assign(wide, view);
    start(wide, b);
    run_parts(operands, wide, a, Scalar::one(product_.compute));
    assign(view, wide);
  }

  std::string name() const override { return parts_[0].function ? "compiled" : "interpreted"; }

  std::vector<std::pair<std::string, std::string>> details() const override {
    std::vector<std::pair<std::string, std::string>> out;
    for (std::size_t k = 0; k < parts_.size(); ++k) {
      const std::string part = parts_.size() > 1 ? " of part " + std::to_string(k) : "";
      out.emplace_back("schedule" + part, parts_[k].lowered.schedule);
      out.emplace_back("chunks" + part, describe(parts_[k].lowered));
      out.emplace_back("engine" + part, parts_[k].engine);
    }
    if (scatters_rows())
      out.emplace_back("advice", "what is stored scatters into the result: where the product repeats, convert " +
                                     operand_name(static_cast<std::size_t>(driver_)) +
                                     " once to a format whose rows are the result's, such as " +
                                     operand_name(static_cast<std::size_t>(driver_)) + ".to(\"CSR\")");
    return out;
  }

  std::string show() const override {
    std::vector<KernelText> texts;
    for (const PartKernel& k : parts_) texts.push_back({k.lowered, k.source});
    return show_kernels(texts);
  }

 private:
  /// Does a matrix add to a vector element by element, as a transposed view does?
  bool scatters_rows() const {
    const auto& types = product_.operands;
    return types.size() == 2 && product_.output.shape.size() == 1 &&
           types[static_cast<std::size_t>(driver_)].shape.size() == 2 &&
           parts_[0].lowered.launch.kind == Launch::outer_scatter;
  }

  static std::string describe(const LoweredProduct& l) {
    const Launch& n = l.launch;
    const std::string slices = "slices of level " + std::to_string(n.level);
    switch (n.kind) {
      case Launch::serial: return "one";
      case Launch::outer_uniform: return slices;
      case Launch::outer_weighted: return slices + " with equal stored elements";
      case Launch::outer_aligned:
        return "stored elements, cut where the coordinate of level " + std::to_string(n.level) + " changes";
      case Launch::outer_scatter: return slices + ", each into a copy of the output (at most 8) added in order";
      default:
        return "windows of output dimension " + std::to_string(n.output_dim) +
               (n.preferred > 0 ? " of " + std::to_string(n.preferred) : "");
    }
  }

  void run_parts(std::span<const Tensor> operands, const DenseView& out, const Scalar& alpha,
                 const Scalar& beta) const {
    for (std::size_t k = 0; k < parts_.size(); ++k)
      run_part(parts_[k], operands, static_cast<int>(k), out, alpha, k == 0 ? beta : Scalar::one(product_.compute));
  }

  /// beta * out, to which the kernel adds. What is one product, and no sum, keeps the sign of a zero: it starts from
  /// -0.0, which changes nothing that is added to it.
  void start(const DenseView& out, const Scalar& beta) const {
    if (!one_product_ || !beta.is_zero()) return scale(out, beta);
    fill(out, Scalar::of(std::complex<double>(-0.0, -0.0)).as(out.dtype));
  }

  void run_part(const PartKernel& k, std::span<const Tensor> operands, int part, const DenseView& out,
                const Scalar& alpha, const Scalar& beta) const {
    if (!k.lowered.applies_beta) start(out, beta);
    execution::launch(k,
                      {.operands = operands,
                       .walked = driver_,
                       .part = &operands[static_cast<std::size_t>(driver_)].part(part),
                       .extents = extents_,
                       .alpha = &alpha,
                       .beta = &beta},
                      out);
  }

  Product product_;
  int driver_;
  bool wide_parts_;
  std::vector<PartKernel> parts_;
  std::vector<i64> extents_;
  bool one_product_;
};

/// The least number of columns that stands in the text, as it is no parameter; none: it serves any.
std::optional<i64> columns_in_text(const LoweredProduct& l, std::span<const i64> extents) {
  std::optional<i64> least;
  for (const int i : l.free_indices) {
    const auto passes = [i](const ScalarBinding& s) { return s.kind == ScalarBinding::extent && s.level == i; };
    const i64 n = extents[static_cast<std::size_t>(i)];
    if (std::ranges::none_of(l.scalars, passes)) least = std::min(least.value_or(n), n);
  }
  return least;
}

/// Texts of the product. Where nothing compiles, or little would be gained by it, of any number of columns if those
/// were compiled ahead of time and the text of this number was not: a first call need not wait.
std::vector<KernelText> texts_of(const Product& product, int driver, std::span<const i64> extents, std::string& why) {
  std::vector<KernelText> texts = lower_product(product, driver, why);
  const auto is_ahead = [](const KernelText& t) { return is_compiled_ahead(t.source, t.lowered.function.name); };
  if (settings().engine == "interpreter" || texts.empty() || std::ranges::all_of(texts, is_ahead)) return texts;
  // Measured on COO and BSR: a text for one number of columns is 1.1 to 1.7 times as fast up to 33 of them, 1.0
  // from 50.
  constexpr std::int64_t few = 32;
  const auto columns = columns_in_text(texts.front().lowered, extents);
  if (!columns || (has_compiler() && *columns <= few)) return texts;
  std::vector<KernelText> any = lower_product(product, driver, why, host_target(), false);
  return std::ranges::all_of(any, is_ahead) ? any : texts;
}

}  // namespace

RunnerPtr compile_product(const Product& product, int driver, std::string& why) {
  std::vector<Shape> shapes;
  for (const auto& t : product.operands) shapes.push_back(t.shape);
  const std::vector<i64> extents = index_extents(product.einsum, shapes);
  std::vector<KernelText> texts = texts_of(product, driver, extents, why);
  if (texts.empty()) return nullptr;
  std::vector<PartKernel> parts(texts.size());
  for (std::size_t k = 0; k < parts.size(); ++k) {
    PartKernel& p = parts[k];
    p.lowered = std::move(texts[k].lowered);
    p.source = std::move(texts[k].source);
    for (int i : p.lowered.free_indices)
      if (__builtin_mul_overflow(p.free_work, extents[static_cast<std::size_t>(i)], &p.free_work))
        p.free_work = INT64_MAX / 2;
    if (p.lowered.launch.kind == Launch::output_window)
      p.output_extent = product.output.shape[static_cast<std::size_t>(p.lowered.launch.output_dim)];
    execution::dump("graph", p.lowered.graph);
    execution::dump("schedule", p.lowered.schedule);
    static_cast<execution::Executable&>(p) = execution::make_executable(p.lowered.function, p.source);
  }
  return std::make_shared<CompiledRunner>(product, driver, adds_wide_parts(product, driver), std::move(parts), extents);
}

}  // namespace strata::planning
