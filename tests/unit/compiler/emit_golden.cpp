// The text itself. STRATA_GOLDEN=update renews the files; read the difference.
#include "emit_kernels.h"
#include "emit_support.h"
#include "golden.h"

using namespace emit_test;

TEST_CASE("golden text of loop IR and C") {
  for (const auto& f :
       {spmv_csr(), spmm_csr(DType::f32, 8), spmv_delta(), spmv_bitmap(), merge_dot(), row_dots(4), pack(4)}) {
    check_golden("ir_" + f.name + ".txt", ir::to_string(f));
    check_golden("ir_" + f.name + ".c", emit_c(f));
  }
}
