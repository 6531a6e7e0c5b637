// Reads .st files. No size is believed before the bytes behind it are seen, and no array before its checksum.
#include <cstring>
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
namespace {

/// Batches are looked at one by one: more of them than this must have something stored.
constexpr std::int64_t few_batches = 1 << 16;

/// The bytes of a file, and what it is called.
struct File {
  const Buffer& bytes;
  const std::string& name;

  const char* data() const { return static_cast<const char*>(bytes.data); }
  [[noreturn]] void fail(std::int64_t at, Problem problem) const {
    problem.what = name + ", byte " + std::to_string(at) + ": " + problem.what;
    throw FileError(std::move(problem));
  }
  template <class T>
  T number(std::int64_t at) const {
    T value;
    std::memcpy(&value, data() + at, sizeof value);
    return value;
  }
};

/// The header's text, whose checksum is right.
std::string_view header_of(const File& file) {
  const std::int64_t size = file.bytes.size;
  const std::string_view start(file.data(), static_cast<std::size_t>(std::min<std::int64_t>(size, 8)));
  const std::string_view magic = io::container_magic;
  if (start.substr(0, magic.size()) != magic.substr(0, start.size()) || size == 0)
    file.fail(0, {.what = size == 0 ? "an empty file" : "not a file of Strata's own kind",
                  .expected = "0x89 \"STRATA\", with which a .st file begins",
                  .fix = "st.read(path) reads other kinds of files, by their suffix"});
  if (size < io::container_start)
    file.fail(size, {.what = "the file ends too early",
                     .expected = "a prologue of " + std::to_string(io::container_start) + " bytes",
                     .got = std::to_string(size) + " bytes"});
  if (start[7] != io::container_version)
    file.fail(7, {.what = "a version of the container that is not known here",
                  .expected = std::string("version ") + io::container_version,
                  .got = "byte " + std::to_string(static_cast<unsigned char>(start[7])),
                  .fix = "read it with the Strata that wrote it, or a newer one"});
  const auto length = file.number<std::uint64_t>(8);
  const auto room = static_cast<std::uint64_t>(size - io::container_start);
  if (length > room)
    file.fail(8, {.what = "the header is longer than the file",
                  .expected = "at most " + std::to_string(room) + " bytes",
                  .got = std::to_string(length)});
  if (length > static_cast<std::uint64_t>(io::largest_header))
    file.fail(8, {.what = "the header is too long",
                  .expected = "at most " + std::to_string(io::largest_header) + " bytes",
                  .got = std::to_string(length)});
  if ((length + io::container_start) % io::container_alignment != 0)
    file.fail(8, {.what = "the header does not end at a multiple of 64", .got = std::to_string(length) + " bytes"});
  const std::string_view text(file.data() + io::container_start, static_cast<std::size_t>(length));
  const auto told = file.number<std::uint32_t>(16);
  const std::uint32_t found = crc32(text.data(), text.size(), crc32(file.data(), 16));
  if (told != found)
    file.fail(16, {.what = "the header is damaged: its checksum is wrong",
                   .expected = std::to_string(told),
                   .got = std::to_string(found),
                   .fix = "fetch or write the file again"});
  if (file.number<std::uint32_t>(20) != 0) file.fail(20, {.what = "four bytes that should be zero are not"});
  return text;
}

/// Reads one file.
class ContainerReader {
 public:
  ContainerReader(const File& file, Verify verify)
      : file_(file),
        verify_(verify),
        source_{header_of(file), file.name + ", header"},
        json_(source_),
        data_(io::container_start + static_cast<std::int64_t>(source_.text.size())) {}

  NamedTensors read() {
    NamedTensors out;
    std::set<std::string> names;
    bool told_version = false, told_tensors = false;
    json_.object([&](const std::string& key) {
      if (key == "strata") {
        const std::int64_t version = json_.integer(0);
        if (version != 1)
          json_.fail(json_.last(),
                     {.what = "a header of another version", .expected = "1", .got = std::to_string(version)});
        told_version = true;
      } else if (key == "tensors") {
        json_.array([&] {
          poll_interrupt();
          out.push_back(tensor(names));
        });
        told_tensors = true;
      } else {
        json_.unknown_key(key, "strata, tensors");
      }
    });
    json_.end();
    need(told_version && told_tensors, source_.begin(), "the header lacks a key", "strata, tensors");
    if (data_ + end_ != file_.bytes.size)
      file_.fail(data_ + end_, {.what = "the file goes on behind its last array",
                                .expected = std::to_string(data_ + end_) + " bytes",
                                .got = std::to_string(file_.bytes.size)});
    return out;
  }

