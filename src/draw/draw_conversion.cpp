// Before and after: the storage of one tensor, that of the other upside down below it, so that their values face each
// other, and a line from each element to itself. What is left without a line was dropped, or is fill-in.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "draw/storage_tree.h"
#include "draw/words.h"

namespace strata {
namespace {

using namespace pictures;

constexpr double between = 84, aside = 40;

/// Bright colours that dark digits can be read on, as far apart in hue as there are elements.
std::string hue(std::size_t k, std::size_t n) {
  const double h = 6.0 * static_cast<double>(k) / static_cast<double>(std::max<std::size_t>(n, 1));
  const double s = k % 2 ? 0.55 : 0.72, l = k % 2 ? 0.66 : 0.76;  // neighbours differ in lightness too
  const double c = (1 - std::abs(2 * l - 1)) * s, x = c * (1 - std::abs(std::fmod(h, 2) - 1)), m = l - c / 2;
  constexpr int order[6][3] = {{2, 1, 0}, {1, 2, 0}, {0, 2, 1}, {0, 1, 2}, {1, 0, 2}, {2, 0, 1}};
  const double of[3] = {m, m + x, m + c};
  char text[8];
  const auto& o = order[static_cast<int>(h) % 6];
  std::snprintf(text, sizeof text, "#%02lx%02lx%02lx", std::lround(255 * of[o[0]]), std::lround(255 * of[o[1]]),
                std::lround(255 * of[o[2]]));
  return text;
}

/// The trees of all parts and batches of a tensor, side by side, with their values in one line.
class TreeRow {
 public:
  TreeRow(const Tensor& t, int limit) {
    for (int k = 0; k < t.num_parts(); ++k) {
      const Part& part = t.part(k);
      const std::int64_t n = batches(part);
      for (std::int64_t b = 0; b < std::min(n, most_batches); ++b) {
        std::string name = t.num_parts() > 1 ? "part " + std::to_string(k) + " · " + name_or_text(part.format) : "";
        if (n > 1) name += (name.empty() ? "batch " : ", batch ") + std::to_string(b) + " of " + std::to_string(n);
        trees_.push_back({StorageTree(part, t.type(), b, limit), width_ + (trees_.empty() ? 0 : aside), name});
        const PlacedTree& p = trees_.back();
        width_ = p.x + std::max(p.tree.width(), char_width * columns(name));
        height_ = std::max(height_, p.tree.height());
        named_ |= !name.empty();
      }
    }
  }

  double width() const { return width_; }
  double height() const { return height_ + (named_ ? 26 : 0); }
  bool truncated() const {
    return std::any_of(trees_.begin(), trees_.end(), [](const PlacedTree& p) { return p.tree.truncated(); });
  }

  template <class F> void each(F&& f) const {
    for (const PlacedTree& p : trees_)
      for (const auto& leaf : p.tree.leaves())
        if (leaf.slot == SlotKind::value || leaf.slot == SlotKind::zero)
          f(leaf, p.x + leaf.x + p.tree.cell_width() / 2);
  }

  void draw(Svg& svg, double y, const StorageTree::Style& style) const {
    for (const PlacedTree& p : trees_) {
      const double top = style.upside_down ? y : y + height() - p.tree.height();
      if (!p.name.empty()) svg.text(p.x, style.upside_down ? top + p.tree.height() + 22 : top - 14, p.name, "bold ink");
      p.tree.draw(svg, p.x, top, style);
    }
  }

 private:
  struct PlacedTree {
    StorageTree tree;
    double x;
    std::string name;
  };
  static constexpr std::int64_t most_batches = 3;
  std::vector<PlacedTree> trees_;
  double width_ = 0, height_ = 0;
  bool named_ = false;
};

class ConversionPicture : public Picture::Source {
 public:
  ConversionPicture(const Tensor& before, const Tensor& after, int limit)
      : before_(before), after_(after), limit_(limit > 0 ? limit : default_limit) {}

  std::string text(int width) const override {
    width = std::max(width, 24);
    return draw_storage_text(before_, width) + repeat(" ", std::min(width, 50) / 2) + "↓\n" +
           draw_storage_text(after_, width);
  }

  std::string svg(Theme theme) const override {
    const TreeRow above(before_, limit_), below(after_, limit_);
    using Where = std::vector<std::int64_t>;
    std::map<Where, std::size_t> number_of;  // elements by their place, in row-major order
    above.each([&](const auto& leaf, double) { number_of.emplace(leaf.at, 0); });
    below.each([&](const auto& leaf, double) { number_of.emplace(leaf.at, 0); });
    std::size_t n = 0;
    for (auto& [at, k] : number_of) k = n++;
    const auto colour = [&](const StorageTree::DrawnLeaf& leaf) {
      const auto found =
          leaf.slot == SlotKind::value || leaf.slot == SlotKind::zero ? number_of.find(leaf.at) : number_of.end();
      return found == number_of.end() ? std::string() : hue(found->second, n);
    };

    Svg svg;
    double width = std::max(above.width(), below.width());
    double y = svg_heading(svg, before_, width);
    const double y_above = y, y_below = y_above + above.height() + between;
    svg.open("data-ribbons=\"\"");
    above.each([&](const auto& leaf, double x) {
      below.each([&](const auto& other, double x2) {
        if (other.at != leaf.at) return;
        const double y1 = y_above + above.height(), y2 = y_below, middle = (y1 + y2) / 2;
        svg.path("M" + number(x) + " " + number(y1) + "C" + number(x) + " " + number(middle) + " " + number(x2) + " " +
                     number(middle) + " " + number(x2) + " " + number(y2),
                 "ribbon", " style=\"stroke:" + colour(leaf) + "\"");
      });
    });
    svg.close();
    svg.open("data-side=\"before\"");
    above.draw(svg, y_above, {.upside_down = false, .colour = colour});
    svg.close();
    svg.open("data-side=\"after\"");
    below.draw(svg, y_below, {.upside_down = true, .colour = colour});
    svg.close();
    y = y_below + below.height() + 26;
    svg.open("transform=\"translate(0 " + number(y) + ")\"");
    y += svg_heading(svg, after_, width);
    svg.close();
    std::string words = "One colour an element, before and after.";
    if (above.truncated() || below.truncated()) words += " Cut: draw_conversion(a, b, limit) shows more.";
    svg.text(0, y + 2, words, "muted small");
    width = std::max(width, small_width * columns(words));
    return svg.finish(width, y + 6,
                      "A conversion: " + name_or_text(before_.format()) + " to " + name_or_text(after_.format()),
                      theme);
  }

 private:
  static constexpr int default_limit = 24;

  const Tensor before_, after_;
  const int limit_;
};

}  // namespace

Picture draw_conversion(const Tensor& before, const Tensor& after, int limit) {
  if (before.shape() != after.shape())
    throw TensorError({.what = "a conversion does not change the shape",
                       .expected = shape_text(before.shape()),
                       .got = shape_text(after.shape())});
  return Picture(std::make_shared<ConversionPicture>(before, after, limit));
}

}  // namespace strata
