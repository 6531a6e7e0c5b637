#include "kernels/vendor/measured.h"

namespace strata::kernels::mkl {

namespace {

/// Geometric means over the matrices of benchmarks/vendor_gain.py (MKL 2026.2 on a Zen 5 core, one thread, 16 and 64
/// columns for matrices). With several threads CSC falls further behind: MKL scatters on one.
struct MeasuredGains {
  MatrixStorage storage;
  bool vector;
  double f32, f64, c64, c128;
};
constexpr MeasuredGains table[] = {
    {MatrixStorage::rows, true, 1.08, 1.04, 1.05, 0.56},    {MatrixStorage::rows, false, 0.71, 0.61, 0.29, 0.40},
    {MatrixStorage::columns, true, 1.13, 1.05, 0.86, 0.88}, {MatrixStorage::columns, false, 0.05, 0.10, 0.15, 0.16},
    {MatrixStorage::blocks, true, 0.50, 0.60, 0.60, 0.74},  {MatrixStorage::blocks, false, 0.46, 0.59, 0.36, 0.49},
};

}  // namespace

double measured_gain(MatrixStorage storage, bool vector, DType dtype) {
  for (const MeasuredGains& r : table)
    if (r.storage == storage && r.vector == vector) {
      switch (dtype) {
        case DType::f32: return r.f32;
        case DType::f64: return r.f64;
        case DType::c64: return r.c64;
        case DType::c128: return r.c128;
        default: return 0;
      }
    }
  return 0;
}

}  // namespace strata::kernels::mkl