 private:
  struct PartArrays {
    std::vector<LevelArrays> levels;
    Buffer values;
    std::int64_t value_stride = 1;
    std::optional<std::vector<std::int64_t>> strides;
    const char* at = nullptr;
  };

  void need(bool there, const char* at, const char* what, const std::string& expected) const {
    if (!there) json_.fail(at, {.what = what, .expected = expected});
  }

  /// Runs f, whose mistakes become those of the place in the header.
  template <class F>
  auto at_place(const char* at, const std::string& what, F f) const {
    try {
      return f();
    } catch (const FileError&) { throw; } catch (const Error& e) {
      Problem p = e.problem();
      json_.fail(at, {.what = what + p.what, .expected = p.expected, .got = p.got, .fix = p.fix});
    }
  }

  DType dtype() {
    const std::string text = json_.string();
    for (int k = 0; k < dtype_count; ++k)
      if (text == name_of(static_cast<DType>(k))) return static_cast<DType>(k);
    json_.fail(json_.last(), {.what = "no dtype '" + io::clipped(text) + "'",
                              .expected = "a name as NumPy has it, or bfloat16, float8_e4m3fn, float8_e5m2",
                              .got = io::clipped(text)});
  }
  DType index_dtype() {
    const DType t = dtype();
    need(is_index(t), json_.last(), "positions and coordinates are integers", "int8 to int64, uint8 to uint64");
    return t;
  }

  /// An array, whose bytes must be where the array before ends. `structure`: pos or crd.
  Buffer array(bool structure) {
    std::optional<DType> type;
    std::optional<std::int64_t> offset, size, crc;
    const char* at = nullptr;
    const char* offset_at = nullptr;
    json_.object([&](const std::string& key) {
      if (!at) at = json_.last();
      if (key == "dtype") {
        type = dtype();
      } else if (key == "offset") {
        offset = json_.integer(0);
        offset_at = json_.last();
      } else if (key == "size") {
        size = json_.integer(0);
      } else if (key == "crc32") {
        crc = json_.integer(0);
      } else {
        json_.unknown_key(key, "dtype, offset, size, crc32");
      }
    });
    if (!at) at = json_.last();
    need(type && offset && size && crc, at, "an array lacks a key", "dtype, offset, size, crc32");
    const std::int64_t begin = io::align_up(end_);  // no more than the file's size and 63
    if (*offset != begin)
      json_.fail(offset_at, {.what = "an array does not begin where the one before it ends",
                             .expected = std::to_string(begin),
                             .got = std::to_string(*offset)});
    const auto bytes = checked_mul(*size, static_cast<std::int64_t>(size_of(*type)));
    const std::int64_t room = file_.bytes.size - data_ - begin;
    if (room < 0 || !bytes || *bytes > room)
      json_.fail(at, {.what = "an array reaches beyond the end of the file",
                      .expected = "at most " + std::to_string(std::max<std::int64_t>(0, room)) + " bytes",
                      .got = bytes ? std::to_string(*bytes) : "more than 63 bits count"});
    Buffer out = Buffer::borrow(*type, file_.data() + data_ + begin, *size, file_.bytes.owner);
    out.read_only = true;
    // What lies between the arrays belongs to none: zeros, so that no byte of a file goes unchecked.
    if (verify_ != Verify::header)
      for (std::int64_t k = end_; k < begin; ++k)
        if (file_.data()[data_ + k] != 0) file_.fail(data_ + k, {.what = "a byte between two arrays is not zero"});
    end_ = begin + *bytes;
    if (verify_ == Verify::all || (verify_ == Verify::structure && structure)) {
      poll_interrupt();
      const std::uint32_t found = io::checksum(out.data, out.bytes());
      if (found != *crc)
        json_.fail(at, {.what = "an array is damaged: the checksum of bytes " + std::to_string(data_ + begin) + " to " +
                                std::to_string(data_ + end_) + " is wrong",
                        .expected = std::to_string(*crc),
                        .got = std::to_string(found),
                        .fix = "fetch or write the file again"});
    }
    return out;
  }

