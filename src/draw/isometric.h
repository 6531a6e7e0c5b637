#pragma once
// Cubes seen from a corner, each with what is not hidden by those in front.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "strata/draw.h"

namespace strata::pictures {

/// A grid of cells seen along its diagonal: k runs to the right and down, i to the left and down, j straight down, as
/// rows and columns of a matrix do on the slice that faces right.
class Isometric {
 public:
  /// `shade`: per cell (row-major over i, j, k) 0 where nothing is, otherwise what colours it.
  Isometric(std::span<const std::int64_t> bins, std::span<const std::uint8_t> shade);

  /// The path of all that is seen of cells of this shade: face 0 the top, 1 the right side, 2 the left side. At most
  /// two triangles a unit of the picture, whatever lies behind. `unit`: the edge of a cell.
  std::string path(int shade, int face, double unit) const;
  /// Where the corner (i, j, k) is drawn.
  static std::pair<double, double> at(double i, double j, double k, double unit);

 private:
  struct Fragment {
    std::int64_t depth = INT64_MIN;
    std::uint8_t shade = 0, face = 0;
  };
  Fragment& triangle(std::int64_t p, std::int64_t q, int half) {
    return seen_[static_cast<std::size_t>((p * height_ + q) * 2 + half)];
  }
  std::int64_t width_, height_;
  std::vector<Fragment> seen_;
};

}  // namespace strata::pictures
