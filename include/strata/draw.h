#pragma once
// Pictures of tensors: each prints as text, and is SVG for everything else.
//
//     draw(t).save("t.svg");                       // up to 3 dimensions: what stands where
//     std::cout << draw_storage(t);                // any dimension: pos, crd and values of every level
//     draw_raw(t);                                 // millions of rows: how densely which part is stored
//     draw_conversion(t, convert(t, "BSR(2, 2)"))  // where the elements go
#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "strata/tensor.h"

namespace strata {

/// Colours of an SVG. `automatic` follows the reader's system (prefers-color-scheme); the other two are fixed, for
/// renderers that know no media queries, and for print.
enum class Theme : std::uint8_t { automatic, light, dark };
/// "auto", "light", "dark". Error: no such theme.
Theme parse_theme(std::string_view name);

/// A picture: an immutable value. Texts are made when they are asked for.
class Picture {
 public:
  /// For a terminal: no line is wider than `width` columns (at least 24).
  std::string text(int width = 100) const { return source_->text(width); }
  /// A whole SVG file, legible on light and dark pages alike, without scripts, fonts or anything from elsewhere.
  std::string svg(Theme theme = Theme::automatic) const { return source_->svg(theme); }
  /// Writes "x.svg", or "x.txt" with the text; whole or not at all. FileError: another suffix, or the file cannot be
  /// written.
  void save(const std::string& path, Theme theme = Theme::automatic) const;

  /// What a picture is made from; one class for each kind.
  struct Source {
    virtual ~Source() = default;
    virtual std::string text(int width) const = 0;
    virtual std::string svg(Theme theme) const = 0;
  };
  explicit Picture(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

 private:
  std::shared_ptr<const Source> source_;
};
/// Prints the text.
std::ostream& operator<<(std::ostream& out, const Picture& picture);

/// The elements on the grid of a tensor of at most 3 dimensions: what is stored is grey with its value, stored zeros
/// apart from absent elements, fill-in red; of a sum a colour for each part. Of longer dimensions than `limit` the
/// first and the last coordinates (0: 24, of three dimensions 10). TensorError: more dimensions.
Picture draw(const Tensor& t, int limit = 0);

/// The storage, level by level: positions and their pos and crd, values, lines from parents to their children, fill-in
/// red, slots outside the tensor empty. Of longer ones the first `limit` slots (0: 32).
Picture draw_storage(const Tensor& t, int limit = 0);

/// The structure of a tensor of at most 3 dimensions and any size, as a picture of at most `size` pixels a dimension
/// (0: 256; three dimensions 48, isometric). The darker, the more elements are stored there; fill-in does not count.
/// One pass over the storage; memory for the picture alone. TensorError: more dimensions.
Picture draw_raw(const Tensor& t, int size = 0);

/// A tensor before and after a conversion, storage to storage; the same element has the same colour in both. Of longer
/// ones the first `limit` slots (0: 24). TensorError: other shapes.
Picture draw_conversion(const Tensor& before, const Tensor& after, int limit = 0);

/// How many elements are stored in each cell of a coarse grid over a tensor.
struct Density {
  std::vector<std::int64_t> cell;    ///< coordinates that a cell spans, per dimension
  std::vector<std::int64_t> bins;    ///< cells, per dimension
  std::vector<std::int64_t> counts;  ///< per cell, row-major
  std::int64_t stored = 0;           ///< elements counted: the sum of counts
  std::int64_t fill_in = 0;          ///< slots left out, as they hold the fill in a format that can hold fill-in
};
/// What draw_raw draws, of any rank: cells of equal width, at most `size` along the longest dimension, and square where
/// that leaves the others at least an eighth of it.
Density density(const Tensor& t, int size = 256);

/// The storage as text for a terminal: a row per pos, crd and values array, level by level. At most `width` columns.
std::string draw_storage_text(const Tensor& t, int width = 100);

}  // namespace strata
