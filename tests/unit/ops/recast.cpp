// Other index dtypes alone: the arrays are cast, as the general path would have built them, and nothing else happens.
#include "convert/recast.h"

#include <doctest/doctest.h>

#include <string>

#include "backend/own_memory.h"
#include "strata/ops.h"

using namespace strata;

namespace {

const char* const recast_formats[] = {
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "BSR(2, 3)",
    "DIA",
    "ELL",
    "delta(3)",
    "bitmap",
    "structured(4, 4)",
    "BlockedELL(2, 3)",
    "(i, j) -> (i : dense, j / 3 : compressed, j % 3 : bitmap)",
};

Tensor recast_sample(const std::string& format, DType pos, DType crd) {
  const std::vector<std::int64_t> i = {0, 0, 1, 3, 3, 3, 6}, j = {1, 8, 0, 2, 3, 7, 8};
  const std::vector<double> v = {1, -0.0, 3, 4, 0.0, 6, 7};
  return from_coo({i, j}, v, {7, 9}, format, {.pos_dtype = pos, .crd_dtype = crd});
}

std::string recast_refusal(const Tensor& t, const ConvertOptions& options) {
  try {
    static_cast<void>(convert(t, t.format(), options));
  } catch (const TensorError& e) { return e.what(); }
  return "";
}

}  // namespace

TEST_CASE("other index dtypes: as the general path builds them, over the same values") {
  const DType wide[] = {DType::i8, DType::i32, DType::i64}, narrow[] = {DType::i16, DType::i64, DType::u64};
  for (const std::string format : recast_formats)
    for (const DType from : wide)
      for (const DType to : narrow) {
        CAPTURE(format);
        CAPTURE(name_of(from));
        CAPTURE(name_of(to));
        const Tensor t = recast_sample(format, from, from);
        const bool below_zero = format == "DIA" && to == DType::u64;
        for (const ConvertOptions& options : {ConvertOptions{.pos_dtype = to, .crd_dtype = to},
                                              ConvertOptions{.crd_dtype = to}, ConvertOptions{.pos_dtype = to}}) {
          if (below_zero && options.crd_dtype) {
            CHECK(recast_refusal(t, options).find("coordinates start below zero") != std::string::npos);
            continue;
          }
          const auto found = conversion::recast(t, t.format(), options);
          REQUIRE(found);
          found->validate();
          ConvertOptions all = options;
          all.zeros = Zeros::keep;
          const Tensor general = convert_general(t, t.format(), all);
          CHECK(found->type() == general.type());
          CHECK(same_storage(*found, general));
          CHECK(found->nse() == t.nse());
          CHECK(found->part().values.data == t.part().values.data);
          if (from != to) CHECK(convert(t, t.format(), options).type() == found->type());
        }
      }
}

TEST_CASE("other index dtypes keep the parts of a sum, and zeros in blocks") {
  const Tensor t = recast_sample("BSR(2, 3) + COO", DType::i32, DType::i32);
  const Tensor wide = convert(t, t.format(), {.crd_dtype = DType::i64});
  REQUIRE(wide.num_parts() == 2);
  for (int k = 0; k < 2; ++k) CHECK(same_storage(wide.part_tensor(k), t.part_tensor(k)));
  const Tensor empty_block =
      Tensor::bsr(2, 4, 2, 2, std::vector{0, 2}, std::vector{0, 1}, std::vector<double>{0, 0, -0.0, 0, 1, 2, 3, 4});
  CHECK(same_storage(convert(empty_block, empty_block.format(), {.crd_dtype = DType::u8}), empty_block));
  CHECK(convert(empty_block, "CSR").nse() == 4);
}

