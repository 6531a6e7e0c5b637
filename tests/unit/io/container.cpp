// .st files: any tensor comes back as it was stored; anything else is refused with the place.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>

#include "io/file.h"
#include "strata/io.h"
#include "strata/ops.h"
#include "support/container_bytes.h"
#include "support/random_format.h"
#include "tensor/tensor_impl.h"

using namespace strata;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("strata_st_" + std::to_string(reinterpret_cast<std::uintptr_t>(this)));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& name) const { return (path / name).string(); }
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

Buffer held(const std::string& bytes) { return Buffer::copy_of(std::span<const char>(bytes.data(), bytes.size())); }

NamedTensors parse(const std::string& bytes, Verify verify = Verify::all) {
  return parse_container(held(bytes), "f", verify);
}

/// The message with which these bytes are refused, or "".
std::string refused(const std::string& bytes, Verify verify = Verify::all) {
  try {
    parse(bytes, verify);
  } catch (const FileError& e) { return e.what(); }
  return "";
}

bool says(const std::string& message, const std::string& fragment) {
  INFO(message);
  return message.find(fragment) != std::string::npos;
}

Tensor matrix(const char* format, DType dtype = DType::f64) {
  std::vector<std::int64_t> rows, columns;
  std::vector<double> values;
  for (std::int64_t i = 0; i < 7; ++i)
    for (std::int64_t j = i % 3; j < 8; j += 4 - i % 2)
      if (i != 2) rows.push_back(i), columns.push_back(j), values.push_back(static_cast<double>(i * 8 + j + 1));
  const Buffer coords[] = {Buffer::copy_of(std::span<const std::int64_t>(rows)),
                           Buffer::copy_of(std::span<const std::int64_t>(columns))};
  ConvertOptions options;
  options.dtype = dtype;
  return from_coo(coords, Buffer::copy_of(std::span<const double>(values)), {7, 8}, parse_format(format, 2), options);
}

/// The same in all that a file keeps?
void check_same(const Tensor& a, const Tensor& b) {
  CHECK(a.type() == b.type());
  CHECK(a.format().to_string() == b.format().to_string());
  CHECK(same_storage(a, b));
  for (int k = 0; k < a.num_parts(); ++k) {
    const Part &p = a.part(k), &q = b.part(k);
    if (!p.format.is_all_dense()) CHECK(p.values.size == q.values.size);  // capacity too
    for (std::size_t l = 0; l < p.levels.size(); ++l) {
      CHECK(p.levels[l].pos.size == q.levels[l].pos.size);
      CHECK(p.levels[l].crd.size == q.levels[l].crd.size);
    }
  }
}

constexpr const char* formats[] = {"CSR",
                                   "CSC",
                                   "COO",
                                   "DCSR",
                                   "BSR(2, 2)",
                                   "BSR(2, 3)",
                                   "DIAI",
                                   "DIAJ",
                                   "ELL",
                                   "Delta(4)",
                                   "Delta(3)",
                                   "Bitmap",
                                   "dense",
                                   "(i, j) -> (j : dense, i : dense)",
                                   "BSR(4, 4) + COO",
                                   "TiledCSR(4, 3)",
                                   "(i, j) -> (i : compressed, j : delta(5))"};

}  // namespace

TEST_CASE("a file keeps every format and dtype as it is stored") {
  const Folder folder;
  const std::string path = folder / "a.st";
  for (const char* format : formats)
    for (int d = 0; d < dtype_count; ++d) {
      // Every dtype in three formats, a few in the others: each file waits for the disk.
      const bool few = d == static_cast<int>(DType::f32) || d == static_cast<int>(DType::boolean);
      if (!few && format != formats[0] && format != formats[4] && format != formats[9]) continue;
      CAPTURE(format);
      CAPTURE(name_of(static_cast<DType>(d)));
      const Tensor t = matrix(format, static_cast<DType>(d));
      save(path, t);
      const std::string first = bytes_of(path);
      for (const bool map : {true, false}) {
        const Tensor back = load(path, {Verify::all, map});
        back.validate();
        check_same(t, back);
        if (map) save(folder / "again.st", back);
      }
      CHECK(bytes_of(folder / "again.st") == first);
    }
}

