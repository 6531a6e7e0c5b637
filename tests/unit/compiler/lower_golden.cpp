// The nests of well-known kernels, as text. STRATA_GOLDEN=update renews the files; read the difference.
#include "compiler/lower.h"
#include "golden.h"

using namespace strata;

namespace {

TensorType type_of(const std::string& format, Shape shape) {
  TensorType t;
  t.format = parse_format(format, static_cast<int>(shape.size()));
  t.shape = std::move(shape);
  t.fill = Scalar::zero(t.dtype);
  return t;
}

void check(const std::string& name, const std::string& einsum, const std::vector<TensorType>& operands, Shape output) {
  LowerInput in;
  std::vector<int> ranks;
  for (const auto& t : operands) ranks.push_back(static_cast<int>(t.shape.size()));
  in.einsum = parse_einsum(einsum, ranks);
  in.operands = operands;
  in.output = type_of("dense", std::move(output));
  in.target.vector_bytes = 32;  // the same text on every machine
  std::string why;
  const auto lowered = lower(in, why);
  REQUIRE_MESSAGE(lowered.has_value(), why);
  const std::string text = lowered->graph + "\n" + lowered->schedule + "\n" + ir::to_string(lowered->function);
  check_golden("lower_" + name + ".txt", text);
}

}  // namespace

TEST_CASE("golden nests") {
  const TensorType x = type_of("dense", {900}), wide = type_of("dense", {900, 64}), any = type_of("dense", {900, 300});
  check("csr_spmv", "ij,j->i", {type_of("CSR", {1000, 900}), x}, {1000});
  check("csr_spmm_64", "ij,jk->ik", {type_of("CSR", {1000, 900}), wide}, {1000, 64});
  check("csr_spmm", "ij,jk->ik", {type_of("CSR", {1000, 900}), any}, {1000, 300});
  check("csr_transposed_spmv", "ji,j->i", {type_of("CSR", {900, 1000}), x}, {1000});
  check("bsr_spmv", "ij,j->i", {type_of("BSR(2, 2)", {1000, 900}), x}, {1000});
  check("bsr_spmm_64", "ij,jk->ik", {type_of("BSR(2, 2)", {1000, 900}), wide}, {1000, 64});
  check("bsr_spmv_ragged", "ij,j->i", {type_of("BSR(2, 2)", {999, 900}), x}, {999});
  check("dia_spmv", "ij,j->i", {type_of("(i, j) -> (j - i : compressed, i : range)", {1000, 900}), x}, {1000});
  check("dia_spmm_64", "ij,jk->ik", {type_of("(i, j) -> (j - i : compressed, i : range)", {1000, 900}), wide},
        {1000, 64});
  check("coo_spmv", "ij,j->i", {type_of("COO", {1000, 900}), x}, {1000});
  check("delta_spmv", "ij,j->i", {type_of("(i, j) -> (i : dense, j : delta(4))", {1000, 900}), x}, {1000});
  check("csf_mttkrp", "ijk,jr,kr->ir",
        {type_of("CSF", {100, 900, 80}), type_of("dense", {900, 32}), type_of("dense", {80, 32})}, {100, 32});
  check("csf_total", "ijk->", {type_of("CSF", {100, 900, 80})}, {});
  check("csr_column_sums", "ij->j", {type_of("CSR", {1000, 900})}, {900});
  check("csf_mttkrp_last", "ijk,ir,jr->kr",
        {type_of("CSF", {100, 900, 80}), type_of("dense", {100, 32}), type_of("dense", {900, 32})}, {80, 32});
  check("coo_mttkrp_middle", "ijk,ir,kr->jr",
        {type_of("COO(3)", {100, 900, 80}), type_of("dense", {100, 32}), type_of("dense", {80, 32})}, {900, 32});
}
