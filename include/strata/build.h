#pragma once
// Tensors from triplets: gathered by several threads, or the same places filled again and again.
#include <memory>
#include <optional>
#include <span>

#include "strata/convert.h"

namespace strata {

/// Coordinates and values, gathered in bulk by any number of threads; a tensor is made of them at the end.
///
///     Builder b({1000, 1000}, DType::f64);
///     b.add({rows, columns}, values, chunk);      // from any thread; `chunk` makes the sums the same on every run
///     Tensor a = b.build("CSR");
class Builder {
 public:
  explicit Builder(Shape shape, DType dtype = DType::f64);

  /// Takes a copy: coords[d][k] is the d-th coordinate of element k, values are cast to the builder's dtype (as NumPy's
  /// same_kind). Duplicates are added by ascending `order`, those of one order as they arrived: where threads race,
  /// an order of one's own (the number of the chunk) makes results repeatable to the bit. TensorError, DTypeError,
  /// IndexError: then nothing was added.
  void add(std::span<const Buffer> coords, const Buffer& values, std::int64_t order = 0);
  void add(const std::vector<Array>& coords, const Array& values, std::int64_t order = 0) {
    add(buffers(coords), values.buffer, order);
  }
  std::int64_t size() const;  ///< elements so far, duplicates included
  const Shape& shape() const;
  DType dtype() const;
  /// from_coo of all so far. More may be added afterwards, also meanwhile.
  Tensor build(const Format& format, const ConvertOptions& options = {}, std::optional<Scalar> fill = {}) const;
  Tensor build(std::string_view format = "COO") const {
    return build(parse_format(format, static_cast<int>(shape().size())));
  }
  void clear();  ///< forgets all elements

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

/// A pattern that is filled again and again: where each value goes is found once, and each tensor costs one pass over
/// its values. Tensors share the pattern's arrays. Immutable; thread safe.
///
///     Assembly stiffness({rows, columns}, {n, n}, "CSR");
///     Tensor a = stiffness(values);        // = from_coo({rows, columns}, values, {n, n}, "CSR"), to the bit
class Assembly {
 public:
  /// As from_coo: any order, duplicates, any format that it can build. A sum of formats is split as for float64,
  /// whatever values come. Of `options` zeros= must stay as it is: which places there are depends on no values.
  Assembly(std::span<const Buffer> coords, const Shape& shape, const Format& format,
           const ConvertOptions& options = {});

  Assembly(const std::vector<Array>& coords, const Shape& shape, std::string_view format = "CSR")
      : Assembly(buffers(coords), shape, parse_format(format, static_cast<int>(shape.size()))) {}

  /// A value for each of the coordinates, duplicates added in their order (many of them in pairs). `fill`: of absent
  /// elements, 0 unless told. TensorError: another number of values.
  Tensor assemble(const Buffer& values, std::optional<Scalar> fill = {}) const;
  Tensor operator()(const Array& values) const { return assemble(values.buffer); }
  std::int64_t size() const;  ///< values that assemble() takes
  std::int64_t nse() const;   ///< of its tensors
  const Shape& shape() const;
  std::optional<DType> dtype() const;  ///< of its tensors, where one was asked for; otherwise that of the values
  const Format& format() const;        ///< of its tensors

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace strata
