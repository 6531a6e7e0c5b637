// Writes .st files: the checksums first, then the header, then the arrays as they lie in memory.
#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <set>

#include "backend/pool.h"
#include "base/checked.h"
#include "base/crc32.h"
#include "io/container.h"
#include "io/file.h"
#include "io/json_reader.h"
#include "strata/io.h"
#include "tensor/tensor_impl.h"

namespace strata {
namespace io {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

std::uint32_t checksum(const void* data, std::int64_t size, std::uint32_t before) {
  constexpr std::int64_t piece = std::int64_t{4} << 20;
  if (size <= piece) return crc32(data, static_cast<std::size_t>(size), before);
  const std::int64_t pieces = ceil_div(size, piece);
  std::vector<std::uint32_t> sums(static_cast<std::size_t>(pieces));
  const auto bytes_of = [&](std::int64_t k) { return static_cast<std::size_t>(std::min(piece, size - k * piece)); };
  parallel_for(pieces, [&](std::int64_t k) {
    sums[static_cast<std::size_t>(k)] = crc32(static_cast<const char*>(data) + k * piece, bytes_of(k));
  });
  for (std::int64_t k = 0; k < pieces; ++k)
    before = crc32_combine(before, sums[static_cast<std::size_t>(k)], bytes_of(k));
  return before;
}

}  // namespace io

namespace {

/// So many zeros, or as many as there are at once.
std::string_view zeros(std::int64_t n) {
  constexpr std::int64_t size = std::int64_t{64} << 10;
  static constexpr char block[size] = {};
  return {block, static_cast<std::size_t>(std::min(n, size))};
}

/// An array as it goes into the file: pieces of memory, and zeros (null) where memory is not in use, so that what
/// happened to lie there is nobody's to read.
struct StoredArray {
  struct MemoryPiece {
    const char* data;
    std::int64_t bytes;
  };
  DType dtype = DType::u8;
  std::int64_t size = 0;
  std::vector<MemoryPiece> pieces;
  Buffer keep;  ///< memory made for the file

  void add(const void* data, std::int64_t elements) {
    if (elements <= 0) return;
    size += elements;
    pieces.push_back({static_cast<const char*>(data), elements * static_cast<std::int64_t>(size_of(dtype))});
  }
  /// `used` elements from `begin` on, and zeros up to `length`.
  void add(const Buffer& from, std::int64_t begin, std::int64_t used, std::int64_t length) {
    used = std::min({used, length, std::max<std::int64_t>(0, from.size - begin)});
    add(static_cast<const char*>(from.data) + begin * static_cast<std::int64_t>(size_of(dtype)), used);
    add(nullptr, length - used);
  }
  std::int64_t bytes() const { return size * static_cast<std::int64_t>(size_of(dtype)); }
};

std::uint32_t checksum(const StoredArray& array) {
  std::uint32_t crc = 0;
  for (const auto& [data, bytes] : array.pieces) {
    if (data) {
      crc = io::checksum(data, bytes, crc);
      continue;
    }
    for (std::int64_t left = bytes; left > 0;) {
      const std::string_view block = zeros(left);
      crc = crc32(block.data(), block.size(), crc);
      left -= static_cast<std::int64_t>(block.size());
    }
  }
  return crc;
}

/// bool is one byte, 0 or 1: others would be read as different truths by different code.
void check_truth_values(const StoredArray& values) {
  if (values.dtype != DType::boolean) return;
  for (const auto& [data, bytes] : values.pieces)
    for (std::int64_t k = 0; data && k < bytes; ++k)
      if (static_cast<unsigned char>(data[k]) > 1)
        throw TensorError({.what = "a truth value that is neither 0 nor 1",
                           .got = std::to_string(static_cast<unsigned char>(data[k]))});
}

/// The values of an all-dense part in the order of its levels without holes; what is broadcast stays one element.
StoredArray dense_values(const Part& part, std::vector<std::int64_t>& strides) {
  const auto width = static_cast<std::int64_t>(size_of(part.values.dtype));
  const std::size_t levels = part.ranges.size();
  const auto plain = row_major_strides(part.ranges);
  const std::vector<std::int64_t> given = part.strides.empty() ? plain : part.strides;
  strides.assign(levels, 0);
  std::int64_t count = 1;
  bool broadcast = false, holes = false;
  for (std::size_t l = levels; l-- > 0;) {
    const std::int64_t extent = part.ranges[l].size;
    if (extent > 1 && given[l] == 0) {
      broadcast = true;
      continue;
    }
    strides[l] = std::max<std::int64_t>(1, count);
    holes |= extent > 1 && given[l] != strides[l];
    count *= extent;  // no more than memory holds
  }
  for (const LevelRange& range : part.ranges)
    if (range.size == 0) count = 0;
  StoredArray out;
  out.dtype = part.values.dtype;
  if (!broadcast) strides.clear();
  if (!holes) {
    out.add(part.values, part.values_offset, count, count);
    return out;
  }
  out.keep = Buffer::allocate(out.dtype, count);
  // Runs along the last level, by an odometer over the others.
  std::vector<std::size_t> order;
  for (std::size_t l = 0; l < levels; ++l)
    if (part.ranges[l].size > 1 && given[l] != 0) order.push_back(l);
  std::vector<std::int64_t> at(order.size(), 0);
  const auto* from = static_cast<const char*>(part.values.data);
  auto* to = static_cast<char*>(out.keep.data);
  std::int64_t place = part.values_offset;
  for (std::int64_t k = 0; k < count; ++k) {
    if (k % 65536 == 0) poll_interrupt();
    std::memcpy(to + k * width, from + place * width, static_cast<std::size_t>(width));
    for (std::size_t d = order.size(); d-- > 0;) {
      const std::int64_t extent = part.ranges[order[d]].size, stride = given[order[d]];
      place += stride;
      if (++at[d] < extent) break;
      place -= stride * extent;
      at[d] = 0;
    }
  }
  out.add(out.keep.data, count);
  return out;
}

/// Collects the header's text and the arrays that it names.
class Writer {
 public:
  std::string header;
  std::deque<StoredArray> arrays;

