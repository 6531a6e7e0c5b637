#pragma once
// A small writer of SVG: rectangles, lines and texts with classes, and one palette for all pictures, light and dark.
//
// Colours stand in a style sheet whose rules reach only into the picture (several may stand in one HTML page); it has
// the rules that the picture uses. Renderers that know no media queries take the light colours. No ids, no scripts.
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "strata/draw.h"

namespace strata::pictures {

inline constexpr double char_width = 7.9;   ///< of the 13-pixel digits in cells: the widest of the usual monospaces
inline constexpr double small_width = 6.7;  ///< of 11-pixel texts
inline constexpr int level_colours = 8, shades = 6;

/// At most two decimals, none that are zero.
std::string number(double x);
/// &, <, >, quotes and what XML does not allow.
std::string escaped(std::string_view text);
/// "l3": the colour of a level or a part.
std::string level_class(int level);

class Svg {
 public:
  /// `classes`: words of the style sheet, separated by spaces. `more`: further attributes, written as they are.
  void rect(double x, double y, double w, double h, std::string_view classes, double radius = 3,
            std::string_view more = "");
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void path(std::string_view d, std::string_view classes, std::string_view more = "");
  void text(double x, double y, std::string_view words, std::string_view classes);
  /// A group: `attributes` as they are ("data-level=\"1\""), `title` shown under the pointer.
  void open(std::string_view attributes = "", std::string_view title = "");
  void close();
  /// A cell: a rectangle with a text in its middle, and what the pointer shows.
  void cell(double x, double y, double w, double h, std::string_view words, std::string_view classes,
            std::string_view attributes, std::string_view title, std::string_view more = "");

  /// The whole file around what was written: a page of that size with a margin. `words` describe it to those who do not
  /// see it.
  std::string finish(double width, double height, std::string_view words, Theme theme) const;

 private:
  std::string body_;
  std::set<std::string, std::less<>> used_;
  void use(std::string_view classes);
};

/// Name, format and facts of a tensor above its picture; returns the height they take. `width` grows to hold them.
double svg_heading(Svg& svg, const Tensor& t, double& width);

/// A row of swatches with words; returns the x behind it.
class Legend {
 public:
  Legend(Svg& svg, double x, double y) : svg_(svg), x_(x), y_(y) {}
  void add(std::string_view classes, std::string_view words, std::string_view more = "");
  double right() const { return x_; }

 private:
  Svg& svg_;
  double x_, y_;
};

}  // namespace strata::pictures
