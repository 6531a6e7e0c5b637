#pragma once
// A tensor is a type and its buffers. Both are immutable values; copies share memory.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/buffer.h"
#include "strata/dtype.h"
#include "strata/format.h"

namespace strata {

using Shape = std::vector<std::int64_t>;

/// All that planning may look at: never data.
struct TensorType {
  Format format;
  Shape shape;
  DType dtype = DType::f64;
  DType pos_dtype = DType::i32, crd_dtype = DType::i32;
  Scalar fill;  ///< the value of absent elements, in dtype
  Device device;
  /// All-dense formats: what the type records of each level's stride (empty: as row-major in level order gives it).
  enum class Stride : std::uint8_t { general, unit, broadcast };
  std::vector<Stride> strides;
  bool shared_value = false;  ///< values have stride 0: every slot has the same value
  bool operator==(const TensorType&) const = default;
  std::size_t hash() const;
  std::string to_string() const;  ///< "CSR 4 x 8, float64, pos int32, crd int32"
};

/// Arrays of one level. Levels without a pos or crd array leave them empty. Packed levels (delta, structured) keep crd
/// as a little-endian bit stream in u8 (8 bytes of slack behind it); bitmap keeps its bits in crd as u64 words.
struct LevelArrays {
  Buffer pos, crd;
};

/// One part: a format without "+", its level arrays and the values of its slots.
struct Part {
  Format format;
  std::vector<LevelRange>
      ranges;  ///< per level: the coordinates it ranges over (run-time sizes; a padded level's slots are its arg)
  std::vector<LevelArrays> levels;
  Buffer values;  ///< one per slot of the last level (all-dense: where coordinate `lo` of every level is at
                  ///< `values_offset`)
  /// All-dense parts: element stride of each level (may be 0 or negative). Otherwise empty: slot p is values[p *
  /// value_stride].
  std::vector<std::int64_t> strides;
  std::int64_t values_offset = 0;  ///< elements, all-dense parts with negative strides
  std::int64_t value_stride = 1;   ///< 0: every slot has the same value (pattern-only graphs)
  /// Batched parts: elements between the arrays of consecutive batches (the batch levels are flattened, row-major).
  std::int64_t num_batches = 1;
  std::vector<std::int64_t> pos_strides, crd_strides;  ///< per level, 0 where it has no such array
  std::int64_t values_batch_stride = 0;
};

/// A universal sparse tensor.
class Tensor {
 public:
  Tensor();  ///< the scalar 0.0

  // Of arrays: those that are moved in are taken over, others copied, and all of them checked (TensorError names the
  // level). To borrow, or for any other format: make_tensor(). In any order, with duplicates: from_coo().
  static Tensor csr(std::int64_t rows, std::int64_t columns, Array pos, Array crd, Array values);
  static Tensor csc(std::int64_t rows, std::int64_t columns, Array pos, Array crd, Array values);
  static Tensor coo(const Shape& shape, std::vector<Array> coords, Array values);  ///< sorted, each place once
  /// Blocks of block_rows x block_columns, each row-major.
  static Tensor bsr(std::int64_t rows, std::int64_t columns, std::int64_t block_rows, std::int64_t block_columns,
                    Array pos, Array crd, Array values);
  static Tensor dense(const Shape& shape, Array values);  ///< row-major

  const TensorType& type() const;
  const Format& format() const { return type().format; }
  const Shape& shape() const { return type().shape; }
  int rank() const { return static_cast<int>(type().shape.size()); }
  DType dtype() const { return type().dtype; }
  const Scalar& fill() const { return type().fill; }

  int num_parts() const;
  const Part& part(int k = 0) const;
  /// The k-th part of a sum as a tensor.
  Tensor part_tensor(int k) const;

  /// Stored elements: in-range slots, explicit zeros and fill-in included; a sum adds its parts. Cached.
  std::int64_t nse() const;
  /// Bytes of pos, crd (packed as they are) and values that are in use.
  std::int64_t nbytes() const;
  /// Number of elements of the whole tensor; empty where the product exceeds int64.
  std::optional<std::int64_t> size() const;