TEST_CASE("a file keeps random formats") {
  std::uint64_t kept = 0;
  const Folder folder;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    std::mt19937_64 random(seed);
    const int rank = static_cast<int>(random() % 5);
    testing::RandomFormatOptions options;
    options.max_parts = 2;
    CAPTURE(seed);
    Shape shape;
    for (int d = 0; d < rank; ++d) shape.push_back(static_cast<std::int64_t>(random() % 6));
    std::vector<Buffer> coords;
    const std::int64_t n = checked_product(shape) == 0 ? 0 : static_cast<std::int64_t>(random() % 9);
    for (int d = 0; d < rank; ++d) {
      Buffer c = Buffer::zeros(DType::i64, n);
      for (std::int64_t k = 0; k < n; ++k)
        c.set_index(
            k, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(shape[static_cast<std::size_t>(d)])));
      coords.push_back(c);
    }
    const Buffer values = Buffer::filled(Scalar::of(1.5), rank == 0 ? 1 : n);
    try {
      const Format format = testing::random_format(random, rank, options);
      const Tensor t = from_coo(coords, values, shape, format);
      save(folder / "a.st", t);
      check_same(t, load(folder / "a.st"));
      ++kept;
    } catch (const Unsupported&) {
    } catch (const TensorError&) {}  // a conversion that is refused
  }
  CHECK(kept > 60);
}