  explicit Writer(const NamedTensors& tensors) {
    header = "{\"strata\": 1, \"tensors\": [";
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      header += k ? ",\n" : "\n";
      tensor(tensors[k].first, tensors[k].second);
    }
    header += "\n]}";
    const std::int64_t end = io::container_start + static_cast<std::int64_t>(header.size());
    header.append(static_cast<std::size_t>(io::align_up(end) - end), ' ');
  }

 private:
  void array(StoredArray stored) {
    offset_ = io::align_up(offset_);
    header += "{\"dtype\": \"" + std::string(name_of(stored.dtype)) + "\", \"offset\": " + std::to_string(offset_) +
              ", \"size\": " + std::to_string(stored.size) + ", \"crc32\": " + std::to_string(checksum(stored)) + "}";
    const auto end = checked_add(offset_, stored.bytes());
    if (!end) throw FileError({.what = "arrays of more bytes than 63 bits count"});
    offset_ = *end;
    arrays.push_back(std::move(stored));
  }

  void tensor(const std::string& name, const Tensor& t) {
    const TensorType& type = t.type();
    header +=
        "{\"name\": " + io::to_json(name) + ", \"format\": " + io::to_json(t.format().to_string()) + ", \"shape\": [";
    for (std::size_t d = 0; d < type.shape.size(); ++d) header += (d ? ", " : "") + std::to_string(type.shape[d]);
    header += "],\n \"dtype\": \"" + std::string(name_of(type.dtype)) + "\", \"pos_dtype\": \"" +
              std::string(name_of(type.pos_dtype)) + "\", \"crd_dtype\": \"" + std::string(name_of(type.crd_dtype)) +
              "\", \"fill\": \"";
    for (std::size_t k = 0; k < size_of(type.fill.dtype); ++k) {
      constexpr char digits[] = "0123456789abcdef";
      header += digits[type.fill.bits[k] >> 4];
      header += digits[type.fill.bits[k] & 15];
    }
    header += "\",\n \"parts\": [";
    for (int k = 0; k < t.num_parts(); ++k) {
      header += k ? ",\n  " : "\n  ";
      part(t.part(k), type);
    }
    header += "]}";
  }

  void part(const Part& given, const TensorType& type) {
    const bool strided = !given.format.is_all_dense() && given.value_stride > 1;
    if (strided && batch_levels(given) > 0)
      throw Unsupported({.what = "values of batches that do not lie side by side are not saved",
                         .fix = "copy them first: t.with_values(values)"});
    const Part p = strided ? with_own_values(given, type.dtype) : given;
    const bool dense = p.format.is_all_dense();
    const std::size_t levels = p.ranges.size();
    std::vector<StoredArray> pos(levels), crd(levels);
    StoredArray values;
    values.dtype = type.dtype;
    std::vector<std::int64_t> strides;
    if (dense) {
      values = dense_values(p, strides);
    } else {
      lay_out(p, pos, crd, values);
    }
    check_truth_values(values);
    header += "{\"levels\": [";
    for (std::size_t l = 0; l < levels; ++l) {
      const LevelKind kind = p.format.level(static_cast<int>(l)).kind;
      header += l ? ", {" : "{";
      if (storage::has_pos(kind)) header += "\"pos\": ", array(std::move(pos[l])), header += ", ";
      if (storage::has_crd(kind)) header += "\"crd\": ", array(std::move(crd[l]));
      header += "}";
    }
    header += "], \"values\": ";
    array(std::move(values));
    if (!dense && p.value_stride == 0) header += ", \"value_stride\": 0";
    if (!strides.empty()) {
      header += ", \"strides\": [";
      for (std::size_t l = 0; l < strides.size(); ++l) header += (l ? ", " : "") + std::to_string(strides[l]);
      header += "]";
    }
    header += "}";
  }

