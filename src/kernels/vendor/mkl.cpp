// CSR, CSC and BSR times a dense vector or matrix by MKL's sparse BLAS.
//
// A handle of MKL's points into our arrays, so it lives no longer than a call: one per chunk, made in half a
// microsecond and without MKL's hints, which would pay for an analysis at every call. Chunks are ours and depend on the
// problem alone; MKL computes each on one thread, so that results do not depend on the number of threads.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <sstream>

#include "base/share.h"
#include "format/recognise.h"
#include "kernels/builtin.h"
#include "kernels/match.h"
#include "kernels/vendor/measured.h"
#include "kernels/vendor/mkl_library.h"

namespace strata::kernels {

namespace {

using namespace mkl;

constexpr i64 vendor_chunk_work = 65536;  ///< multiply-adds that are worth a handle: some 40 us

struct Match {
  MatrixProduct product;
  MatrixStorage storage = MatrixStorage::rows;
  i64 block = 1;
  bool blocks_by_columns = false;
};

/// Is it a product that MKL has a routine for? Asks nothing of the library.
std::optional<Match> match(const Query& q, std::string& why) {
  const auto refuse = [&](const char* reason) {
    why = reason;
    return std::nullopt;
  };
  const auto m = match_matrix_product(q, why, true);
  if (!m) return std::nullopt;
  const TensorType &a = q.operands[static_cast<std::size_t>(m->sparse)],
                   &x = q.operands[static_cast<std::size_t>(m->dense)], &y = q.output;
  Match out{*m};
  if (const auto d = rows_of(a.format, LevelKind::compressed)) {
    out.storage = *d == DimPair{m->row_dim, m->inner_dim} ? MatrixStorage::rows : MatrixStorage::columns;
  } else if (const auto b = blocked_rows_of(a.format); b && b->dims == DimPair{m->row_dim, m->inner_dim}) {
    if (b->rows != b->columns) return refuse("MKL's blocks are square");
    for (const i64 extent : a.shape)
      if (extent % b->rows) return refuse("MKL's blocks divide the extents");
    if (b->column_major && m->out_free >= 0) return refuse("MKL multiplies blocks by columns with vectors alone");
    out.storage = MatrixStorage::blocks;
    out.block = b->rows;
    out.blocks_by_columns = b->column_major;
  } else {
    return refuse("the format is neither CSR nor CSC nor BSR");
  }
  if (a.pos_dtype != a.crd_dtype || (a.pos_dtype != DType::i32 && a.pos_dtype != DType::i64))
    return refuse("MKL's positions and coordinates are both int32 or both int64");
  if (!x.strides.empty() || !y.strides.empty()) return refuse("the dense operand or the result has strides");
  const auto elements = [](const TensorType& t) {
    double n = 1;
    for (const i64 extent : t.shape) n *= static_cast<double>(extent);
    return n;
  };
  if (elements(a) == 0 || elements(x) == 0 || elements(y) == 0) return refuse("an extent is 0");
  constexpr double most = std::numeric_limits<i32>::max();
  if (a.pos_dtype == DType::i32 && (elements(x) > most || elements(y) > most))
    return refuse("the dense operand or the result exceeds MKL's 32-bit integers");
  return out;
}

/// Calls f(V*, I*) for the element and index types of `t` (null pointers that only carry the types).
template <class F> void with_types(const TensorType& t, const F& f) {
  const auto indices = [&]<class V>(V* v) {
    if (t.pos_dtype == DType::i32) f(v, static_cast<std::int32_t*>(nullptr));
    else f(v, static_cast<std::int64_t*>(nullptr));
  };
  switch (t.dtype) {
    case DType::f32: return indices(static_cast<float*>(nullptr));
    case DType::f64: return indices(static_cast<double*>(nullptr));
    case DType::c64: return indices(static_cast<std::complex<float>*>(nullptr));
    default: return indices(static_cast<std::complex<double>*>(nullptr));
  }
}

double gain(const Query& q, std::string& why) {
  const auto m = match(q, why);
  if (!m) return 0;
  const double times = measured_gain(m->storage, m->product.out_free < 0, q.output.dtype);
  if (times < convincing) {
    char text[128];
    std::snprintf(text, sizeof text,
                  "our own kernels go first: MKL was measured at %.2f times their speed (needed: %.2f)", times,
                  convincing);
    why = times > 0 ? text : "our own kernels go first: MKL was not measured here";
  }
  return times;
}

bool accepts(const Query& q, std::string& why) {
  const auto m = match(q, why);
  const Library* lib = m ? library(why) : nullptr;
  if (!lib) return false;
  const TensorType& a = q.operands[static_cast<std::size_t>(m->product.sparse)];
  bool complete = false;
  with_types(a, [&]<class V, class I>(V*, I*) { complete = lib->functions<V, I>().complete(); });
  if (!complete) why = lib->version() + " has no routines for " + std::string(name_of(a.pos_dtype)) + " indices";
  return complete;
}

std::string describe() {
  std::string why;
  const Library* lib = library(why);
  return lib ? lib->version() + ", " + lib->path() : why;
}

void check(int status, const char* routine) {
  if (status == 0) return;
  if (status == 2) throw std::bad_alloc();
  static constexpr const char* meaning[] = {"success",          "not initialized", "allocation failed", "invalid value",
                                            "execution failed", "internal error",  "not supported"};
  std::ostringstream text;
  text << "MKL's " << routine << " failed with status " << status;
  if (status > 0 && status < 7) text << " (" << meaning[status] << ")";
  text << "\n  to mend it: settings.vendor = False leaves MKL out";
  throw RuntimeFailure(text.str());
}

/// A handle and what it was made with.
template <class V, class I> class MatrixHandle {
 public:
  MatrixHandle(const Functions<V, I>& f, const Match& m, const I* pos, I rows, I columns, const I* crd, const V* values)
      : f_(f) {
    if (m.storage == MatrixStorage::blocks)
      check(f.create_bsr(&handle_, zero_based, m.blocks_by_columns ? column_major : row_major, rows, columns,
                         static_cast<I>(m.block), pos, pos + 1, crd, values),
            "create_bsr");
    else check(f.create_csr(&handle_, zero_based, rows, columns, pos, pos + 1, crd, values), "create_csr");
  }
  ~MatrixHandle() { f_.destroy(handle_); }
  MatrixHandle(const MatrixHandle&) = delete;
  MatrixHandle& operator=(const MatrixHandle&) = delete;

  /// y = alpha * op(matrix) * x + beta * y, with `columns` columns (0: vectors).
  void multiply(int operation, V alpha, const V* x, V beta, V* y, i64 columns) const {
    const I n = static_cast<I>(columns);
    if (columns == 0) check(f_.mv(operation, alpha, handle_, general, x, beta, y), "mv");
    else check(f_.mm(operation, alpha, handle_, general, row_major, x, n, n, beta, y, n), "mm");
  }

 private:
  const Functions<V, I>& f_;
  Handle handle_ = nullptr;
};

template <class V> V value_of(const Scalar& s) {
  constexpr DType t = std::is_same_v<V, float>                 ? DType::f32
                      : std::is_same_v<V, double>              ? DType::f64
                      : std::is_same_v<V, std::complex<float>> ? DType::c64
                                                               : DType::c128;
  const Scalar converted = s.as(t);
  V v;
  std::memcpy(&v, converted.bits, sizeof v);
  return v;
}

/// The first row before which at least part c of n of the elements and rows lie.
template <class I> i64 cut(const I* pos, i64 rows, i64 c, i64 n) {
  if (c == n) return rows;
  const i64 target = begin_of_share(static_cast<i64>(pos[rows]) + rows, c, n);
  return partition_point(0, rows, [&](i64 row) { return static_cast<i64>(pos[row]) + row < target; });
}

void run(const Query& q, std::span<const Tensor> operands, const Tensor& out, const Scalar& alpha_,
         const Scalar& beta_) {
  std::string why;
  const auto m = match(q, why);
  const Library* lib = library(why);
  if (!m || !lib) throw RuntimeFailure("MKL served when the plan was made, and does not now: " + why);
  const MatrixProduct& p = m->product;
  const Tensor &a = operands[static_cast<std::size_t>(p.sparse)], &dense = operands[static_cast<std::size_t>(p.dense)];
  const Part& part = a.part();
  const i64 columns = p.out_free < 0 ? 0 : out.shape()[static_cast<std::size_t>(p.out_free)],
            width = std::max<i64>(1, columns);
  // The dimension that is stored outside, and the one inside, in blocks.
  const bool scatters = m->storage == MatrixStorage::columns;
  const i64 rows = a.shape()[static_cast<std::size_t>(scatters ? p.inner_dim : p.row_dim)] / m->block,
            inner = a.shape()[static_cast<std::size_t>(scatters ? p.row_dim : p.inner_dim)] / m->block;
  with_types(a.type(), [&]<class V, class I>(V*, I*) {
    const Functions<V, I>& f = lib->functions<V, I>();
    const I *pos = static_cast<const I*>(part.levels[1].pos.data),
            *crd = static_cast<const I*>(part.levels[1].crd.data);
    const V *values = static_cast<const V*>(part.values.data), *x = reinterpret_cast<const V*>(first_element(dense));
    V* y = reinterpret_cast<V*>(first_element(out));
    const V alpha = value_of<V>(alpha_), beta = value_of<V>(beta_);
    const i64 work = static_cast<i64>(pos[rows]) * m->block * m->block * width + rows;
    const i64 chunks = std::clamp<i64>(work / (scatters ? slice_work : vendor_chunk_work), 1, scatters ? rows : 256);
    const auto piece = [&](i64 c) {
      const i64 begin = c == 0 ? 0 : cut(pos, rows, c, chunks), end = cut(pos, rows, c + 1, chunks);
      if (begin == end) return;
      const OneThread alone(*lib);
      const MatrixHandle<V, I> slice(f, *m, pos + begin, static_cast<I>(end - begin), static_cast<I>(inner), crd,
                                     values);
      const i64 offset = begin * m->block * width;
      if (scatters) slice.multiply(transposed, alpha, x + offset, c == 0 ? beta : V(1), y, columns);
      else slice.multiply(not_transposed, alpha, x, beta, y + offset, columns);
    };
    if (!scatters) return chunks == 1 ? piece(0) : parallel_for(chunks, piece);
    for (i64 c = 0; c < chunks; ++c) {  // every slice adds to the whole result: one after the other
      if (c > 0) poll_interrupt();
      piece(c);
    }
  });
}

}  // namespace

const BuiltinKernel mkl_kernel{
    .name = "mkl_product", .accepts = accepts, .run = run, .vendor = true, .gain = gain, .describe = describe};

}  // namespace strata::kernels
