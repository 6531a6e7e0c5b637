// Any bytes as the arrays of a tensor: refused with a typed error, or a tensor that every reader can use. The bytes
// choose a format, a shape, dtypes, lengths and contents.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "strata/draw.h"
#include "strata/ops.h"

namespace {

using namespace strata;

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : p_(data), end_(data + size) {}
  std::uint8_t next() { return p_ == end_ ? 0 : *p_++; }
  /// `size` elements of what is left (zeros behind the end), of small numbers where `small`: wild ones are refused too
  /// soon.
  Buffer array(DType dtype, std::int64_t size, bool small) {
    Buffer b = Buffer::zeros(dtype, size);
    const auto width = static_cast<std::int64_t>(size_of(dtype));
    if (small) {
      for (std::int64_t k = 0; k < size; ++k) b.set_index(k, static_cast<std::int8_t>(next()));
      return b;
    }
    for (std::int64_t k = 0; k < size * width; ++k) static_cast<std::uint8_t*>(b.data)[k] = next();
    return b;
  }

 private:
  const std::uint8_t* p_;
  const std::uint8_t* end_;
};

constexpr const char* formats[] = {
    "(i, j) -> (i : dense, j : compressed)",
    "(i, j) -> (j : dense, i : compressed)",
    "(i, j) -> (i : compressed, j : compressed)",
    "(i, j) -> (i : compressed(nonunique), j : singleton)",
    "(i, j) -> (i : compressed(nonunique, unordered), j : singleton(nonunique, unordered))",
    "(i, j) -> (i : dense, j : compressed(nonunique, unordered))",
    "(i, j) -> (i / 2 : dense, j / 3 : compressed, i % 2 : dense, j % 3 : dense)",
    "(i, j) -> (j - i : compressed, i : range)",
    "(i, j) -> (j - i : compressed, j : range)",
    "(i, j) -> (i + j : compressed, i : range)",
    "(i, j) -> (i : dense, j : delta(2))",
    "(i, j) -> (i : compressed, j : delta(5))",
    "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))",
    "(i, j) -> (i : dense, j : padded(3))",
    "(i, j) -> (i / 2 : dense, j / 2 : padded(2), i % 2 : dense, j % 2 : dense)",
    "(i, j) -> (i : dense, j : bitmap)",
    "(i, j) -> (i : compressed, j : bitmap)",
    "(b, i, j) -> (b : batch, i : dense, j : compressed)",
    "(b, i, j) -> (b : batch, j - i : compressed, i : range)",
    "(i, j, k) -> (i : compressed(nonunique), j : singleton(nonunique), k : singleton)",
    "(i, j, k) -> (i : compressed, j : compressed, k : compressed)",
    "TiledCSR(4, 3)",
    "NestedBSR(4, 4, 2, 2)",
    "(i) -> (i : compressed)",
    "(i, j) -> (i : dense, j : dense)",
    "() -> ()",
};
constexpr DType index_types[] = {DType::i32, DType::i64, DType::i8,  DType::u8,
                                 DType::i16, DType::u16, DType::u32, DType::u64};
constexpr DType value_types[] = {DType::f64,     DType::f32, DType::i8,  DType::u8,
                                 DType::boolean, DType::c64, DType::f16, DType::i64};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const Format format = parse_format(formats[bytes.next() % std::size(formats)]);
  const std::uint8_t types = bytes.next(), flags = bytes.next();
  Shape shape;
  // Huge extents, unless that much memory or time is what was asked for: a bitmap takes one bit per coordinate, and one
  // value shared by all slots makes every coordinate a slot (also outside ones, which a walk passes over).
  bool huge = (flags & 4) == 0;
  for (const Level& level : format.levels()) huge &= level.kind != LevelKind::bitmap;
  for (int d = 0; d < format.rank(); ++d) {
    const std::uint8_t extent = bytes.next();
    shape.push_back(!huge           ? extent % 12
                    : extent == 255 ? INT64_MAX
                    : extent == 254 ? std::int64_t{1} << 32
                                    : extent % 12);
  }
  RawArrays raw;
  for (int l = 0; l < format.num_levels(); ++l) {
    const std::uint8_t which = bytes.next();
    if (which & 1) raw.pos[l] = bytes.array(index_types[types % 8], bytes.next() % 16, !(flags & 1));
    if (which & 2) raw.crd[l] = bytes.array(index_types[types / 8 % 8], bytes.next() % 24, !(flags & 2));
  }
  const DType dtype = value_types[flags >> 5];
  raw.values = bytes.array(dtype, bytes.next() % 64, false);
  if (dtype == DType::boolean)
    for (std::int64_t k = 0; k < raw.values.size; ++k) static_cast<std::uint8_t*>(raw.values.data)[k] &= 1;
  if (flags & 4) raw.value_stride = 0;
  try {
    const Tensor t = make_tensor(format, shape, std::move(raw));
    t.validate();
    if (t.nse() > 100000) return 0;  // all-dense of a huge shape over a stride of 0: legal, too long to walk here
    std::int64_t slots = 0;
    for_each_stored(t, [&](std::span<const std::int64_t> c, const void*) {
      for (std::size_t d = 0; d < c.size(); ++d)
        if (c[d] < 0 || c[d] >= shape[d]) std::abort();
      ++slots;
    });
    if (slots != t.nse()) std::abort();
    static_cast<void>(to_string(t));
    static_cast<void>(draw_storage_text(t, 60));
    if (!same_storage(t, t)) std::abort();
    if (t.size() && *t.size() <= 1 << 14) {
      const Tensor dense = convert_general(t, parse_format("dense", t.rank()));
      dense.validate();
      if (dense.nse() != *t.size()) std::abort();
    }
  } catch (const Error&) {}
  return 0;
}
