// The text itself. STRATA_GOLDEN=update renews the files; read the difference.
#include "emit_kernels.h"
#include "emit_support.h"

using namespace emit_test;

namespace {

void check_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(STRATA_TEST_DIR) + "/golden/" + name;
  const char* mode = std::getenv("STRATA_GOLDEN");
  if (mode && std::string(mode) == "update") std::ofstream(path) << text;
  std::ifstream in(path);
  std::ostringstream expected;
  expected << in.rdbuf();
  INFO("tests/golden/" << name << " differs; STRATA_GOLDEN=update renews it. Now:\n" << text);
  CHECK((expected.str() == text));
}

}  // namespace

TEST_CASE("golden text of loop IR and C") {
  for (const auto& f : {spmv_csr(), spmm_csr(DType::f32, 8), spmv_delta(), spmv_bitmap(), merge_dot(), row_dots(4), pack(4)}) {
    check_golden("ir_" + f.name + ".txt", ir::to_string(f));
    check_golden("ir_" + f.name + ".c", emit_c(f));
  }
}
