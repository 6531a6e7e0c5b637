// Legal Matrix Market files, and what is written reads back bit for bit.
#include <doctest/doctest.h>

#include <complex>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "strata/io.h"
#include "strata/ops.h"

using namespace strata;

namespace {

std::string banner(const std::string& rest) { return "%%MatrixMarket matrix " + rest + "\n"; }

/// The dense matrix as text, row by row: what a reader of the test would write.
std::string dense_text(const Tensor& t) {
  const Tensor d = to_dense(t);
  const std::size_t width = size_of(d.dtype());
  const auto* p = static_cast<const char*>(d.part().values.data);
  std::string out;
  for (std::int64_t i = 0; i < t.shape()[0]; ++i, out += "; ")
    for (std::int64_t j = 0; j < t.shape()[1]; ++j, p += width)
      out += (j ? " " : "") + Scalar::load(d.dtype(), p).to_string();
  return out;
}

struct TemporaryDirectory {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("strata_io_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  TemporaryDirectory() { std::filesystem::create_directories(path); }
  ~TemporaryDirectory() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

std::string contents(const std::string& path) {
  std::ostringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}

}  // namespace

TEST_CASE("coordinate files of every symmetry") {
  CHECK(dense_text(parse_matrix_market(banner("coordinate real general") + "2 3 2\n1 1 1.5\n2 3 -2\n")) ==
        "1.5 0 0; 0 0 -2; ");
  CHECK(dense_text(parse_matrix_market(banner("coordinate real symmetric") + "2 2 2\n1 1 3\n2 1 4\n")) == "3 4; 4 0; ");
  CHECK(dense_text(parse_matrix_market(banner("coordinate real symmetric") + "2 2 2\n1 1 3\n1 2 4\n")) == "3 4; 4 0; ");
  CHECK(dense_text(parse_matrix_market(banner("coordinate integer skew-symmetric") + "2 2 1\n2 1 4\n")) ==
        "0 -4; 4 0; ");
  CHECK(dense_text(parse_matrix_market(banner("coordinate complex hermitian") + "2 2 2\n1 1 3 0\n2 1 1 2\n")) ==
        "3+0j 1-2j; 1+2j 0+0j; ");
  CHECK(dense_text(parse_matrix_market(banner("coordinate pattern general") + "2 2 2\n1 1\n2 1\n")) == "1 0; 1 0; ");
}

TEST_CASE("array files of every symmetry") {
  CHECK(dense_text(parse_matrix_market(banner("array integer general") + "2 3\n1\n2\n3\n4\n5\n6\n")) ==
        "1 3 5; 2 4 6; ");
  CHECK(dense_text(parse_matrix_market(banner("array real symmetric") + "2 2\n1\n2\n3\n")) == "1 2; 2 3; ");
  CHECK(dense_text(parse_matrix_market(banner("array real skew-symmetric") + "3 3\n1\n2\n3\n")) ==
        "0 -1 -2; 1 0 -3; 2 3 0; ");
  CHECK(dense_text(parse_matrix_market(banner("array complex hermitian") + "2 2\n1 0\n2 3\n4 0\n")) ==
        "1+0j 2-3j; 2+3j 4+0j; ");
  CHECK(parse_matrix_market(banner("array real general") + "0 5\n").shape() == Shape{0, 5});
}

TEST_CASE("dtypes follow the field") {
  const auto dtype = [](const std::string& field, const std::string& value) {
    return parse_matrix_market(banner("coordinate " + field + " general") + "1 1 1\n1 1 " + value + "\n").dtype();
  };
  CHECK(dtype("real", "1") == DType::f64);
  CHECK(dtype("double", "1") == DType::f64);
  CHECK(dtype("integer", "1") == DType::i64);
  CHECK(dtype("unsigned-integer", "1") == DType::u64);
  CHECK(dtype("complex", "1 2") == DType::c128);
  CHECK(dtype("pattern", "") == DType::f64);
}

TEST_CASE("spelling: case, blanks, comments, blank lines, line ends") {
  const std::string expected = "1 0; 0 2; ";
  for (const char* text :
       {"%%matrixmarket MATRIX Coordinate REAL General\n2 2 2\n1 1 1\n2 2 2\n",
        "%%MatrixMarket matrix coordinate real general\r\n% c\r\n2 2 2\r\n1 1 1\r\n2 2 2\r\n",
        "%%MatrixMarket\tmatrix  coordinate real general \n\n  %c\n\n 2\t2  2 \n\n\t1 1\t1 \n% between\n\n2 2 2",
        "%MatrixMarket matrix coordinate real general\n2 2 2\n2 2 +2\n1 1 1.\n\n\n",
        "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 .1e1\n2 2 2 ",
        "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 2 1\n1 1 1e0\n2 2 1\n"}) {
    CAPTURE(text);
    const Tensor t = parse_matrix_market(text);
    t.validate();
    CHECK(t.format() == parse_format("COO", 2));
    CHECK(t.nse() == 2);
    CHECK(dense_text(t) == expected);
  }
}

TEST_CASE("extremes of numbers and shapes") {
  const auto value = [](const std::string& field, const std::string& text) {
    return parse_matrix_market(banner("coordinate " + field + " general") + "1 1 1\n1 1 " + text + "\n")
        .get(std::vector<std::int64_t>{0, 0})
        ->to_string();
  };
  CHECK(value("integer", "-9223372036854775808") == "-9223372036854775808");
  CHECK(value("unsigned-integer", "18446744073709551615") == "18446744073709551615");
  CHECK(value("real", "5e-324") == Scalar::of(5e-324).to_string());
  CHECK(value("real", "1.7976931348623157e308") == Scalar::of(std::numeric_limits<double>::max()).to_string());
  CHECK(value("real", "1e-400") == "0");
  CHECK(value("real", "-1e-400") == Scalar::of(-0.0).to_string());
  CHECK(value("real", "-INF") == Scalar::of(-std::numeric_limits<double>::infinity()).to_string());
  const Tensor huge = parse_matrix_market(
      banner("coordinate real general") +
      "9223372036854775807 9223372036854775807 2\n9223372036854775807 1 3\n1 9223372036854775807 4\n");
  CHECK(huge.nse() == 2);
  CHECK(huge.get(std::vector<std::int64_t>{9223372036854775806, 0})->to_double() == 3);
  CHECK(parse_matrix_market(banner("coordinate real general") + "0 0 0\n").nse() == 0);
}

TEST_CASE("a matrix of many chunks equals what a loop would read, and tells its progress") {
  std::string text = banner("coordinate integer general") + "1000 1000 200000\n";
  for (int k = 0; k < 200000; ++k)
    text +=
        std::to_string(1 + k * 7 % 1000) + " " + std::to_string(1 + k / 1000 % 1000) + " " + std::to_string(k) + "\n";
  double last = -1;
  bool rises = true;
  const Tensor t =
      parse_matrix_market(text, "big", [&](double share) { rises = rises && share >= last, last = share; });
  CHECK(rises);
  CHECK(last == 1.0);
  const Tensor dense = to_dense(t);
  const auto* v = static_cast<const std::int64_t*>(dense.part().values.data);
  std::vector<std::int64_t> expected(1000 * 1000);
  for (int k = 0; k < 200000; ++k) expected[static_cast<std::size_t>(k * 7 % 1000 * 1000 + k / 1000 % 1000)] += k;
  CHECK(std::equal(expected.begin(), expected.end(), v));
}

TEST_CASE("what is written reads back bit for bit") {
  const TemporaryDirectory dir;
  double nan_payload = 0, minus_nan = 0;
  std::uint64_t bits = 0x7ff8000000000123;
  std::memcpy(&nan_payload, &bits, 8);
  bits = 0xfff8000000000000;
  std::memcpy(&minus_nan, &bits, 8);
  const std::vector<double> values = {
      0.1, -0.0, 5e-324, 1e308, nan_payload, minus_nan, -std::numeric_limits<double>::infinity(), 1.0 / 3, 0.0};
  const std::vector<std::int32_t> rows = {0, 0, 0, 1, 1, 1, 2, 2, 2}, cols = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  const Buffer coords[] = {Buffer::copy_of<std::int32_t>(rows), Buffer::copy_of<std::int32_t>(cols)};
  for (const char* format : {"COO", "CSR", "CSC"}) {
    const Tensor t = from_coo(coords, Buffer::copy_of<double>(values), {3, 3}, parse_format(format, 2));
    write_matrix_market(dir / "a.mtx", t);
    const Tensor back = read_matrix_market(dir / "a.mtx");
    CHECK(same_storage(back, convert(t, parse_format("COO", 2))));
  }
  const Tensor dense = from_coo(coords, Buffer::copy_of<double>(values), {3, 3}, parse_format("dense", 2));
  write_matrix_market(dir / "d.mtx", dense);
  CHECK(contents(dir / "d.mtx").rfind("%%MatrixMarket matrix array real general\n3 3\n", 0) == 0);
  CHECK(same_storage(read_matrix_market(dir / "d.mtx"), dense));
}

TEST_CASE("every dtype can be written") {
  const TemporaryDirectory dir;
  const std::vector<std::int32_t> one = {0};
  const Buffer coords[] = {Buffer::copy_of<std::int32_t>(one), Buffer::copy_of<std::int32_t>(one)};
  for (int d = 0; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    CAPTURE(std::string(name_of(dtype)));
    const Tensor t =
        from_coo(coords, Buffer::copy_of<double>(std::vector<double>{1.5}).cast(dtype), {1, 1}, parse_format("COO", 2));
    write_matrix_market(dir / "x.mtx", t);
    const Scalar back = *read_matrix_market(dir / "x.mtx").get(std::vector<std::int64_t>{0, 0});
    CHECK(back.as(dtype) == *t.get(std::vector<std::int64_t>{0, 0}));
  }
}

TEST_CASE("files that cannot be read or written") {
  const TemporaryDirectory dir;
  const Tensor t = parse_matrix_market(banner("coordinate real general") + "1 1 1\n1 1 1\n");
  CHECK_THROWS_AS(read_matrix_market(dir / "absent.mtx"), FileError);
  CHECK_THROWS_AS(read_matrix_market(dir.path.string()), FileError);
  CHECK_THROWS_AS(write_matrix_market(dir.path.string(), t), FileError);
  CHECK_THROWS_AS(write_matrix_market(dir / "no/such/folder.mtx", t), FileError);
  CHECK_THROWS_AS(write_matrix_market("/dev/full", t), FileError);
  write_matrix_market("/dev/null", t);
  CHECK(std::filesystem::is_character_file("/dev/null"));
  // Nothing but what was asked for stays behind.
  write_matrix_market(dir / "a.mtx", t);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(dir.path)) ++files;
  CHECK(files == 1);
}
