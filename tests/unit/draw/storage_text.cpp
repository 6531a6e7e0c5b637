// Storage drawn as text: what stands where, and that nothing leaves the frame.
#include <doctest/doctest.h>

#include <sstream>
#include <vector>

#include "strata/draw.h"
#include "strata/ops.h"

using namespace strata;

namespace {

/// The 3 x 8 matrix of the blog post on the universal sparse tensor.
Tensor blog(const std::string& format) {
  std::vector<std::int64_t> array = {1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
  const std::vector<std::int64_t> strides = {8, 1};
  return from_dense(borrow_dense(Buffer::copy_of<std::int64_t>(array), {3, 8}, strides), parse_format(format, 2));
}

int columns(const std::string& s) {
  int n = 0;
  for (const char c : s) n += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return n;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string line_with(const std::string& text, const std::string& word) {
  for (const std::string& line : lines_of(text))
    if (line.find(word) != std::string::npos) return line;
  return "";
}

}  // namespace

TEST_CASE("CSR as text") {
  CHECK(draw_storage_text(blog("CSR"), 80) ==
        "CSR   3 x 8   int64   5 stored   76 bytes\n"
        "┌ i : dense ───────────────────────────── size 3 ┐\n"
        "├ j : compressed ── pos int32, crd int32, size 8 ┤\n"
        "│ pos  0  2  4  5                                │\n"
        "│ crd  0  7 │  2  3 │  7                         │\n"
        "├ values ───────────────────────────────── int64 ┤\n"
        "│      1  2 │  3  4 │  5                         │\n"
        "└────────────────────────────────────────────────┘\n");
}

TEST_CASE("every box is closed and within the width") {
  for (const char* format :
       {"CSR", "CSC", "COO", "DCSR", "BSR(2, 3)", "BSR(4, 4) + COO", "DIAI", "DIAJ", "SkewDIAI", "Delta(2)", "ELL",
        "Bitmap", "dense", "DenseLeft", "CSF", "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))",
        "(i, j) -> (i / 2 : dense, j / 2 : padded, i % 2 : dense, j % 2 : dense)"})
    for (const int width : {10, 24, 40, 80, 200}) {
      const std::string text = draw_storage_text(blog(format), width);
      CAPTURE(format);
      CAPTURE(text);
      int box = 0;
      for (const std::string& line : lines_of(text)) {
        CHECK(columns(line) <= std::max(width, 24));
        if (line.rfind("┌", 0) == 0) box = columns(line);
        const bool inside = line.rfind("│", 0) == 0 || line.rfind("├", 0) == 0 || line.rfind("└", 0) == 0;
        if (inside) CHECK(columns(line) == box);
      }
      CHECK(box > 0);
    }
}

TEST_CASE("rows show the arrays, grouped by parent") {
  const std::string csr = draw_storage_text(blog("CSR"), 80);
  CHECK(line_with(csr, "pos  ").find("0  2  4  5") != std::string::npos);
  CHECK(line_with(csr, "crd  ").find("0  7 │  2  3 │  7") != std::string::npos);
  CHECK(csr.find("1  2 │  3  4 │  5") != std::string::npos);
  // The figure of the blog post: delta(2) bridges the gaps of rows 0 and 2 with slots of 0.
  const std::string delta = draw_storage_text(blog("Delta(2)"), 80);
  CHECK(line_with(delta, "crd  ").find("0  3  2 │  2  0 │  3  3") != std::string::npos);
  CHECK(delta.find("crd uint2") != std::string::npos);
}

TEST_CASE("outside slots are dots, blocks are groups") {
  const std::string dia = draw_storage_text(blog("DIAI"), 100);
  CHECK(dia.find("·") != std::string::npos);
  CHECK(dia.find("j - i : compressed") != std::string::npos);
  const std::string ell = draw_storage_text(blog("ELL"), 100);
  CHECK(line_with(ell, "crd  ").find("0  7 │  2  3 │  7  ·") != std::string::npos);
  const std::string bsr = draw_storage_text(blog("BSR(3, 4)"), 200);
  CHECK(bsr.find("1  0  0  0  0  0  3  4  0  0  0  0 │  0  0  0  2") != std::string::npos);
}

TEST_CASE("a long format leaves the facts a line of their own") {
  const auto lines = lines_of(draw_storage_text(blog("(i, j) -> (i : bitmap, j / 4 : padded, j % 4 : bitmap)"), 60));
  CHECK(lines[0] == "(i, j) -> (i : bitmap, j / 4 : padded(2), j % 4 : bitmap)");
  CHECK(lines[1].rfind("3 x 8   int64   5 stored   ", 0) == 0);
  CHECK(lines[1].find(" bytes") != std::string::npos);
}

TEST_CASE("sums part by part, batches one by one, long rows cut") {
  const std::string sum = draw_storage_text(blog("BSR(2, 2) + COO"), 80);
  CHECK(sum.find("part 0   BSR(2, 2)") != std::string::npos);
  CHECK(sum.find("part 1   COO") != std::string::npos);
  std::vector<double> many(1000, 0.125);
  const std::vector<std::int64_t> strides = {1};
  const Tensor t =
      from_dense(borrow_dense(Buffer::copy_of<double>(many), {1000}, strides), parse_format("SparseVector"));
  const std::string text = draw_storage_text(t, 60);
  CHECK(line_with(text, "crd  ").find("…") != std::string::npos);
  CHECK(lines_of(text).size() < 10);
}

TEST_CASE("scalars and empty tensors") {
  CHECK(draw_storage_text(Tensor(), 80).find("scalar") != std::string::npos);
  const std::vector<double> none;
  const std::vector<std::int64_t> strides = {4, 1};
  for (const char* format : {"CSR", "COO", "Bitmap", "BSR(2, 2)", "dense", "DIAI", "ELL"}) {
    CAPTURE(format);
    const Tensor t = from_dense(borrow_dense(Buffer::copy_of<double>(none), {0, 4}, strides), parse_format(format, 2));
    CHECK(draw_storage_text(t, 80).find("0 x 4") != std::string::npos);
  }
}
