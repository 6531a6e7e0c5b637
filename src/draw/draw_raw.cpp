// The structure of a tensor of any size: a pixel for each cell of a grid, the darker the more is stored there.
#include <algorithm>
#include <array>

#include "draw/isometric.h"
#include "draw/svg.h"
#include "draw/words.h"
#include "strata/draw.h"

namespace strata {
namespace {

using namespace pictures;

constexpr int default_size = 256, default_size_of_cubes = 48;
constexpr double picture_size = 512;

/// Shades from a share of the largest count: each is a third of the next one, so that single elements are seen beside
/// full blocks.
class Ramp {
 public:
  explicit Ramp(std::int64_t largest) {
    std::int64_t bound = largest;
    for (int s = shades; s > 1; --s) {
      bound /= 3;
      above_[static_cast<std::size_t>(s) - 1] = bound;  // shade s: more than this
    }
    lighter_ = static_cast<int>(std::count(above_.begin() + 1, above_.end(), 0)) / 2;
  }
  std::uint8_t shade(std::int64_t count) const {
    int s = shades;
    while (s > 0 && count <= above_[static_cast<std::size_t>(s) - 1]) --s;
    return static_cast<std::uint8_t>(s > 0 ? s - lighter_ : 0);
  }
  /// Counts of a shade, from and to.
  std::pair<std::int64_t, std::int64_t> counts(int s, std::int64_t largest) const {
    return {above_[static_cast<std::size_t>(s) - 1] + 1, s == shades ? largest : above_[static_cast<std::size_t>(s)]};
  }

 private:
  std::array<std::int64_t, shades> above_{};
  int lighter_ = 0;  ///< few different counts take the middle of the ramp
};

class RawPicture : public Picture::Source {
 public:
  RawPicture(const Tensor& t, int size)
      : density_(density(t, size)),
        largest_(density_.counts.empty() ? 0 : *std::max_element(density_.counts.begin(), density_.counts.end())),
        name_(t.format().name()),
        format_(t.format().to_string()),
        facts_(facts_text(t)),
        facts_line_(facts_line(t)),
        shape_(t.shape()) {
    for (int d = 0; d < t.rank(); ++d) dims_.emplace_back(t.format().dim_name(d));
  }

  std::string text(int width) const override;
  std::string svg(Theme theme) const override;

 private:
  /// Rows and columns of the picture: of a vector one row, of three dimensions the sum along the first.
  std::int64_t rows() const { return shape_.size() < 2 ? 1 : density_.bins[shape_.size() - 2]; }
  std::int64_t cols() const { return shape_.empty() ? 1 : density_.bins.back(); }
  std::vector<std::int64_t> flat() const {
    const auto n = static_cast<std::size_t>(rows() * cols());
    std::vector<std::int64_t> sums(n, 0);
    for (std::size_t k = 0; k < density_.counts.size(); ++k) sums[k % n] += density_.counts[k];
    return sums;
  }
  bool empty() const { return std::find(shape_.begin(), shape_.end(), 0) != shape_.end(); }
  std::string cell_words() const {
    std::string words;
    std::int64_t n = 1;
    for (const std::int64_t c : density_.cell) {
      words += (words.empty() ? "" : " x ") + grouped(c);
      n *= c;
    }
    return n == 1 ? "" : words + " elements a pixel";
  }
  std::string fill_words() const {
    return density_.fill_in == 0 ? ""
                                 : grouped(density_.stored) + " drawn, " + grouped(density_.fill_in) +
                                       " slots that hold the fill are not";
  }
  void matrix(Svg& svg, double& y, double& width) const;
  void cube(Svg& svg, double& y, double& width) const;

