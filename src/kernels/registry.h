#pragma once
// Hand-written kernels: each says what it accepts, or why it refuses.
#include <span>
#include <string>
#include <vector>

#include "strata/expr.h"

namespace strata::kernels {

/// What a plan asks for. out = alpha * einsum + beta * out; `out` is all-dense.
struct Query {
  const Einsum& einsum;
  std::span<const TensorType> operands;
  const TensorType& output;
  DType compute;
};

struct BuiltinKernel {
  std::string name;                                       ///< "csr_spmm", as explain() prints it
  bool (*accepts)(const Query& query, std::string& why);  ///< false: `why` says in a few words what does not fit
  void (*run)(const Query& query, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha,
              const Scalar& beta);
  bool vendor = false;        ///< calls a vendor's library (settings().vendor switches these off)
  bool packs = false;         ///< packs small dense operands itself where that pays
  bool keeps_digits = false;  ///< adds up long rows of f32 with more digits than f32 has
  /// Vendors' kernels: how many times as fast as ours it was measured to be (0: does not fit, or not measured); `why`
  /// says why a plan does not take it by itself (below kernels::convincing). Opens no library.
  double (*gain)(const Query& query, std::string& why) = nullptr;
  std::string (*describe)() = nullptr;  ///< vendors' kernels: which library serves
};

/// A vendor's kernel is taken before ours from this measured gain on: less is within what matrices and machines differ
/// by, and a library that is opened costs 30 ms.
inline constexpr double convincing = 1.25;

/// All of them, best first.
std::span<const BuiltinKernel> builtin_kernels();

}  // namespace strata::kernels