TEST_CASE("indices that do not fit another dtype are told, also when only some do not") {
  const std::vector<std::int64_t> i = {0, 0, 1}, j = {3, 255, 256};
  const std::vector<double> v = {1, 2, 3};
  for (const char* format : {"CSR", "COO", "DCSR"}) {
    const Tensor t = from_coo({i, j}, v, {2, 300}, format);
    const std::string told = recast_refusal(t, {.crd_dtype = DType::u8});
    CAPTURE(told);
    CHECK(told.find("level 1") != std::string::npos);
    CHECK(told.find("a coordinate does not fit in uint8") != std::string::npos);
    CHECK(told.find("0 to 255") != std::string::npos);
    CHECK(told.find("256") != std::string::npos);
    CHECK(recast_refusal(t, {.crd_dtype = DType::i16}).empty());
  }
  const Tensor few =
      from_coo({std::vector<std::int64_t>{1}, std::vector<std::int64_t>{255}}, std::vector<double>{1}, {2, 300}, "CSR");
  CHECK(recast_refusal(few, {.crd_dtype = DType::u8}).empty());  // the extent is larger, the coordinates are not
  std::vector<double> ones(20 * 20, 1.0);
  const Tensor full = from_dense(Tensor::dense({20, 20}, ones), "CSR");
  CHECK(recast_refusal(full, {.pos_dtype = DType::u8}).find("a position does not fit in uint8") != std::string::npos);
  CHECK(recast_refusal(full, {.pos_dtype = DType::u16}).empty());
}

TEST_CASE("unused slots of padded rows are marked in every width") {
  const std::vector<std::int64_t> i = {0, 0, 0, 1}, j = {0, 100, 254, 7};
  const std::vector<double> v = {1, 2, 3, 4};
  const Tensor t = from_coo({i, j}, v, {3, 255}, "ELL");
  Tensor other = t;
  for (const DType to : {DType::u8, DType::i64, DType::u16, DType::i32, DType::u8, DType::u64, DType::i16}) {
    other = convert(other, other.format(), {.crd_dtype = to});
    other.validate();
    CHECK(other.type().crd_dtype == to);
    CHECK(other.nse() == 4);
    CHECK(same_storage(other, t));
  }
  const Tensor wider = from_coo({i, j}, v, {3, 256}, "ELL");
  CHECK(recast_refusal(wider, {.crd_dtype = DType::u8}).find("also be a coordinate") != std::string::npos);
}

TEST_CASE("what is more than index dtypes goes the other ways") {
  const Tensor t = recast_sample("CSR", DType::i32, DType::i32);
  const ConvertOptions wide{.crd_dtype = DType::i64};
  CHECK_FALSE(conversion::recast(t, parse_format("CSC"), wide));
  CHECK_FALSE(conversion::recast(t, t.format(), {.dtype = DType::f32, .crd_dtype = DType::i64}));
  const Tensor loose = convert(t, "(i, j) -> (i : dense, j : compressed(unordered))");
  CHECK_FALSE(conversion::recast(loose, loose.format(), wide));
  CHECK(conversion::recast(convert(t, "CSR", {.dtype = DType::f32}), t.format(), wide)->dtype() == DType::f32);
  CHECK(convert(t, "CSR", {.dtype = DType::f32, .crd_dtype = DType::i64}).type().crd_dtype == DType::i64);
}

TEST_CASE("borrowed indices are looked at again when they become the library's own") {
  std::vector<std::int32_t> pos = {0, 2, 3}, crd = {0, 2, 1};
  const std::vector<double> v = {1, 2, 3};
  RawArrays arrays;
  arrays.pos[1] = Buffer::borrow(std::span<const std::int32_t>(pos));
  arrays.crd[1] = Buffer::borrow(std::span<const std::int32_t>(crd));
  arrays.values = Buffer::borrow(std::span<const double>(v));
  const Tensor t = make_tensor(parse_format("CSR"), {2, 3}, arrays);
  const Tensor wide = convert(t, "CSR", {.crd_dtype = DType::i64});
  CHECK(is_own(wide.part().levels[1].crd));
  crd[1] = 3;  // outside of the matrix now
  CHECK_THROWS_AS(convert(t, "CSR", {.crd_dtype = DType::i64}), TensorError);
  crd[1] = 2;
  pos[1] = 4;
  CHECK_THROWS_AS(convert(t, "CSR", {.crd_dtype = DType::i64}), TensorError);
}
