// A kernel of your own: asked first for its expression over operands of exactly its formats, whatever they are called.
#include <cstdio>
#include <cstdlib>
#include <string>

#include <strata/strata.h>

namespace {

using strata::Scalar;
using strata::Tensor;

/// out = alpha * A x + beta * out for a tridiagonal matrix, stored by diagonals.
void tridiagonal(std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha, const Scalar& beta) {
  const Tensor& a = operands[0];
  const strata::Part& x = operands[1].part();
  const strata::Part& y = out.part();
  const auto* v = static_cast<const double*>(a.part().values.data);
  const auto* in = static_cast<const double*>(x.values.data) + x.values_offset;
  auto* result = static_cast<double*>(y.values.data) + y.values_offset;
  const strata::Buffer offsets = a.crd(0);
  const std::int64_t n = a.shape()[0];
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (std::int64_t d = 0; d < offsets.size; ++d) {
      const std::int64_t j = i + offsets.index(d);
      if (j >= 0 && j < n) sum += v[d * n + i] * in[j * x.strides[0]];
    }
    double& target = result[i * y.strides[0]];
    target = alpha.to_double() * sum + (beta.is_zero() ? 0.0 : beta.to_double() * target);
  }
}

}  // namespace

int main() {
  const strata::Format diagonals = strata::parse_format("(i, j) -> (j - i : compressed, i : range)");
  strata::register_kernel({.name = "my tridiagonal",
                           .expression = "ij,j->i",
                           .formats = {diagonals, strata::parse_format("dense", 1)},
                           .dtype = strata::DType::f64,
                           .run = tridiagonal});

  std::string text = "%%MatrixMarket matrix coordinate real symmetric\n5 5 9\n";
  for (int i = 1; i <= 5; ++i) {
    text += std::to_string(i) + " " + std::to_string(i) + " 2\n";
    if (i < 5) text += std::to_string(i + 1) + " " + std::to_string(i) + " -1\n";
  }
  const Tensor a = strata::convert(strata::parse_matrix_market(text), diagonals);
  const Tensor v = Tensor::dense({5}, {1.0, 2.0, 3.0, 4.0, 5.0});

  const strata::TensorType types[] = {a.type(), v.type()};
  const int ranks[] = {2, 1};
  const strata::Plan plan = strata::make_plan(strata::parse_einsum("ij,j->i", ranks), types);
  std::printf("%s\n", plan.explain().c_str());
  const Tensor operands[] = {a, v};
  const Tensor y = plan.run(operands);
  if (!equal(y, Tensor::dense({5}, {0.0, 0.0, 0.0, 0.0, 6.0}))) return EXIT_FAILURE;
  return plan.kernel_name().find("my tridiagonal") != std::string::npos && strata::unregister_kernel("my tridiagonal")
             ? EXIT_SUCCESS
             : EXIT_FAILURE;
}
