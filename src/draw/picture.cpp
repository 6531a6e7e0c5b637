#include <ostream>

#include "io/file.h"
#include "strata/draw.h"

namespace strata {

Theme parse_theme(std::string_view name) {
  constexpr std::string_view names[] = {"auto", "light", "dark"};
  for (int k = 0; k < 3; ++k)
    if (name == names[k]) return static_cast<Theme>(k);
  throw Error({.what = "no theme of that name", .expected = "auto, light, dark", .got = std::string(name)});
}

void Picture::save(const std::string& path, Theme theme) const {
  const std::size_t dot = path.rfind('.');
  const std::string suffix = dot == std::string::npos ? "" : path.substr(dot);
  std::string content;
  if (suffix == ".svg") content = svg(theme);
  else if (suffix == ".txt") content = text();
  else
    throw FileError({.what = "a picture is written as SVG or as text",
                     .expected = "'.svg' or '.txt'",
                     .got = "'" + path + "'",
                     .fix = "write the SVG and convert it (rsvg-convert, Inkscape); from Python, save('x.png') and "
                            "save('x.pdf') do so"});
  io::write_text(path, content);
}

std::ostream& operator<<(std::ostream& out, const Picture& picture) { return out << picture.text(); }

}  // namespace strata