  PartArrays part_arrays() {
    PartArrays out;
    bool levels = false, values = false;
    json_.object([&](const std::string& key) {
      if (!out.at) out.at = json_.last();
      if (key == "levels") {
        levels = true;
        json_.array([&] {
          if (out.levels.size() == static_cast<std::size_t>(max_levels))
            json_.fail(json_.last(), {.what = "too many levels", .expected = "at most " + std::to_string(max_levels)});
          LevelArrays& level = out.levels.emplace_back();
          json_.object([&](const std::string& which) {
            if (which == "pos") level.pos = array(true);
            else if (which == "crd") level.crd = array(true);
            else json_.unknown_key(which, "pos, crd");
          });
        });
      } else if (key == "values") {
        values = true;
        out.values = array(false);
      } else if (key == "value_stride") {
        out.value_stride = json_.integer(0);
        need(out.value_stride <= 1, json_.last(), "values lie side by side, or are one for all", "0 or 1");
      } else if (key == "strides") {
        out.strides.emplace();
        json_.array([&] {
          if (out.strides->size() == static_cast<std::size_t>(max_levels))
            json_.fail(json_.last(), {.what = "too many strides", .expected = "at most " + std::to_string(max_levels)});
          out.strides->push_back(json_.integer(0));
        });
      } else {
        json_.unknown_key(key, "levels, values, value_stride, strides");
      }
    });
    if (!out.at) out.at = json_.last();
    need(levels && values, out.at, "a part lacks a key", "levels, values");
    return out;
  }

  Scalar fill(const std::string& text, DType type, const char* at) const {
    Scalar out = Scalar::zero(type);
    bool right = text.size() == 2 * size_of(type);
    const auto digit = [&](char c) {
      const int value = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
      right = right && value < 16;
      return value;
    };
    for (std::size_t k = 0; right && k < size_of(type); ++k)
      out.bits[k] = static_cast<unsigned char>(digit(text[2 * k]) * 16 + digit(text[2 * k + 1]));
    if (!right)
      json_.fail(at, {.what = "the fill is not the bytes of one element",
                      .expected = std::to_string(2 * size_of(type)) + " digits, 0 to 9 and a to f",
                      .got = io::clipped(text)});
    need(type != DType::boolean || out.bits[0] <= 1, at, "the fill is no truth value", "00 or 01");
    return out;
  }

  std::pair<std::string, Tensor> tensor(std::set<std::string>& names) {
    std::optional<std::string> name, format, fill_text;
    std::optional<Shape> shape;
    std::optional<DType> type, pos_type, crd_type;
    std::optional<std::vector<PartArrays>> parts;
    const char* at = nullptr;
    const char* format_at = nullptr;
    const char* fill_at = nullptr;
    json_.object([&](const std::string& key) {
      if (!at) at = json_.last();
      if (key == "name") {
        name = json_.string();
        if (!names.insert(*name).second)
          json_.fail(json_.last(),
                     {.what = "two tensors of the name '" + io::clipped(*name) + "'", .expected = "each name once"});
      } else if (key == "format") {
        format = json_.string();
        format_at = json_.last();
      } else if (key == "shape") {
        shape.emplace();
        json_.array([&] {
          if (shape->size() == static_cast<std::size_t>(max_dims))
            json_.fail(json_.last(),
                       {.what = "too many dimensions", .expected = "at most " + std::to_string(max_dims)});
          shape->push_back(json_.integer(0));
        });
      } else if (key == "dtype") {
        type = dtype();
      } else if (key == "pos_dtype") {
        pos_type = index_dtype();
      } else if (key == "crd_dtype") {
        crd_type = index_dtype();
      } else if (key == "fill") {
        fill_text = json_.string();
        fill_at = json_.last();
      } else if (key == "parts") {
        parts.emplace();
        json_.array([&] {
          if (parts->size() == static_cast<std::size_t>(max_parts))
            json_.fail(json_.last(), {.what = "too many parts", .expected = "at most " + std::to_string(max_parts)});
          parts->push_back(part_arrays());
        });
      } else {
        json_.unknown_key(key, "name, format, shape, dtype, pos_dtype, crd_dtype, fill, parts");
      }
    });
    if (!at) at = json_.last();
    need(name && format && shape && type && pos_type && crd_type && fill_text && parts, at, "a tensor lacks a key",
         "name, format, shape, dtype, pos_dtype, crd_dtype, fill, parts");
    const std::string which = "tensor '" + io::clipped(*name) + "': ";
    TensorType t;
    t.format = at_place(format_at, which, [&] { return parse_format(*format, static_cast<int>(shape->size())); });
    at_place(at, which, [&] { return check_shape(t.format, *shape), 0; });
    t.shape = *shape;
    t.dtype = *type, t.pos_dtype = *pos_type, t.crd_dtype = *crd_type;
    t.fill = fill(*fill_text, *type, fill_at);
    need(static_cast<int>(parts->size()) == t.format.num_parts(), at, "another number of parts than the format has",
         std::to_string(t.format.num_parts()));
    std::vector<Part> made;
    for (std::size_t k = 0; k < parts->size(); ++k) {
      const std::string place = parts->size() == 1 ? which : which + "part " + std::to_string(k) + ": ";
      made.push_back(at_place((*parts)[k].at, place, [&] { return part(t, static_cast<int>(k), (*parts)[k]); }));
    }
    return {std::move(*name), make_from_parts(std::move(t), std::move(made))};
  }