  const Density density_;
  const std::int64_t largest_;
  const std::string name_, format_, facts_, facts_line_;
  const Shape shape_;
  std::vector<std::string> dims_;
};

/// Dots of Braille where most of the picture is empty, shades where it is not: four rows and two columns a character,
/// or one.
std::string RawPicture::text(int width) const {
  width = std::max(width, 24);
  const std::string name = name_.empty() ? format_ : name_;
  std::string out = columns(name) + columns(facts_) + 3 <= width ? name + "   " + facts_ + "\n"
                                                                 : cut(name, width) + "\n" + cut(facts_, width) + "\n";
  if (empty()) return out + "(empty)\n";
  const std::vector<std::int64_t> sums = flat();
  const std::int64_t m = rows(), n = cols();
  // At most so many characters; rows follow, as a character is twice as tall as wide.
  const std::int64_t across = std::min<std::int64_t>(width - 2, 72);
  const std::int64_t dots_x = std::min(n, 2 * across), dots_y = std::min(m, std::max<std::int64_t>(1, m * dots_x / n));
  const auto gathered = [&](std::int64_t height, std::int64_t breadth) {
    std::vector<std::int64_t> to(static_cast<std::size_t>(height * breadth), 0);
    for (std::int64_t r = 0; r < m; ++r)
      for (std::int64_t c = 0; c < n; ++c)
        to[static_cast<std::size_t>(r * height / m * breadth + c * breadth / n)] +=
            sums[static_cast<std::size_t>(r * n + c)];
    return to;
  };
  const std::vector<std::int64_t> dots = gathered(dots_y, dots_x);
  const auto on = std::count_if(dots.begin(), dots.end(), [](std::int64_t c) { return c > 0; });
  std::vector<std::string> lines;
  if (2 * on <= std::ssize(dots)) {
    for (std::int64_t r = 0; r < dots_y; r += 4) {
      std::string line;
      for (std::int64_t c = 0; c < dots_x; c += 2) {
        constexpr int bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
        int pattern = 0;
        for (std::int64_t y = 0; y < 4 && r + y < dots_y; ++y)
          for (std::int64_t x = 0; x < 2 && c + x < dots_x; ++x)
            if (dots[static_cast<std::size_t>((r + y) * dots_x + c + x)] > 0) pattern |= bits[y][x];
        // U+2800 and the pattern, as UTF-8; a blank where nothing is.
        if (pattern == 0) line += ' ';
        else
          line += {static_cast<char>(0xE2), static_cast<char>(0xA0 | pattern >> 6),
                   static_cast<char>(0x80 | (pattern & 63))};
      }
      lines.push_back(line);
    }
  } else {
    const std::int64_t breadth = std::min(n, across),
                       height = std::max<std::int64_t>(1, std::min(m, m * breadth / n / 2));
    const std::vector<std::int64_t> shares = gathered(height, breadth);
    const std::int64_t most = *std::max_element(shares.begin(), shares.end());
    for (std::int64_t r = 0; r < height; ++r) {
      std::string line;
      for (std::int64_t c = 0; c < breadth; ++c) {
        constexpr const char* marks[] = {" ", "░", "▒", "▓", "█"};
        const std::int64_t count = shares[static_cast<std::size_t>(r * breadth + c)];
        line += marks[count == 0 ? 0 : 4 * count > 3 * most ? 4 : 2 * count > most ? 3 : 4 * count > most ? 2 : 1];
      }
      lines.push_back(line);
    }
  }
  int inner = 0;
  for (const std::string& line : lines) inner = std::max(inner, columns(line));
  out += "┌" + repeat("─", inner) + "┐\n";
  for (const std::string& line : lines) out += "│" + line + repeat(" ", inner - columns(line)) + "│\n";
  out += "└" + repeat("─", inner) + "┘\n";
  if (shape_.size() == 3) out += cut("summed along " + dims_[0], width) + "\n";
  if (density_.fill_in > 0) out += cut(fill_words(), width) + "\n";
  return out;
}

void RawPicture::matrix(Svg& svg, double& y, double& width) const {
  const std::vector<std::int64_t> sums = flat();
  const std::int64_t m = rows(), n = cols();
  const double unit = std::clamp(picture_size / static_cast<double>(std::max(m, n)), 0.5, 24.0);
  // A vector is a strip.
  const double tall = shape_.size() < 2 ? std::max(unit, 28.0) : unit;
  const double w = unit * static_cast<double>(n), h = tall * static_cast<double>(m);
  const Ramp ramp(largest_);
  if (!shape_.empty()) {
    svg.text(0, y + 10, "0", "muted small");
    svg.text(w, y + 10, grouped(shape_.back()), "end muted small");
    if (w > 160) svg.text(w / 2, y + 10, dims_.back() + " →", "mid muted small");
    y += 18;
  }
  svg.open("data-bins=\"" + std::to_string(m) + " " + std::to_string(n) + "\" transform=\"translate(0 " + number(y) +
           ") scale(" + number(unit) + " " + number(tall) + ")\"");
  for (int s = 1; s <= shades; ++s) {
    std::string d;
    for (std::int64_t r = 0; r < m; ++r) {
      std::int64_t from = -1, end = -1;
      for (std::int64_t c = 0; c <= n; ++c) {
        const bool here = c < n && ramp.shade(sums[static_cast<std::size_t>(r * n + c)]) == s;
        if (here && from < 0) from = c;
        if (here || from < 0) continue;
        d += end < 0 ? "M" + std::to_string(from) + " " + std::to_string(r) + ".5"
                     : "m" + std::to_string(from - end) + " 0";
        d += "h" + std::to_string(c - from);
        end = c;
        from = -1;
      }
    }
    if (!d.empty()) svg.path(d, "dots d" + std::to_string(s));
  }
  svg.close();
  svg.rect(-0.5, y - 0.5, w + 1, h + 1, "frame", 0);
  width = std::max(width, w);
  if (shape_.size() > 1) {
    svg.text(w + 8, y + 9, "0", "muted small");
    svg.text(w + 8, y + h, grouped(shape_[shape_.size() - 2]), "muted small");
    if (h > 60) svg.text(w + 8, y + h / 2 + 4, dims_[shape_.size() - 2] + " ↓", "muted small");
    width = std::max(width, w + 8 + small_width * std::max(3, columns(grouped(shape_[shape_.size() - 2]))));
  }
  y += h + 20;
}

void RawPicture::cube(Svg& svg, double& y, double& width) const {
  const Ramp ramp(largest_);
  std::vector<std::uint8_t> shade;
  for (const std::int64_t c : density_.counts) shade.push_back(ramp.shade(c));
  const Isometric view(density_.bins, shade);
  const double ni = static_cast<double>(density_.bins[0]), nj = static_cast<double>(density_.bins[1]),
               nk = static_cast<double>(density_.bins[2]);
  const double unit = std::min(28.0, picture_size / (0.866 * (ni + nk)));
  const double left = 0.866 * ni * unit + 30;
  y += 14;
  const auto point = [&](double i, double j, double k) {
    const auto [px, py] = Isometric::at(i, j, k, unit);
    return std::pair(left + px, y + py);
  };
  const auto edge = [&](std::array<double, 3> a, std::array<double, 3> b, const char* classes) {
    const auto [x1, y1] = point(a[0], a[1], a[2]);
    const auto [x2, y2] = point(b[0], b[1], b[2]);
    svg.line(x1, y1, x2, y2, classes);
  };
  // The box: its far edges behind the cells, the near ones thin in front.
  edge({0, nj, 0}, {ni, nj, 0}, "hair");
  edge({0, nj, 0}, {0, nj, nk}, "hair");
  edge({0, 0, 0}, {0, nj, 0}, "hair");
  svg.open("data-bins=\"" + std::to_string(density_.bins[0]) + " " + std::to_string(density_.bins[1]) + " " +
           std::to_string(density_.bins[2]) + "\" transform=\"translate(" + number(left) + " " + number(y) + ")\"");
  for (int s = 1; s <= shades; ++s)
    for (int face = 0; face < 3; ++face) {
      const std::string d = view.path(s, face, unit);
      if (!d.empty()) svg.path(d, "d" + std::to_string(s) + "abc"[face]);
    }
  svg.close();
  edge({0, 0, 0}, {ni, 0, 0}, "frame");
  edge({0, 0, 0}, {0, 0, nk}, "frame");
  edge({ni, 0, 0}, {ni, 0, nk}, "hair");
  edge({0, 0, nk}, {ni, 0, nk}, "hair");
  edge({ni, 0, 0}, {ni, nj, 0}, "frame");
  edge({0, 0, nk}, {0, nj, nk}, "frame");
  edge({ni, nj, 0}, {ni, nj, nk}, "frame");
  edge({0, nj, nk}, {ni, nj, nk}, "frame");
  edge({ni, 0, nk}, {ni, nj, nk}, "hair");
  const auto label = [&](std::array<double, 3> a, double dx, double dy, int d, const char* classes) {
    const auto [px, py] = point(a[0], a[1], a[2]);
    svg.text(px + dx, py + dy, dims_[static_cast<std::size_t>(d)] + " " + grouped(shape_[static_cast<std::size_t>(d)]),
             classes);
  };
  label({ni / 2, 0, 0}, -10, -6, 0, "end muted small");
  label({0, 0, nk / 2}, 10, -6, 2, "muted small");
  label({0, nj / 2, nk}, 8, 4, 1, "muted small");
  width = std::max(width, left + 0.866 * nk * unit + 8 + small_width * 12);
  y += ((ni + nk) / 2 + nj) * unit + 24;
}

std::string RawPicture::svg(Theme theme) const {
  Svg svg;
  double width = 0, y = 14;
  const std::string title = name_.empty() ? cut(format_, 70) : name_;
  svg.text(0, y, title, "title ink");
  svg.text(0, y += 19, facts_line_, "ink");
  width = std::max(9.8 * columns(title), char_width * columns(facts_line_));
  y += 14;
  if (empty()) {
    svg.text(0, y + 12, "No element: an extent is 0.", "muted");
    return svg.finish(width, y + 20, "The structure of an empty tensor: " + facts_line_, theme);
  }
  shape_.size() == 3 ? cube(svg, y, width) : matrix(svg, y, width);
  Legend legend(svg, 0, y);
  const Ramp ramp(largest_);
  for (int s = 1; s <= shades; ++s) {
    const auto [from, to] = ramp.counts(s, largest_);
    if (from > to || largest_ == 0) continue;
    legend.add("d" + std::to_string(ramp.shade(to)) + "s",
               from == to ? grouped(to) : grouped(from) + " – " + grouped(to));
  }
  width = std::max(width, legend.right() - 18);
  y += 14;
  for (const std::string& words : {cell_words(), fill_words()}) {
    if (words.empty()) continue;
    svg.text(0, y + 18, words, "muted small");
    width = std::max(width, small_width * columns(words));
    y += 18;
  }
  return svg.finish(width, y + 4, "The structure of a tensor: " + title + ", " + facts_line_, theme);
}

}  // namespace

Picture draw_raw(const Tensor& t, int size) {
  if (t.rank() > 3)
    throw TensorError({.what = "draw_raw() shows tensors of at most 3 dimensions",
                       .expected = "rank 0 to 3",
                       .got = "rank " + std::to_string(t.rank()),
                       .fix = "draw a slice of it, or draw_storage(), which shows any"});
  if (size <= 0) size = t.rank() == 3 ? default_size_of_cubes : default_size;
  return Picture(std::make_shared<RawPicture>(t, size));
}

}  // namespace strata
