#pragma once
// The general path of conversion: elements as (level coordinates of the target, value), sorted, combined, built into
// levels.
#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "convert/radix_sort.h"
#include "strata/convert.h"
#include "tensor/tensor_impl.h"

namespace strata::conversion {

/// A chunk of elements: dims[d][k] are dimension coordinates, values are packed one behind the other.
struct ElementChunk {
  int n = 0;
  const std::int64_t* const* dims = nullptr;
  const char* values = nullptr;
};
using Sink = std::function<void(const ElementChunk&)>;
/// Calls its sink with all elements, in any order, duplicates included.
struct ElementSource {
  std::function<void(const Sink&)> emit;
  std::int64_t at_most = 0;  ///< how many there may be, where a good bound is known: only a hint
};

/// Level coordinates as bit fields of as few 64-bit words as hold them, first level on top: comparing words compares
/// coordinates.
struct KeyLayout {
  struct Field {
    int word = 0, shift = 0, bits = 0;
    std::int64_t lo = 0;
  };
  std::vector<Field> fields;
  std::vector<int> used;  ///< bits in use per word; its size is the number of words (at least 1)

  explicit KeyLayout(std::span<const LevelRange> ranges);
  std::int64_t coordinate(const std::vector<PodArray<std::uint64_t>>& keys, std::size_t level, std::size_t e) const {
    const Field& f = fields[level];
    if (f.bits == 0) return f.lo;
    const std::uint64_t mask = f.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << f.bits) - 1;
    return f.lo + static_cast<std::int64_t>(keys[static_cast<std::size_t>(f.word)][e] >> f.shift & mask);
  }
};

/// Elements for one target part.
class Elements {
 public:
  Elements(const Format& part_format, const Shape& shape, DType dtype);

  void reserve(std::int64_t n);
  void append(const ElementChunk& chunk);
  /// Where each element stands in the order of level coordinates: stable, so that duplicates stay in the order in which
  /// they came. The key of an item is its first word.
  PodArray<SortItem> order() const;
  bool same_place(std::size_t a, std::size_t b) const {
    return std::ranges::all_of(keys_, [&](const auto& words) { return words[a] == words[b]; });
  }
  /// Sorts by level coordinates and adds up duplicates, in the order in which they came (many of them in pairs).
  void sort_and_combine();

  const Format& format() const { return format_; }
  const std::vector<LevelRange>& ranges() const { return ranges_; }
  std::int64_t size() const { return static_cast<std::int64_t>(keys_[0].size()); }
  std::int64_t coordinate(std::size_t level, std::int64_t e) const {
    return layout_.coordinate(keys_, level, static_cast<std::size_t>(e));
  }
  void column(std::size_t level, std::int64_t begin, std::int64_t end, std::int64_t* out) const;
  /// First level in which each element differs from the one before (0 for the first element).
  PodArray<std::uint8_t> differs() const;
  bool sorted() const { return sorted_; }
  const KeyLayout& layout() const { return layout_; }
  /// All level coordinates of an element, where one word holds them (layout().used.size() == 1).
  std::uint64_t key(std::int64_t e) const { return keys_[0][static_cast<std::size_t>(e)]; }
  const char* values() const { return values_.data(); }
  std::size_t width() const { return width_; }
  DType dtype() const { return dtype_; }

 private:
  int sorted_suffix() const;
  void evaluate(int node, const ElementChunk& chunk, std::int64_t* out, std::size_t depth);

  Format format_;
  std::vector<LevelRange> ranges_;
  KeyLayout layout_;
  DType dtype_;
  std::size_t width_;
  bool sorted_ = true;  ///< strictly ascending so far
  std::vector<PodArray<std::uint64_t>> keys_;
  PodArray<char> values_;
  std::vector<std::vector<std::int64_t>> scratch_;
};

/// What a target is built with.
struct ConversionTarget {
  Format format;
  Shape shape;
  Scalar fill;  ///< in the source's dtype
  ConvertOptions options;
  DType crd_dtype = DType::i32;  ///< decided from the extents, or as asked for
};

/// The arrays of one part; pos still in 64 bits. `padded` levels without a number get the longest row.
Part build_part(const Elements& elements, const ConversionTarget& target);

/// A whole target: collects, sorts, splits into parts, builds, and casts.
Tensor assemble(const ElementSource& source, DType dtype, const Scalar& fill, const Shape& shape, const Format& format,
                const ConvertOptions& options);

/// Values of another dtype in the same places, slot by slot.
Tensor with_dtype(const Tensor& t, DType dtype);

/// In-range slots of a tensor; those with the bits of the fill stay away where `zeros` says so. What lies outside of a
/// box, one range a dimension, may stay away too.
ElementSource stored_elements(const Tensor& t, Zeros zeros, std::vector<LevelRange> box = {});

/// Sends each element to a part: returns for each element (sorted by row-major coordinates) the number of its part. May
/// set the number of slots of padded levels in `parts`.
PodArray<std::uint8_t> split_elements(const Elements& elements, std::vector<Format>& parts,
                                      const ConversionTarget& target);

/// A split has a meaning, and there are parts to split into. TensorError.
void check_split(const Split& split, const Format& format);
/// The index dtypes that conversion chooses where none is asked for.
DType automatic_crd_dtype(const Format& format, const Shape& shape);
/// A format with another argument at one level of one part.
Format with_argument(const Format& format, int level, std::int64_t arg);
/// The sum of single-part formats.
Format join(std::span<const Format> parts);
/// (d0, d1) -> (d0 : dense, d1 : dense)
Format dense_format(int rank);
/// A compressed level per dimension, these in their order; the first one dense where that is asked for.
Format levels_in_order(std::span<const int> dims, bool dense_top, std::size_t dense_tail = 0);
/// Can it hold any pattern? Fixed numbers of slots, and of batches, cannot.
bool takes_any(const Format& format);
/// Does crd of this dtype hold every coordinate of the level's range? TensorError where it could hold none of them.
bool all_coordinates_fit(const Level& level, int index, const LevelRange& r, DType dtype);
[[noreturn]] void coordinate_does_not_fit(const Level& level, int index, std::int64_t c, DType dtype);
[[noreturn]] void position_does_not_fit(const Level& level, int index, std::int64_t entry, DType dtype);
/// Casts 64-bit pos arrays to the type's pos_dtype (TensorError where a position does not fit).
void narrow_positions(std::vector<Part>& parts, DType dtype);

}  // namespace strata::conversion
