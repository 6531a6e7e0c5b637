/* Enough of MKL's sparse BLAS to test how it is called, by plain loops: float64 with 32-bit and 64-bit integers,
   complex128 with 32-bit ones. Built as a library that tests open at run time. Every handle is counted; fake_mkl_status
   and fake_mkl_create_status make the next calls fail. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int fake_mkl_status = 0;        /* what mv and mm answer */
int fake_mkl_create_status = 0; /* what create_csr and create_bsr answer */
int fake_mkl_live = 0;          /* handles that are not destroyed */
int fake_mkl_calls = 0;         /* multiplications */
int fake_mkl_layer = 0;         /* MKL_THREADING_LAYER as set */

int MKL_Set_Threading_Layer(int layer) { return fake_mkl_layer = layer; }
#ifdef FAKE_MKL_ILP64
int MKL_Set_Interface_Layer(int layer) { return layer | 1; }
#else
int MKL_Set_Interface_Layer(int layer) { return layer; }
#endif
int MKL_Set_Num_Threads_Local(int threads) { return threads > 0 ? 0 : 1; }
void MKL_Get_Version_String(char* text, int size) { strncpy(text, "Fake MKL 1.0   ", (size_t)size); }

typedef struct {
  int type, mode, diagonal;
} Description;

#define MATRIX(NAME, V, I)      \
  typedef struct {              \
    I rows, columns, block;     \
    int layout;                 \
    const I *begin, *end, *crd; \
    const V* values;            \
  } NAME

#define CREATE(NAME, CSR, BSR, V, I)                                                                              \
  static int NAME##_make(void** handle, int layout, I rows, I columns, I block, const I* begin, const I* end,     \
                         const I* crd, const V* values) {                                                         \
    NAME* m;                                                                                                      \
    if (rows <= 0 || columns <= 0 || block <= 0) return 3;                                                        \
    if (fake_mkl_create_status) return fake_mkl_create_status;                                                    \
    m = (NAME*)malloc(sizeof(NAME));                                                                              \
    m->rows = rows, m->columns = columns, m->block = block, m->layout = layout;                                   \
    m->begin = begin, m->end = end, m->crd = crd, m->values = values;                                             \
    __atomic_add_fetch(&fake_mkl_live, 1, __ATOMIC_SEQ_CST);                                                      \
    *handle = m;                                                                                                  \
    return 0;                                                                                                     \
  }                                                                                                               \
  int CSR(void** h, int base, I rows, I columns, const I* begin, const I* end, const I* crd, const V* values) {   \
    return base ? 3 : NAME##_make(h, 101, rows, columns, 1, begin, end, crd, values);                             \
  }                                                                                                               \
  int BSR(void** h, int base, int layout, I rows, I columns, I block, const I* begin, const I* end, const I* crd, \
          const V* values) {                                                                                      \
    return base ? 3 : NAME##_make(h, layout, rows, columns, block, begin, end, crd, values);                      \
  }

/* y = alpha * op(m) * x + beta * y; with beta 0, y is not read. */
#define MULTIPLY(NAME, MV, MM, V, I)                                                                                \
  static int NAME##_multiply(int operation, V alpha, const NAME* m, const V* x, I n, V beta, V* y) {                \
    const I b = m->block, out = (operation == 10 ? m->rows : m->columns) * b;                                       \
    __atomic_add_fetch(&fake_mkl_calls, 1, __ATOMIC_SEQ_CST);                                                       \
    if (fake_mkl_status) return fake_mkl_status;                                                                    \
    for (I k = 0; k < out * n; ++k) y[k] = beta == 0 ? 0 : beta * y[k];                                             \
    for (I row = 0; row < m->rows; ++row)                                                                           \
      for (I p = m->begin[row]; p < m->end[row]; ++p)                                                               \
        for (I i = 0; i < b; ++i)                                                                                   \
          for (I j = 0; j < b; ++j) {                                                                               \
            const V v = m->values[p * b * b + (m->layout == 101 ? i * b + j : j * b + i)];                          \
            const I r = row * b + i, c = m->crd[p] * b + j;                                                         \
            for (I k = 0; k < n; ++k)                                                                               \
              y[(operation == 10 ? r : c) * n + k] += alpha * v * x[(operation == 10 ? c : r) * n + k];             \
          }                                                                                                         \
    return 0;                                                                                                       \
  }                                                                                                                 \
  int MV(int operation, V alpha, void* h, Description d, const V* x, V beta, V* y) {                                \
    return d.type == 20 ? NAME##_multiply(operation, alpha, (const NAME*)h, x, 1, beta, y) : 6;                     \
  }                                                                                                                 \
  int MM(int operation, V alpha, void* h, Description d, int layout, const V* x, I n, I ldx, V beta, V* y, I ldy) { \
    if (d.type != 20 || layout != 101 || ldx != n || ldy != n) return 6;                                            \
    if (((const NAME*)h)->layout == 102) return 6;                                                                  \
    return NAME##_multiply(operation, alpha, (const NAME*)h, x, n, beta, y);                                        \
  }

static int destroy(void* handle) {
  free(handle);
  __atomic_sub_fetch(&fake_mkl_live, 1, __ATOMIC_SEQ_CST);
  return 0;
}
int mkl_sparse_destroy(void* handle) { return destroy(handle); }

MATRIX(D32, double, int32_t);
CREATE(D32, mkl_sparse_d_create_csr, mkl_sparse_d_create_bsr, double, int32_t)
MULTIPLY(D32, mkl_sparse_d_mv, mkl_sparse_d_mm, double, int32_t)
MATRIX(Z32, double _Complex, int32_t);
CREATE(Z32, mkl_sparse_z_create_csr, mkl_sparse_z_create_bsr, double _Complex, int32_t)
MULTIPLY(Z32, mkl_sparse_z_mv, mkl_sparse_z_mm, double _Complex, int32_t)
#ifndef FAKE_MKL_OLD
int mkl_sparse_destroy_64(void* handle) { return destroy(handle); }
MATRIX(D64, double, int64_t);
CREATE(D64, mkl_sparse_d_create_csr_64, mkl_sparse_d_create_bsr_64, double, int64_t)
MULTIPLY(D64, mkl_sparse_d_mv_64, mkl_sparse_d_mm_64, double, int64_t)
#endif