  /// Obeys its format as far as `verify_` asks for it. TensorError.
  Part part(TensorType& t, int number, PartArrays& given) {
    const Format format = t.format.part(number);
    Part p;
    p.format = format;
    p.ranges = format.level_ranges(t.shape);
    const std::size_t levels = p.ranges.size();
    if (given.levels.size() != levels)
      throw TensorError({.what = "another number of levels than the format has",
                         .expected = std::to_string(levels),
                         .got = std::to_string(given.levels.size())});
    p.levels = std::move(given.levels);
    p.values = std::move(given.values);
    p.pos_strides.assign(levels, 0);
    p.crd_strides.assign(levels, 0);
    if (p.values.dtype != t.dtype)
      throw DTypeError({.what = "values have another dtype than the tensor",
                        .expected = std::string(name_of(t.dtype)),
                        .got = std::string(name_of(p.values.dtype))});
    check_arrays(t, p);
    if (verify_ != Verify::header) check_truth_values(p.values);
    if (format.is_all_dense()) {
      dense(t, p, given);
      return p;
    }
    if (given.strides) throw TensorError({.what = "strides are for all-dense formats", .expected = "no strides"});
    if (given.value_stride == 0 && t.format.num_parts() > 1)
      throw TensorError({.what = "parts of a sum have a value for each slot", .expected = "no value_stride"});
    p.value_stride = given.value_stride;
    t.shared_value = p.value_stride == 0;
    batches_of(p);
    if (verify_ != Verify::header) check_part(p, t.shape, t.dtype);
    return p;
  }

  /// Each level has the arrays of its type, in their dtypes.
  static void check_arrays(const TensorType& t, const Part& p) {
    for (std::size_t l = 0; l < p.levels.size(); ++l) {
      const Level& level = p.format.level(static_cast<int>(l));
      const auto look = [&](const Buffer& b, bool wanted, DType dtype, const char* what) {
        const int index = static_cast<int>(l);
        if ((b.owner != nullptr || b.data != nullptr) != wanted)
          storage::fail(level, index, std::string(wanted ? "lacks its " : "has no ") + what);
        if (wanted && b.dtype != dtype)
          storage::fail(level, index, std::string(what) + " has another dtype", std::string(name_of(dtype)),
                        std::string(name_of(b.dtype)));
      };
      const DType crd = level.kind == LevelKind::bitmap             ? DType::u64
                        : packed_bits(level, p.ranges[l].size) != 0 ? DType::u8
                                                                    : t.crd_dtype;
      look(p.levels[l].pos, storage::has_pos(level.kind), t.pos_dtype, "pos");
      look(p.levels[l].crd, storage::has_crd(level.kind), crd, "crd");
      if (level.kind == LevelKind::structured && level.arg > p.ranges[l].size)
        storage::fail(level, static_cast<int>(l), "more slots than coordinates",
                      "at most " + std::to_string(p.ranges[l].size), std::to_string(level.arg));
      if (level.kind == LevelKind::padded && level.arg == 0 && p.levels[l].crd.size > 0)
        storage::fail(level, static_cast<int>(l), "a level without slots has coordinates", "none",
                      std::to_string(p.levels[l].crd.size));
    }
  }

  static void check_truth_values(const Buffer& values) {
    if (values.dtype != DType::boolean) return;
    const auto* bytes = static_cast<const unsigned char*>(values.data);
    for (std::int64_t k = 0; k < values.size; ++k)
      if (bytes[k] > 1)
        throw TensorError({.what = "a truth value is neither 0 nor 1",
                           .got = std::to_string(bytes[k]) + " in slot " + std::to_string(k)});
  }