  /// What of each array is in use, batch by batch; capacity beyond it is kept as zeros.
  static void lay_out(const Part& p, std::vector<StoredArray>& pos, std::vector<StoredArray>& crd,
                      StoredArray& values) {
    const bool batched = batch_levels(p) > 0;
    for (std::size_t l = 0; l < p.ranges.size(); ++l) {
      pos[l].dtype = p.levels[l].pos.dtype;
      crd[l].dtype = p.levels[l].crd.dtype;
    }
    for (std::int64_t b = 0; b < batches(p); ++b) {
      if (b % 1024 == 0) poll_interrupt();
      const auto views = level_views(p, b);
      const auto counts = level_counts(p, views);
      for (std::size_t l = static_cast<std::size_t>(batch_levels(p)); l < views.size(); ++l) {
        const LevelArrays& arrays = p.levels[l];
        const LevelKind kind = views[l].level.kind;
        if (storage::has_pos(kind))
          pos[l].add(arrays.pos, b * p.pos_strides[l], counts[l] + 1, batched ? p.pos_strides[l] : arrays.pos.size);
        if (!storage::has_crd(kind)) continue;
        const std::int64_t used = views[l].bits ? packed_bytes(counts[l + 1], views[l].bits)
                                                : storage::crd_entries(views[l], counts[l], counts[l + 1]);
        crd[l].add(arrays.crd, b * p.crd_strides[l], used, batched ? p.crd_strides[l] : arrays.crd.size);
      }
      if (p.value_stride == 0) {
        if (b == 0) values.add(p.values, 0, 1, std::min<std::int64_t>(1, p.values.size));
      } else {
        values.add(p.values, b * p.values_batch_stride, counts.back(), batched ? p.values_batch_stride : p.values.size);
      }
    }
  }

  std::int64_t offset_ = 0;
};

}  // namespace

void save(const std::string& path, const NamedTensors& tensors) {
  std::set<std::string> names;
  for (const auto& [name, t] : tensors) {
    if (!io::is_utf8(name)) throw FileError({.what = "the name of a tensor is UTF-8 text", .got = io::clipped(name)});
    if (!names.insert(name).second)
      throw FileError({.what = "two tensors of the name '" + io::clipped(name) + "'", .expected = "each name once"});
    t.validate();  // what cannot be loaded is not written
  }
  Writer writer(tensors);
  if (static_cast<std::int64_t>(writer.header.size()) > io::largest_header)
    throw FileError({.what = "too many tensors for one file",
                     .expected = "a header of at most " + std::to_string(io::largest_header) + " bytes",
                     .got = std::to_string(writer.header.size())});
  std::string head(io::container_magic);
  head += io::container_version;
  const auto put = [&](std::uint64_t value, int bytes) {
    for (int k = 0; k < bytes; ++k) head += static_cast<char>(value >> (8 * k) & 0xFF);
  };
  put(writer.header.size(), 8);
  const std::uint32_t crc = crc32(head.data(), head.size());
  put(crc32(writer.header.data(), writer.header.size(), crc), 4);
  put(0, 4);
  head += writer.header;

  // The pieces of all arrays in their order, padded.
  std::size_t array = 0, piece = 0;
  std::int64_t done = 0, written = 0;  // of the piece; of the arrays
  bool begun = false;
  io::write_file(path, [&]() -> std::string_view {
    if (!begun) {
      begun = true;
      return head;
    }
    const auto give = [&](std::string_view text) {
      written += static_cast<std::int64_t>(text.size());
      return text;
    };
    for (; array < writer.arrays.size(); ++array, piece = 0) {
      const StoredArray& a = writer.arrays[array];
      if (piece == 0 && done == 0 && written % io::container_alignment != 0)
        return give(zeros(io::align_up(written) - written));
      for (; piece < a.pieces.size(); ++piece, done = 0) {
        const auto& [data, bytes] = a.pieces[piece];
        if (done == bytes) continue;
        const std::string_view text =
            data ? std::string_view(data + done, static_cast<std::size_t>(bytes - done)) : zeros(bytes - done);
        done += static_cast<std::int64_t>(text.size());
        return give(text);
      }
    }
    return {};
  });
}

void save(const std::string& path, const Tensor& t) { save(path, NamedTensors{{"", t}}); }

}  // namespace strata
