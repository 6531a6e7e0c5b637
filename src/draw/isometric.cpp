// Along the line of sight cells (i, j, k) and (i + 1, j - 1, k + 1) fall on each other, the latter in front. So the
// picture is a lattice of p = k + j and q = i + j, each of whose unit squares is two triangles:
//
//   half 0: (p, q), (p + 1, q), (p + 1, q + 1)        half 1: (p, q), (p, q + 1), (p + 1, q + 1)
//
// and a cell covers six of them. What lies in front keeps a triangle; that is all the hiding there is to do.
#include "draw/isometric.h"

#include "draw/svg.h"

namespace strata::pictures {

Isometric::Isometric(std::span<const std::int64_t> bins, std::span<const std::uint8_t> shade)
    : width_(bins[2] + bins[1] + 1),
      height_(bins[0] + bins[1] + 1),
      seen_(static_cast<std::size_t>(width_ * height_ * 2)) {
  std::size_t at = 0;
  for (std::int64_t i = 0; i < bins[0]; ++i)
    for (std::int64_t j = 0; j < bins[1]; ++j)
      for (std::int64_t k = 0; k < bins[2]; ++k, ++at) {
        if (shade[at] == 0) continue;
        const std::int64_t p = k + j, q = i + j, depth = k + i - j;
        const auto cover = [&](std::int64_t dp, std::int64_t dq, int half, std::uint8_t face) {
          Fragment& s = triangle(p + dp, q + dq, half);
          if (depth > s.depth) s = {depth, shade[at], face};
        };
        cover(0, 0, 0, 0), cover(0, 0, 1, 0);
        cover(1, 0, 1, 1), cover(1, 1, 0, 1);
        cover(0, 1, 0, 2), cover(1, 1, 1, 2);
      }
}

std::pair<double, double> Isometric::at(double i, double j, double k, double unit) {
  constexpr double cos30 = 0.866;
  return {(k - i) * cos30 * unit, ((k + i) / 2 + j) * unit};
}

std::string Isometric::path(int shade, int face, double unit) const {
  std::string d;
  const auto corner = [&](std::int64_t p, std::int64_t q) {
    const auto [x, y] = at(static_cast<double>(q), 0, static_cast<double>(p), unit);
    return number(x) + " " + number(y);
  };
  for (std::int64_t p = 0; p < width_; ++p)
    for (std::int64_t q = 0; q < height_; ++q) {
      const auto seen = [&](int half) {
        const Fragment& s = seen_[static_cast<std::size_t>((p * height_ + q) * 2 + half)];
        return s.shade == shade && s.face == face;
      };
      const bool upper = seen(0), lower = seen(1);
      if (!upper && !lower) continue;
      d += "M" + corner(p, q) + "L";
      if (upper) d += corner(p + 1, q) + " ";
      d += corner(p + 1, q + 1);
      if (lower) d += " " + corner(p, q + 1);
      d += "z";
    }
  return d;
}

}  // namespace strata::pictures
