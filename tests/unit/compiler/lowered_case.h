#pragma once
// Random einsums with one walked operand, and what they must give.
#include <limits>

#include "unit/compiler/lowered_run.h"

namespace lowered_test {

using strata::testing::DenseArray;
using strata::testing::pick;

inline const std::vector<std::string>& formats_of_rank(std::size_t rank) {
  static const std::vector<std::string> formats[6] = {
      {"()->()"},
      {"(i) -> (i : compressed)", "(i) -> (i : compressed(nonunique))", "(i) -> (i / 3 : compressed, i % 3 : dense)",
       "(i) -> (i : bitmap)", "(i) -> (i : delta(2))", "(i) -> (i / 2 : dense, i % 2 : dense)", "(i) -> (i : dense)",
       "(i) -> (i / 4 : dense, i % 4 : structured(2))"},
      {"(i, j) -> (i : dense, j : compressed)",
       "(i, j) -> (j : dense, i : compressed)",
       "(i, j) -> (i : compressed(nonunique), j : singleton)",
       "(i, j) -> (j : compressed(nonunique), i : singleton)",
       "(i, j) -> (i : compressed, j : compressed)",
       "(i, j) -> (j : compressed, i : compressed)",
       "(i, j) -> (i : compressed, j : dense)",
       "(i, j) -> (i : dense, j : compressed(unordered))",
       "(i, j) -> (i / 2 : dense, j / 2 : compressed, i % 2 : dense, j % 2 : dense)",
       "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)",
       "(i, j) -> (i / 4 : dense, j / 4 : compressed, i % 4 : dense, j % 4 : dense)",
       "(i, j) -> (i / 4 : dense, j / 4 : compressed, j % 4 : dense, i % 4 : dense)",
       "(i, j) -> (j / 2 : dense, i / 2 : compressed, j % 2 : dense, i % 2 : dense)",
       "(i, j) -> (j / 3 : dense, i / 4 : compressed, i % 4 : dense, j % 3 : dense)",
       "(i, j) -> (i / 8 : dense, j / 8 : compressed, i % 8 : dense, j % 8 : dense)",
       "(i, j) -> (i / 16 : dense, j / 2 : compressed, i % 16 : dense, j % 2 : dense)",
       "(i, j) -> (i / 2 : compressed(nonunique), j / 2 : singleton(nonunique), i % 2 : dense, j % 2 : dense)",
       "(i, j) -> (j - i : compressed, i : range)",
       "(i, j) -> (j - i : compressed, j : range)",
       "(i, j) -> (i - j : compressed, i : range)",
       "(i, j) -> (i + j : compressed, i : range)",
       "(i, j) -> (j - i : dense, i : range)",
       "(i, j) -> (j - i : compressed, i : compressed)",
       "(i, j) -> (i : dense, j : delta(2))",
       "(i, j) -> (i : dense, j : bitmap)",
       "(i, j) -> (i : bitmap, j : bitmap)",
       "ELL",
       "2:4",
       "(i, j) -> (i : dense, j / 4 : compressed, j % 4 : structured(2))",
       "(i, j) -> (i / 4 : dense, j / 4 : compressed, (i % 4) / 2 : dense, (j % 4) / 2 : compressed, (i % 4) % 2 : "
       "dense, (j % 4) % 2 : dense)",
       "(i, j) -> (i / 4 : dense, j / 4 : compressed, (i % 4) / 2 : dense, (j % 4) / 2 : dense, (i % 4) % 2 : dense, "
       "(j % 4) % 2 : dense)",
       "(i, j) -> (i / 2 : dense, j / 2 : dense, i % 2 : dense, j % 2 : dense)",
       "(i, j) -> (i : dense, j : dense)",
       "(i, j) -> (j : dense, i : dense)",
       "(i, j) -> (i % 2 : dense, i / 2 : dense, j : compressed)",
       "(i, j) -> (i : dense, j % 3 : dense, j / 3 : compressed)",
       "(i, j) -> (i / 4 : dense, i % 4 - j : compressed, j : range)",
       "(i, j) -> (i / 4 : dense, j - i % 4 : compressed, i % 4 : dense)",
       "(i, j) -> (j : dense, i / 3 : compressed, i % 3 - j : compressed)"},
      {"(i, j, k) -> (i : compressed, j : compressed, k : compressed)",
       "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton)",
       "(i, j, k) -> (k : dense, i : compressed, j : dense)", "(i, j, k) -> (i : dense, j : dense, k : compressed)",
       "(i, j, k) -> (j : compressed, k : dense, i : compressed)",
       "(i, j, k) -> (i / 2 : dense, j / 2 : compressed, k / 2 : compressed, i % 2 : dense, j % 2 : dense, k % 2 : "
       "dense)",
       "(i, j, k) -> (k - j : compressed, i : dense, j : range)",
       "(i, j, k) -> (i : dense, k - j : compressed, j : range)", "(i, j, k) -> (i : bitmap, j : delta(3), k : dense)"},
      {"(i, j, k, l) -> (i : compressed, j : compressed, k : compressed, l : compressed)",
       "(i, j, k, l) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton(nonunique), l : singleton)",
       "(i, j, k, l) -> (l : dense, k : compressed, i : dense, j : compressed)",
       "(i, j, k, l) -> (i / 2 : dense, j / 2 : compressed, k : compressed, i % 2 : dense, j % 2 : dense, l : dense)"},
      {"(i, j, k, l, m) -> (i : dense, j : compressed, k : compressed, l : dense, m : compressed)"},
  };
  return formats[rank];
}

/// Values of slots outside of the tensor become NaN (or a large number): whoever reads one shows it.
inline void poison_outside(const Tensor& t) {
  if (t.format().is_all_dense() || t.part().value_stride == 0) return;
  const Buffer& values = t.part().values;
  std::set<const void*> inside;
  for_each_stored(t, [&](std::span<const std::int64_t>, const void* at) { inside.insert(at); });
  const Scalar bad = is_float(t.dtype()) || is_complex(t.dtype())
                         ? Scalar::of(std::numeric_limits<double>::quiet_NaN()).as(t.dtype())
                         : Scalar::of(std::int64_t{77}).as(t.dtype());
  for (std::int64_t k = 0; k < values.size; ++k) {
    void* at = static_cast<char*>(values.data) + k * static_cast<std::int64_t>(size_of(t.dtype()));
    if (!inside.count(at)) bad.store(at);
  }
}

struct Case {
  LowerInput in;
  std::vector<DenseArray> arrays;
  std::vector<Tensor> operands;
  std::vector<std::int64_t> extents;
  Shape out_shape;
  int out_order = 0;
  DType out_dtype = DType::f64;
  std::string text;
};

inline Tensor pack_random(const std::string& format, DenseArray& a, DType t, Rng& rng) {
  static const std::vector<DType> index = {DType::i32, DType::i32, DType::i64, DType::i16, DType::u8,
                                           DType::u32, DType::u16, DType::u64, DType::i8};
  DType pos = pick(rng, index), crd = pick(rng, index);
  std::size_t stored = 0;
  for (char s : a.stored) stored += s != 0;
  if (stored > 20 && size_of(pos) == 1) pos = DType::i32;
  if (format.find(" - ") != std::string::npos && !is_signed_int(crd)) crd = DType::i32;
  if (format == "ELL") return strata::testing::pack_ell(a, t, crd);
  if (format == "2:4") {
    strata::testing::prune_structured(a, 2, 4);
    return strata::testing::pack("(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))", a, t, pos, crd);
  }
  if (format.find("structured") != std::string::npos) strata::testing::prune_structured(a, 2, 4);
  return strata::testing::pack(format, a, t, pos, crd);
}

inline Case make_case(Rng& rng) {
  static const std::vector<DType> dtypes = {
      DType::f64, DType::f64, DType::f64, DType::f32, DType::f32,     DType::c128, DType::c64,  DType::i32,
      DType::i64, DType::i8,  DType::u8,  DType::i16, DType::boolean, DType::f16,  DType::bf16, DType::f8e5m2};
  Case c;
  const int rank = static_cast<int>(pick(rng, 1, 9) <= 6 ? 2 : pick(rng, 0, 5));
  const int count = static_cast<int>(pick(rng, 1, 4) <= 3 ? 2 : pick(rng, 1, 3));
  Einsum& e = c.in.einsum;
  const int pool = std::max(rank, static_cast<int>(pick(rng, 2, 4)));
  e.num_indices = pool;
  for (int i = 0; i < pool; ++i) {
    e.names.push_back(std::string(1, static_cast<char>('i' + i)));
    // Free extents meet every width of a tile; the driver's stay small enough for the oracle.
    c.extents.push_back(pick(rng, 0, 39) == 0  ? 0
                        : i < rank             ? pick(rng, 1,
                                          rank > 3   ? 3
                                                      : rank > 2 ? 6
                                                                 : 19)
                        : pick(rng, 0, 3) == 0 ? pick(rng, 129, 150)
                                               : pick(rng, 1, 75));
  }
  c.in.driver = static_cast<int>(pick(rng, 0, count - 1));
  const DType common = pick(rng, dtypes);
  const bool narrow = size_of(common) == 1 || common == DType::f16 || common == DType::bf16;
  std::vector<char> used(static_cast<std::size_t>(pool), 0);
  std::string driver_format;
  for (int o = 0; o < count; ++o) {
    std::vector<int> ids;
    if (o == c.in.driver) {
      for (int i = 0; i < rank; ++i) ids.push_back(i);
      std::shuffle(ids.begin(), ids.end(), rng);
      if (rank >= 2 && pick(rng, 0, 9) == 0) ids[0] = ids[1];  // a diagonal
    } else {
      const int n = static_cast<int>(pick(rng, 0, 3));
      for (int i = 0; i < n; ++i) ids.push_back(static_cast<int>(pick(rng, 0, pool - 1)));
    }
    const DType t = pick(rng, 0, 3) == 0 && !narrow ? pick(rng, dtypes) : common;
    Shape shape;
    for (int i : ids) shape.push_back(c.extents[static_cast<std::size_t>(i)]);
    for (auto& s : shape)
      if (pick(rng, 0, 19) == 0) s = 1;
    DenseArray a = strata::testing::random_array(shape, static_cast<double>(pick(rng, 1, 9)) / 10, is_complex(t),
                                                 t == DType::boolean || is_unsigned_int(t), rng);
    if (t == DType::boolean)
      for (auto& x : a.v) x = x.real() != 0 ? 1.0 : 0.0;
    Tensor tensor;
    if (o == c.in.driver) {
      driver_format = pick(rng, formats_of_rank(shape.size()));
      tensor = pack_random(driver_format, a, t, rng);
      poison_outside(tensor);
    } else {
      for (auto& s : a.stored) s = 1;
      if (pick(rng, 0, 5) == 0 && shape.size() == 2)
        tensor = pack_random("(i, j) -> (i / 2 : dense, j / 3 : dense, i % 2 : dense, j % 3 : dense)", a, t, rng);
      else tensor = strata::testing::dense(a, t, static_cast<int>(pick(rng, 0, 3)));
    }
    for (int i : ids) used[static_cast<std::size_t>(i)] = 1;
    e.operands.push_back(ids);
    e.conjugate.push_back(pick(rng, 0, 3) == 0);
    c.arrays.push_back(std::move(a));
    c.operands.push_back(tensor);
    c.in.operands.push_back(tensor.type());
  }
  for (int i = 0; i < pool; ++i) {
    auto& x = c.extents[static_cast<std::size_t>(i)];
    x = 1;
    for (int o = 0; o < count; ++o)
      for (std::size_t d = 0; d < e.operands[static_cast<std::size_t>(o)].size(); ++d)
        if (e.operands[static_cast<std::size_t>(o)][d] == i && c.arrays[static_cast<std::size_t>(o)].shape[d] != 1)
          x = c.arrays[static_cast<std::size_t>(o)].shape[d];
    if (used[static_cast<std::size_t>(i)] && pick(rng, 0, 9) < 6) e.output.push_back(i);
  }
  std::shuffle(e.output.begin(), e.output.end(), rng);
  for (int i : e.output) c.out_shape.push_back(c.extents[static_cast<std::size_t>(i)]);
  // Compute where nothing is lost, so that the oracle's numbers are exact.
  const DType first = c.in.operands[0].dtype;
  bool complex = false, floating = false, boolean = true;
  for (const auto& t : c.in.operands) {
    complex = complex || is_complex(t.dtype);
    floating = floating || is_float(t.dtype) || is_complex(t.dtype);
    boolean = boolean && t.dtype == DType::boolean;
  }
  c.in.compute = complex    ? (pick(rng, 0, 1) ? DType::c128 : DType::c64)
                 : floating ? (pick(rng, 0, 1) ? DType::f64 : DType::f32)
                 : boolean  ? DType::boolean
                            : DType::i64;
  if (!complex && !floating && !boolean && count == 1) c.in.compute = first;
  c.out_dtype = c.in.compute;
  if (c.in.compute == DType::f32 && pick(rng, 0, 3) == 0) c.out_dtype = DType::f16;
  c.out_order = static_cast<int>(pick(rng, 0, 3));
  c.text = e.to_string() + "  driver " + driver_format + " (operand " + std::to_string(c.in.driver) + ")";
  for (std::size_t o = 0; o < c.operands.size(); ++o) c.text += "\n  " + c.in.operands[o].to_string();
  return c;
}

}  // namespace lowered_test