  /// Checks every invariant of every level in one pass; TensorError names the level. O(stored).
  void validate() const;
  /// The element at these coordinates: nothing where it is absent (a stored 0 is present). Duplicates are added.
  /// IndexError.
  std::optional<Scalar> get(std::span<const std::int64_t> coordinates) const;
  std::optional<Scalar> get(std::initializer_list<std::int64_t> coordinates) const {
    return get(std::span(coordinates.begin(), coordinates.size()));
  }
  /// The element, the fill where it is absent: t({0, 2}).to_double(). IndexError.
  Scalar operator()(std::initializer_list<std::int64_t> coordinates) const { return get(coordinates).value_or(fill()); }

  /// pos and crd of a level of a single-part tensor as index buffers (packed levels unpacked into fresh memory; bitmap:
  /// the coordinates).
  Buffer pos(int level) const;
  Buffer crd(int level) const;
  Buffer values() const;  ///< TensorError for a sum

  /// The same storage under other dimension names or permuted dimensions; nothing moves.
  Tensor transpose(std::span<const int> perm) const;

  struct Impl;
  explicit Tensor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  bool same_object(const Tensor& other) const { return impl_ == other.impl_; }
  bool is_alone() const { return impl_.use_count() == 1; }  ///< does no other tensor share this one's everything?

 private:
  std::shared_ptr<const Impl> impl_;
};

/// What a caller hands in to build a tensor from raw arrays: per level of a single-part format its pos and crd
/// (unpacked; packing is done here) and the values. Arrays are borrowed where their form allows it.
struct RawArrays {
  std::map<int, Buffer> pos, crd;
  Buffer values;
  std::vector<std::int64_t> strides;  ///< all-dense only: element stride per level; empty: row-major in level order
  std::int64_t values_offset = 0;     ///< all-dense only
  std::int64_t value_stride = 1;      ///< 0 for one value shared by all slots
};

/// A tensor of `format` over the caller's arrays; borrows wherever it can. `check` walks all invariants (TensorError).
/// pos and crd may have any index dtype, but one each over all levels: others are cast (a copy).
Tensor make_tensor(const Format& format, const Shape& shape, RawArrays arrays, std::optional<Scalar> fill = {},
                   bool check = true);
/// Other values, of any dtype, in the same places: one for each slot of `t`, in the order of t.values(), or with stride
/// 0 one for all. The arrays of the levels are shared, not looked at. TensorError: a sum, another number of values.
Tensor with_values(const Tensor& t, Buffer values, std::int64_t value_stride = 1);
/// Joins single-part tensors of one shape, dtype and fill to a sum.
Tensor make_sum(std::span<const Tensor> parts);
/// Assembles from parts that already obey all invariants (for conversions).
Tensor make_from_parts(TensorType type, std::vector<Part> parts);
/// A dense tensor over strided memory (strides in elements, may be 0 or negative; `data` is the element at all-zero
/// coordinates). The format is dense in order of falling strides; ties resolve to row-major.
Tensor borrow_dense(Buffer data, const Shape& shape, std::span<const std::int64_t> strides, std::int64_t offset = 0);
/// The automatic index dtype for values up to `largest`: i32 where it fits (settings().int32_limit), otherwise i64.
DType index_dtype_for(std::int64_t largest);

/// Calls f(dimension coordinates, values address) for every in-range slot in storage order (part by part; fill-in
/// included). The slow, obvious walk.
void for_each_stored(const Tensor& t, const std::function<void(std::span<const std::int64_t>, const void*)>& f);

/// Is the same stored: structure, coordinates and values bit by bit (outside slots and capacity ignored; index dtypes
/// may differ)? Whether two tensors have the same elements, in whatever formats, says the verb equal(); there is no
/// `==`, which NumPy and all its kin take element by element.
bool same_storage(const Tensor& a, const Tensor& b);
/// The blog's printed form, several lines.
std::string to_string(const Tensor& t);

}  // namespace strata