  static void dense(TensorType& t, Part& p, const PartArrays& given) {
    if (given.value_stride != 1) throw TensorError({.what = "an all-dense format has strides, no value_stride"});
    p.strides = row_major_strides(p.ranges);
    if (given.strides) {
      if (given.strides->size() != p.ranges.size())
        throw TensorError({.what = "one stride per level is needed",
                           .expected = std::to_string(p.ranges.size()),
                           .got = std::to_string(given.strides->size())});
      for (std::size_t l = 0; l < p.ranges.size(); ++l)
        if (p.ranges[l].size > 1) p.strides[l] = (*given.strides)[l];
    }
    check_dense(p, t.dtype);
    if (t.format.num_parts() == 1) t.strides = stride_record(p.ranges, p.strides);
    if (const int n = p.format.num_batch_levels(); n > 0) {
      for (int l = 0; l < n; ++l) {
        const auto count = checked_mul(p.num_batches, p.ranges[static_cast<std::size_t>(l)].size);
        if (!count) throw TensorError({.what = "more batches than 64 bits count"});
        p.num_batches = *count;
      }
      p.values_batch_stride = p.strides[static_cast<std::size_t>(n - 1)];
    }
  }

  /// Batches lie behind each other at equal distances.
  static void batches_of(Part& p) {
    const int n = p.format.num_batch_levels();
    if (n == 0) return;
    std::int64_t most = std::max(few_batches, p.values.size);
    for (const LevelArrays& level : p.levels) most = std::max({most, level.pos.size, level.crd.size});
    for (int l = 0; l < n; ++l) {
      const auto count = checked_mul(p.num_batches, p.ranges[static_cast<std::size_t>(l)].size);
      if (!count) throw TensorError({.what = "more batches than 64 bits count"});
      p.num_batches = *count;
    }
    if (p.num_batches > most)
      throw TensorError({.what = "more batches than anything is stored for",
                         .expected = "at most " + std::to_string(most),
                         .got = std::to_string(p.num_batches)});
    const auto per_batch = [&](const Buffer& b, const std::string& what) -> std::int64_t {
      if (p.num_batches == 0) return 0;
      if (b.size % p.num_batches != 0)
        throw TensorError({.what = what + " does not divide into batches",
                           .expected = "a multiple of " + std::to_string(p.num_batches),
                           .got = std::to_string(b.size)});
      return b.size / p.num_batches;
    };
    for (std::size_t l = 0; l < p.levels.size(); ++l) {
      const Level& level = p.format.level(static_cast<int>(l));
      const std::string name = storage::level_name(level, static_cast<int>(l));
      p.pos_strides[l] = per_batch(p.levels[l].pos, name + ": pos");
      p.crd_strides[l] = per_batch(p.levels[l].crd, name + ": crd");
      if (packed_bits(level, p.ranges[l].size) != 0 && p.crd_strides[l] % 8 != 0)
        storage::fail(level, static_cast<int>(l), "packed coordinates of a batch do not begin at a word of 8 bytes");
    }
    if (p.value_stride != 0) p.values_batch_stride = per_batch(p.values, "values");
  }

  const File& file_;
  const Verify verify_;
  const io::FileText source_;
  io::JsonReader json_;
  const std::int64_t data_;  ///< where the arrays begin
  std::int64_t end_ = 0;     ///< of the arrays read so far, from there
};

Buffer bytes_of(const std::string& path, bool map) { return map ? io::map_file(path) : io::read_file(path); }

}  // namespace

NamedTensors parse_container(const Buffer& bytes, const std::string& name, Verify verify) {
  const File file{bytes, name};
  return ContainerReader(file, verify).read();
}

NamedTensors load_all(const std::string& path, const LoadOptions& options) {
  return parse_container(bytes_of(path, options.map), path, options.verify);
}

Tensor load(const std::string& path, const LoadOptions& options) {
  NamedTensors all = load_all(path, options);
  if (all.size() == 1) return std::move(all[0].second);
  std::string names;
  for (std::size_t k = 0; k < all.size() && k < 8; ++k) names += (k ? ", " : "") + io::to_json(all[k].first);
  throw FileError({.what = path + " holds " + std::to_string(all.size()) + " tensors",
                   .expected = "one",
                   .got = all.size() > 8 ? names + ", ..." : names,
                   .fix = "load_all(path) gives them all"});
}

std::string container_header(const std::string& path) {
  const Buffer bytes = io::map_file(path);
  const File file{bytes, path};
  const std::string_view text = header_of(file);
  ContainerReader(file, Verify::header).read();
  return std::string(text);
}

}  // namespace strata
