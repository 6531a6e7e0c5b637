// Pictures as C++ users have them: text and SVG of every kind, files, errors. What stands in them, cell by cell, is
// compared with NumPy and SciPy in tests/python/pictures.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "draw/isometric.h"
#include "draw/svg.h"
#include "draw/words.h"
#include "strata/draw.h"
#include "strata/ops.h"
#include "support/random_format.h"

using namespace strata;

namespace {

/// The 3 x 8 matrix of the blog post on the universal sparse tensor.
Tensor blog(const std::string& format) {
  std::vector<std::int64_t> array = {1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5};
  const std::vector<std::int64_t> strides = {8, 1};
  return from_dense(borrow_dense(Buffer::copy_of<std::int64_t>(array), {3, 8}, strides), parse_format(format, 2));
}

std::string file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream all;
  all << in.rdbuf();
  return all.str();
}

int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// Do elements open and close as XML wants it? (Attributes and entities are read by Python's parser.)
bool is_nested(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<'); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1), name = tag.substr(0, tag.find(' '));
    if (name[0] == '/') {
      if (open.empty() || open.back() != name.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
  }
  return open.empty();
}

struct Folder {
  std::string path = (std::filesystem::temp_directory_path() / ("strata-draw-" + std::to_string(std::rand()))).string();
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

TEST_CASE("figure 1 of the blog is the picture that is checked in") {
  CHECK((draw_storage(blog("delta(2)")).svg() ==
         file(std::string(STRATA_TEST_DIR) + "/../docs/_static/pictures/delta-storage.svg")));
}

TEST_CASE("every picture of every kind of format is text within its width and well-formed SVG") {
  for (const char* format :
       {"CSR", "CSC", "COO", "DCSR", "BSR(2, 3)", "BSR(4, 4) + COO", "DIAI", "DIAJ", "SkewDIAI", "Delta(2)", "ELL",
        "Bitmap", "dense", "DenseLeft", "CROW", "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))",
        "(i, j) -> (i / 2 : dense, j / 2 : padded, i % 2 : dense, j % 2 : dense)"}) {
    CAPTURE(format);
    const Tensor t = blog(format);
    for (const Picture& p : {draw(t), draw_storage(t), draw_raw(t), draw_conversion(blog("CSR"), t)}) {
      for (const int width : {10, 24, 60, 200}) {
        std::istringstream lines(p.text(width));
        for (std::string line; std::getline(lines, line);) CHECK(pictures::columns(line) <= std::max(width, 24));
      }
      for (const Theme theme : {Theme::automatic, Theme::light, Theme::dark}) {
        const std::string svg = p.svg(theme);
        CHECK(is_nested(svg));
        CHECK(count(svg, "@media") == (theme == Theme::automatic ? 1 : 0));
        CHECK(count(svg, "nan\"") == 0);
      }
    }
    CHECK(draw_storage(t).text(80) == draw_storage_text(t, 80));
  }
}

TEST_CASE("random formats: all slots are in the picture of the storage, all elements on the grid and in the counts") {
  std::mt19937_64 random(7);
  for (int k = 0; k < 120; ++k) {
    const int rank = k % 4;
    testing::RandomFormatOptions options;
    options.max_parts = 2;
    const Format format = testing::random_format(random, rank, options);
    Shape shape;
    std::int64_t size = 1;
    for (int d = 0; d < rank; ++d) {
      shape.push_back(static_cast<std::int64_t>(random() % 5));
      size *= shape.back();
    }
    std::vector<std::int64_t> values, strides(static_cast<std::size_t>(rank), 1);
    std::int64_t nonzero = 0;
    for (std::int64_t e = 0; e < size; ++e) {
      values.push_back(random() % 3 == 0 ? 1 + static_cast<std::int64_t>(random() % 9) : 0);
      nonzero += values.back() != 0;
    }
    for (int d = rank - 1; d > 0; --d)
      strides[static_cast<std::size_t>(d) - 1] =
          strides[static_cast<std::size_t>(d)] * std::max<std::int64_t>(1, shape[static_cast<std::size_t>(d)]);
    const Tensor t = from_dense(borrow_dense(Buffer::copy_of<std::int64_t>(values), shape, strides), format);
    CAPTURE(format.to_string());
    CAPTURE(k);
    const std::string storage = draw_storage(t, 500).svg(), grid = draw(t).svg();
    CHECK(is_nested(storage));
    CHECK(is_nested(grid));
    CHECK(is_nested(draw_raw(t).svg()));
    const Density d = density(t, 8);
    CHECK(d.stored == nonzero);
    CHECK(d.stored + d.fill_in == t.nse());
    if (size > 0) CHECK(count(grid, "data-slot=\"stored\"") == nonzero);
    if (t.format().num_batch_levels() == 0 || t.format().is_all_dense()) {
      const int inside = count(storage, "data-slot=\"stored\"") + count(storage, "data-slot=\"stored zero\"") +
                         count(storage, "data-slot=\"fill-in\"");
      CHECK(inside == t.nse());
    }
  }
}

TEST_CASE("density") {
  const Density d = density(blog("delta(2)"), 4);
  CHECK(d.cell == std::vector<std::int64_t>{2, 2});
  CHECK(d.bins == std::vector<std::int64_t>{2, 4});
  CHECK(d.counts == std::vector<std::int64_t>{1, 2, 0, 1, 0, 0, 0, 1});
  CHECK(d.stored == 5);
  CHECK(d.fill_in == 2);
  CHECK(density(Tensor(), 4).counts == std::vector<std::int64_t>{0});  // the scalar 0 holds its fill
}

TEST_CASE("files") {
  const Folder folder;
  const Picture p = draw(blog("CSR"));
  p.save(folder.path + "/a.svg");
  CHECK((file(folder.path + "/a.svg") == p.svg()));
  p.save(folder.path + "/a.txt");
  CHECK((file(folder.path + "/a.txt") == p.text()));
  CHECK_THROWS_WITH_AS(p.save(folder.path + "/a.png"), doctest::Contains("'.svg' or '.txt'"), FileError);
  CHECK_THROWS_AS(p.save(folder.path + "/none/a.svg"), FileError);
  std::ostringstream out;
  out << p;
  CHECK(out.str() == p.text());
}

TEST_CASE("errors") {
  const std::vector<double> one = {1};
  const std::vector<std::int64_t> strides = {0, 0, 0, 0};
  const Tensor t = borrow_dense(Buffer::copy_of<double>(one), {2, 2, 2, 2}, strides);
  CHECK_THROWS_WITH_AS(draw(t), doctest::Contains("rank 4"), TensorError);
  CHECK_THROWS_WITH_AS(draw_raw(t), doctest::Contains("draw_storage()"), TensorError);
  CHECK_THROWS_WITH_AS(draw_conversion(t, blog("CSR")), doctest::Contains("3 x 8"), TensorError);
  CHECK_THROWS_WITH_AS(parse_theme("blue"), doctest::Contains("auto, light, dark"), Error);
  CHECK(parse_theme("dark") == Theme::dark);
}

TEST_CASE("words and numbers of SVG") {
  CHECK(pictures::number(1.0) == "1");
  CHECK(pictures::number(-0.001) == "0");
  CHECK(pictures::number(12.506) == "12.51");
  CHECK(pictures::number(100) == "100");
  CHECK(pictures::escaped("<a & \"b\">\n") == "&lt;a &amp; &quot;b&quot;&gt; ");
  CHECK(pictures::grouped(1234567) == "1 234 567");
  CHECK(pictures::grouped(-1234) == "-1 234");
  CHECK(pictures::grouped(12) == "12");
  CHECK(pictures::value_text(Scalar::of(std::complex<double>(1, -0.5))) == "1-0.5j");
}

TEST_CASE("a cube alone shows three faces, and hides what is behind it") {
  const std::vector<std::int64_t> bins = {2, 2, 2};
  std::vector<std::uint8_t> shade(8, 0);
  shade[5] = 3;  // i = 1, j = 0, k = 1: in front
  shade[2] = 1;  // i = 0, j = 1, k = 0: behind it
  const pictures::Isometric view(bins, shade);
  for (int face = 0; face < 3; ++face) {
    CHECK(count(view.path(3, face, 1), "M") >= 1);
    CHECK(view.path(1, face, 1).empty());
  }
}