TEST_CASE("a file keeps bits, names, batches, one value for all, broadcasts and capacity") {
  const Folder folder;
  const std::string path = folder / "a.st";
  // NaN payloads, -0.0, explicit zeros.
  std::vector<std::uint64_t> bits = {0x7FF8000000000001, 0xFFF4000000000002, 0x8000000000000000, 0, 1};
  std::vector<std::int64_t> pos = {0, 5}, crd = {0, 2, 3, 5, 9};
  RawArrays raw;
  raw.pos[1] = Buffer::copy_of(std::span<const std::int64_t>(pos));
  raw.crd[1] = Buffer::copy_of(std::span<const std::int64_t>(crd));
  raw.values = Buffer::borrow(DType::f64, bits.data(), 5);
  Scalar fill = Scalar::of(0.0);
  std::memcpy(fill.bits, &bits[1], 8);
  const Tensor nan = make_tensor(parse_format("CSR"), {1, 10}, raw, fill);
  save(path, nan);
  check_same(nan, load(path));
  CHECK(load(path).fill().same_bits(fill));
  // One value for all slots.
  raw.values = Buffer::filled(Scalar::of(2.0f), 1);
  raw.value_stride = 0;
  const Tensor shared = make_tensor(parse_format("CSR"), {1, 10}, raw);
  // A batch, and more room than is used.
  RawArrays batch;
  batch.pos[1] = Buffer::copy_of(std::span<const std::int32_t>(std::vector<std::int32_t>{0, 1, 2, 0, 0, 1}));
  batch.crd[1] = Buffer::copy_of(std::span<const std::int32_t>(std::vector<std::int32_t>{0, 2, 9, 1, 77, 78}));
  batch.pos[2] = batch.pos[1], batch.crd[2] = batch.crd[1];
  batch.pos.erase(1), batch.crd.erase(1);
  batch.values = Buffer::copy_of(std::span<const double>(std::vector<double>{1, 2, 3, 4, 5, 6}));
  const Tensor batched =
      make_tensor(parse_format("(b, i, j) -> (b : batch, i : dense, j : compressed)"), {2, 2, 3}, batch);
  // A dense matrix, every second column of it, and one row for all.
  const Buffer numbers = Buffer::copy_of(std::span<const double>(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  const std::int64_t apart[] = {4, 2}, broadcast[] = {0, 1}, backwards[] = {-4, -1};
  const Tensor strided = borrow_dense(numbers, {2, 2}, apart), rows = borrow_dense(numbers, {1000000, 4}, broadcast),
               reversed = borrow_dense(numbers, {2, 4}, backwards, 7);
  const NamedTensors all = {{"nan", nan},        {"one \"value\"\n\xC3\xA4", shared},
                            {"", batched},       {"strided", strided},
                            {"rows", rows},      {"reversed", reversed},
                            {"scalar", Tensor()}};
  save(path, all);
  CHECK(std::filesystem::file_size(path) < 6000);
  const NamedTensors back = load_all(path);
  REQUIRE(back.size() == all.size());
  for (std::size_t k = 0; k < all.size(); ++k) {
    CHECK(back[k].first == all[k].first);
    CHECK(same_storage(back[k].second, all[k].second));
  }
  CHECK(back[1].second.type().shared_value);
  CHECK(back[2].second.part().crd_strides[2] == 3);
  CHECK(back[4].second.part().values.size == 4);
  // What lies in unused capacity is nobody's to read.
  const Buffer kept = back[2].second.part().levels[2].crd;
  CHECK(kept.index(2) == 0);
  CHECK(kept.index(4) == 0);
  CHECK_THROWS_WITH_AS(load(path), doctest::Contains("holds 7 tensors"), FileError);
  CHECK_THROWS_WITH_AS(save(path, {{"a", nan}, {"a", nan}}), doctest::Contains("two tensors of the name 'a'"),
                       FileError);
  CHECK_THROWS_WITH_AS(save(path, NamedTensors{{"\xFF", nan}}), doctest::Contains("UTF-8"), FileError);
  save(path, NamedTensors{});
  CHECK(load_all(path).empty());
}

TEST_CASE("the arrays of a loaded tensor are views of the file, which may go") {
  const Folder folder;
  const std::string path = folder / "a.st";
  const Tensor t = matrix("CSR");
  save(path, t);
  for (const Verify verify : {Verify::all, Verify::structure, Verify::header}) {
    const Tensor back = load(path, {verify, true});
    const Part& p = back.part();
    CHECK(p.values.read_only);
    CHECK(p.levels[1].pos.owner == p.values.owner);  // one map
    CHECK(reinterpret_cast<std::uintptr_t>(p.values.data) % 64 == 0);
    std::filesystem::remove(path);
    CHECK(same_storage(back, t));
    save(path, back);
  }
  // It is replaced while it is looked at.
  const Tensor back = load(path);
  save(path, matrix("COO"));
  CHECK(same_storage(back, t));
  CHECK(load(path).format() == parse_format("COO", 2));
}

TEST_CASE("every cut of a file is refused, and what is appended to it") {
  const Folder folder;
  for (const char* format : {"CSR", "Delta(4)", "BSR(4, 4) + COO", "dense"}) {
    save(folder / "a.st", matrix(format));
    const std::string whole = bytes_of(folder / "a.st");
    for (std::size_t n = 0; n < whole.size(); ++n)
      for (const Verify verify : {Verify::all, Verify::header}) {
        const std::string message = refused(whole.substr(0, n), verify);
        REQUIRE_MESSAGE(message.rfind("f, ", 0) == 0, n);
      }
    CHECK(refused(whole).empty());
    CHECK(refused(whole + '\0').find("goes on behind its last array") != std::string::npos);
  }
}

TEST_CASE("every flipped bit of a file is found") {
  const Folder folder;
  for (const char* format : {"CSR", "Delta(4)"}) {
    save(folder / "a.st", matrix(format, DType::f32));
    std::string file = bytes_of(folder / "a.st");
    for (std::size_t bit = 0; bit < 8 * file.size(); ++bit) {
      const auto flip = [&] { file[bit / 8] = static_cast<char>(file[bit / 8] ^ (1 << bit % 8)); };
      flip();
      REQUIRE_MESSAGE(refused(file).rfind("f, ", 0) == 0, "bit " << bit);
      // Those of values pass where values are not looked at, no others; and nothing crashes.
      if (bit % 8 == 3) {
        if (refused(file, Verify::structure).empty())
          static_cast<void>(to_dense(parse(file, Verify::structure)[0].second));
        static_cast<void>(refused(file, Verify::header));
      }
      flip();
    }
    CHECK(refused(file).empty());
  }
}

TEST_CASE("what a header says is believed only as far as the file bears it out") {
  const Folder folder;
  save(folder / "a.st", matrix("CSR"));
  const std::string file = bytes_of(folder / "a.st"), header = testing::header_of(file);
  struct Case {
    const char *from, *to, *message;
  };
  // clang-format off
  const Case cases[] = {
      {"\"strata\": 1", "\"strata\": 2", "a header of another version"},
      {"\"strata\": 1", "\"strata\": 1.0", "another thing stands here"},
      {"\"strata\": 1, ", "", "the header lacks a key"},
      {"\"strata\"", "\"other\"", "no key 'other' stands here"},
      {"{\"strata\"", "[\"strata\"", "an object: {"},
      {"\"tensors\": [", "\"tensors\": [[[[[[", "an object: {"},
      {"\n]}", "\n]}}", "more than one value"},
      {"\n]}", "\n]", "the header ends too early"},
      {"\n]}", ",\n]}", "an object: {"},
      {"\"name\": \"\"", "\"name\": \"\", \"name\": \"b\"", "the key 'name' comes twice"},
      {"\"name\": \"\"", "\"name\": 1", "a string"},
      {"\"name\": \"\"", "\"name\": \"\xFF\"", "no UTF-8"},
      {"\"name\": \"\"", "\"name\": \"\xC0\x80\"", "no UTF-8"},
      {"\"name\": \"\"", "\"name\": \"\xED\xA0\x80\"", "no UTF-8"},
      {"\"name\": \"\"", "\"name\": \"\\u0041\"", "an escape"},
      {"\"name\": \"\"", "\"name\": \"\t\"", "a control character"},
      {"\"name\": \"\", ", "", "a tensor lacks a key"},
      {"\"shape\": [7, 8]", "\"shape\": [7, 9223372036854775808]", "a number beyond 63 bits"},
      {"\"shape\": [7, 8]", "\"shape\": [7, -8]", "from 0"},
      {"\"shape\": [7, 8]", "\"shape\": [7, 08]", "another thing stands here"},
      {"\"shape\": [7, 8]", "\"shape\": [7, 8.0]", "another thing stands here"},
      {"\"shape\": [7, 8]", "\"shape\": [7, true]", "another thing stands here"},
      {"\"shape\": [7, 8]", "\"shape\": [7]", "number of dimensions"},
      {"\"shape\": [7, 8]", "\"shape\": [6, 8]", ""},
      {"\"shape\": [7, 8]", "\"shape\": [8, 8]", "level 1 (compressed): pos is too short"},
      {"\"shape\": [7, 8]", "\"shape\": [9223372036854775807, 8]", "tensor '': "},
      {"\"shape\": [7, 8]", "\"shape\": [7, 3]", "level 1 (compressed): coordinate out of range"},
      {"i : dense", "i : dens", "no level type 'dens'"},
      {"i : dense, j : compressed", "i : dense, j : dense", "level 1 (dense): has no pos"},
      {"i : dense, j : compressed", "i : dense, j : delta(4)", "level 1 (delta): crd has another dtype"},
      {"i : dense, j : compressed", "i : compressed, j : compressed", "level 0 (compressed): lacks its pos"},
      {"i : dense, j : compressed", "i : dense", "tensor '': "},
      {"(i, j) -> (i : dense, j : compressed)", "COO + COO", "another number of parts"},
      {"\"dtype\": \"float64\", \"pos", "\"dtype\": \"float32\", \"pos", "the fill is not the bytes"},
      {"\"dtype\": \"float64\", \"pos", "\"dtype\": \"int64\", \"pos", "values have another dtype"},
      {"\"dtype\": \"float64\", \"pos", "\"dtype\": \"object\", \"pos", "no dtype 'object'"},
      {"\"pos_dtype\": \"int32\"", "\"pos_dtype\": \"float32\"", "positions and coordinates are integers"},
      {"\"pos_dtype\": \"int32\"", "\"pos_dtype\": \"int64\"", "pos has another dtype"},
      {"\"fill\": \"0000000000000000\"", "\"fill\": \"000000000000000g\"", "the fill is not the bytes"},
      {"\"fill\": \"0000000000000000\"", "\"fill\": \"\"", "the fill is not the bytes"},
      {"\"offset\": 0", "\"offset\": 64", "does not begin where the one before it ends"},
      {"\"offset\": 64", "\"offset\": 0", "does not begin where the one before it ends"},
      {"\"size\": 8", "\"size\": 9", "an array is damaged"},
      {"\"size\": 8", "\"size\": 9223372036854775807", "beyond the end of the file"},
      {"\"size\": 8", "\"size\": 4611686018427387904", "beyond the end of the file"},
      {"\"size\": 8", "\"size\": 1000000000000", "beyond the end of the file"},
      {"\"offset\": 0, ", "", "an array lacks a key"},
      {"\"levels\": [{}, ", "\"levels\": [", "another number of levels"},
      {"\"levels\": [{}, ", "\"levels\": [{\"crd\": ", "no key 'pos' stands here"},
      {"\"values\": ", "\"strides\": [8, 1], \"values\": ", "strides are for all-dense formats"},
      {"\"values\": ", "\"value_stride\": 2, \"values\": ", "0 or 1"},
      {"\"parts\": [", "\"parts\": [], \"more\": [", "no key 'more'"},
      {"]}\n]}", "], \"metadata\": {}}\n]}", "no key 'metadata'"},
  };
  // clang-format on
  for (const Case& c : cases) {
    std::string changed = header;
    const std::size_t at = changed.find(c.from);
    CAPTURE(c.from);
    CAPTURE(c.to);
    REQUIRE(at != std::string::npos);
    changed.replace(at, std::string(c.from).size(), c.to);
    const std::string message = refused(testing::with_header(file, changed));
    CAPTURE(message);
    if (std::string(c.message).empty()) continue;  // a smaller shape with the same arrays: legal, pos is spare capacity
    CHECK(message.find(c.message) != std::string::npos);
    CHECK(message.rfind("f, ", 0) == 0);
    CHECK((message.find(", line ") != std::string::npos || message.find(", byte ") != std::string::npos));
  }
}

TEST_CASE("the prologue of a file") {
  const Folder folder;
  save(folder / "a.st", matrix("CSR"));
  const std::string file = bytes_of(folder / "a.st");
  const auto changed = [&](std::size_t at, const std::string& bytes) {
    std::string copy = file;
    return copy.replace(at, bytes.size(), bytes);
  };
  using testing::little_endian;
  CHECK(says(refused(""), "an empty file"));
  CHECK(says(refused("PK\x03\x04 and so on, long enough for a prologue"), "not a file of Strata's own kind"));
  CHECK(says(refused(changed(7, "2")), "version of the container"));
  CHECK(says(refused(changed(8, little_endian(0, 8))), "f, byte 8: "));
  CHECK(says(refused(changed(8, little_endian(1u << 20, 8))), "the header is longer than the file"));
  CHECK(says(refused(changed(8, little_endian(~0ull, 8))), "the header is longer than the file"));
  CHECK(says(refused(changed(16, "xxxx")), "f, byte 16: the header is damaged"));
  CHECK(says(refused(changed(20, "x")), "f, byte 20: "));
  // As long as the file bears it out, a header may not be longer than this.
  std::string huge = testing::container_bytes(std::string((std::size_t{64} << 20) + 1, ' '), "");
  CHECK(says(refused(huge), "the header is too long"));
  // Deep nesting ends where it begins.
  std::string deep = "{\"strata\": 1, \"tensors\": ";
  deep += std::string(1000000, '[');
  CHECK(says(refused(testing::container_bytes(deep, "")), "an object: {"));
}

TEST_CASE("arrays that break their format are found unless nobody wants to know") {
  const Folder folder;
  save(folder / "a.st", matrix("COO"));
  const std::string file = bytes_of(folder / "a.st");
  // The crd of level 0 lies at the second multiple of 64 of the data. Made wrong, with a checksum that fits.
  const std::string header = testing::header_of(file);
  const std::size_t data = 24 + header.size();
  std::string wrong = file;
  std::int32_t row = 100;
  std::memcpy(wrong.data() + data + 64, &row, 4);
  CHECK(says(refused(wrong), "an array is damaged: the checksum of bytes"));
  CHECK(says(refused(wrong, Verify::structure), "damaged"));
  CHECK(refused(wrong, Verify::header).empty());
  const auto size = static_cast<std::size_t>(matrix("COO").nse()) * 4;
  const auto sum = [&](const std::string& of) { return std::to_string(crc32(of.data() + data + 64, size)); };
  std::string fitting = header;
  fitting.replace(fitting.find(sum(file)), sum(file).size(), sum(wrong));
  const std::string made = testing::with_header(std::string(wrong).replace(24, header.size(), header),
                                                fitting.substr(0, fitting.find_last_not_of(' ') + 1));
  CHECK(says(refused(made), "level 0 (compressed): coordinate out of range"));
  CHECK(says(refused(made, Verify::structure), "level 0 (compressed)"));
}

TEST_CASE("more batches than anything is stored for are refused before they are looked at") {
  const std::string header =
      "{\"strata\": 1, \"tensors\": [{\"name\": \"\", \"format\": \"(b, i, j) -> (b : batch, i : dense, j : "
      "padded(1))\", \"shape\": [1000000000, 0, 0], \"dtype\": \"float64\", \"pos_dtype\": \"int32\", \"crd_dtype\": "
      "\"int32\", \"fill\": \"0000000000000000\", \"parts\": [{\"levels\": [{}, {}, {\"crd\": {\"dtype\": \"int32\", "
      "\"offset\": 0, \"size\": 0, \"crc32\": 0}}], \"values\": {\"dtype\": \"float64\", \"offset\": 0, \"size\": 0, "
      "\"crc32\": 0}}]}]}";
  CHECK(says(refused(testing::container_bytes(header, "")), "more batches than anything is stored for"));
}

TEST_CASE("a tensor that breaks its format is not written, and leaves the old file") {
  const Folder folder;
  const std::string path = folder / "a.st";
  save(path, matrix("CSR"));
  const std::string before = bytes_of(path);
  std::vector<std::int32_t> pos = {0, 3, 1}, crd = {0, 1, 2};
  RawArrays raw;
  raw.pos[1] = Buffer::copy_of(std::span<const std::int32_t>(pos));
  raw.crd[1] = Buffer::copy_of(std::span<const std::int32_t>(crd));
  raw.values = Buffer::zeros(DType::f64, 3);
  const Tensor wrong = make_tensor(parse_format("CSR"), {2, 3}, raw, {}, /*check=*/false);
  CHECK_THROWS_WITH_AS(save(path, wrong), doctest::Contains("pos decreases"), TensorError);
  raw.pos[1].set_index(2, 3);
  raw.values = Buffer::filled(Scalar::of(std::uint8_t{7}), 3);
  raw.values.dtype = DType::boolean;
  CHECK_THROWS_WITH_AS(save(path, make_tensor(parse_format("CSR"), {2, 3}, raw)), doctest::Contains("truth value"),
                       TensorError);
  CHECK(bytes_of(path) == before);
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path), {}) == 1);
}

TEST_CASE("files keep their permissions, links stay links") {
  const Folder folder;
  const std::string path = folder / "a.st";
  const auto mode = [&] {
    struct stat info{};
    ::stat(path.c_str(), &info);
    return info.st_mode & 0777;
  };
  save(path, matrix("CSR"));
  const auto usual = mode();
  for (const mode_t m : {0600u, 0640u, 0444u}) {
    REQUIRE(::chmod(path.c_str(), m) == 0);
    save(path, matrix("COO"));
    CHECK(mode() == m);
  }
  ::unlink(path.c_str());
  save(path, matrix("CSR"));
  CHECK(mode() == usual);
  std::filesystem::create_symlink(path, folder / "link.st");
  save(folder / "link.st", matrix("dense"));
  CHECK(std::filesystem::is_symlink(folder / "link.st"));
  CHECK(load(path).format().is_all_dense());
}
