// Pictures. What Python adds (notebooks, PNG, PDF) stands in strata/_pictures.py.

#include "bind.h"
#include "io/file.h"

namespace strata::bind {

void bind_draw(nb::module_& m) {
  nb::class_<Picture>(m, "Picture", "A picture as the core makes it. strata.Picture is what users see.")
      .def(
          "text",
          [](const Picture& p, int width) {
            const NoGil no_gil;
            return p.text(width);
          },
          nb::arg("width") = 100, "For a terminal of so many columns.")
      .def(
          "svg",
          [](const Picture& p, const std::string& theme) {
            const Theme t = parse_theme(theme);
            const NoGil no_gil;
            return p.svg(t);
          },
          nb::arg("theme") = "auto", "A whole SVG file.");
  m.def(
      "draw",
      [](const Tensor& t, int limit) {
        const NoGil no_gil;
        return draw(t, limit);
      },
      nb::arg("t"), nb::arg("limit") = 0, "The elements on their grid.");
  m.def(
      "draw_storage",
      [](const Tensor& t, int limit) {
        const NoGil no_gil;
        return draw_storage(t, limit);
      },
      nb::arg("t"), nb::arg("limit") = 0, "The storage, level by level.");
  m.def(
      "draw_raw",
      [](const Tensor& t, int size) {
        const NoGil no_gil;
        return draw_raw(t, size);
      },
      nb::arg("t"), nb::arg("size") = 0, "The structure, as a picture of at most `size` pixels a dimension.");
  m.def(
      "draw_conversion",
      [](const Tensor& before, const Tensor& after, int limit) {
        const NoGil no_gil;
        return draw_conversion(before, after, limit);
      },
      nb::arg("before"), nb::arg("after"), nb::arg("limit") = 0, "Before and after a conversion.");
  m.def(
      "write_file",
      [](nb::handle path, const nb::bytes& content) {
        const std::string to = path_of(path);
        std::string all(content.c_str(), content.size());
        const NoGil no_gil;
        io::write_text(to, all);
      },
      nb::arg("path"), nb::arg("content"), "Writes bytes to a file, whole or not at all. FileError.");
  m.def(
      "density",
      [](const Tensor& t, int size) {
        const Density d = [&] {
          const NoGil no_gil;
          return density(t, size);
        }();
        return nb::make_tuple(from_shape(d.cell), to_numpy(Buffer::copy_of<std::int64_t>(d.counts), d.bins), d.stored,
                              d.fill_in);
      },
      nb::arg("t"), nb::arg("size") = 256,
      "Stored elements in each cell of a coarse grid: (coordinates that a cell spans along each dimension, counts, "
      "elements counted, slots left out as they hold the fill).");
}

}  // namespace strata::bind
