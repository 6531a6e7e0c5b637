// Tensors from raw arrays, their accessors and their printed form.
#include <doctest/doctest.h>

#include "strata/tensor.h"

using namespace strata;

namespace {

template <class T> Buffer array(std::initializer_list<T> list) {
  return Buffer::copy_of(std::span<const T>(list.begin(), list.size()));
}
using I = std::int32_t;

std::vector<std::int64_t> indices(const Buffer& b) {
  std::vector<std::int64_t> out;
  for (std::int64_t k = 0; k < b.size; ++k) out.push_back(b.index(k));
  return out;
}
using List = std::vector<std::int64_t>;

std::vector<double> dense_values(const Tensor& t) {
  std::vector<double> out;
  std::vector<std::int64_t> c(static_cast<std::size_t>(t.rank()), 0);
  const std::int64_t n = *t.size();
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t rest = k;
    for (std::size_t d = c.size(); d-- > 0;) c[d] = rest % t.shape()[d], rest /= t.shape()[d];
    const auto x = t.get(c);
    out.push_back(x ? x->to_double() : t.fill().to_double());
  }
  return out;
}

Tensor csr() {
  RawArrays a;
  a.pos[1] = array<I>({0, 2, 2, 3});
  a.crd[1] = array<I>({0, 3, 1});
  a.values = array<double>({1, 2, 3});
  return make_tensor(parse_format("CSR"), {3, 4}, a);
}

std::string message(const auto& f) {
  try {
    f();
  } catch (const Error& e) { return e.what(); }
  return "";
}
bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a CSR tensor borrows its arrays") {
  const std::vector<I> pos{0, 2, 2, 3}, crd{0, 3, 1};
  const std::vector<double> values{1, 2, 3};
  RawArrays a;
  a.pos[1] = Buffer::borrow(std::span<const I>(pos));
  a.crd[1] = Buffer::borrow(std::span<const I>(crd));
  a.values = Buffer::borrow(std::span<const double>(values));
  const Tensor t = make_tensor(parse_format("CSR"), {3, 4}, a);
  CHECK(t.pos(1).data == pos.data());
  CHECK(t.crd(1).data == crd.data());
  CHECK(t.values().data == values.data());
  CHECK(t.nse() == 3);
  CHECK(t.nbytes() == 4 * 4 + 3 * 4 + 3 * 8);
  CHECK(dense_values(t) == std::vector<double>{1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0});
  CHECK_FALSE(t.get(std::vector<std::int64_t>{1, 1}));
  CHECK_THROWS_AS(static_cast<void>(t.get(std::vector<std::int64_t>{3, 0})), IndexError);
  CHECK(t.type().to_string() == "CSR 3 x 4, float64, pos int32, crd int32");
}

TEST_CASE("the blog's delta example") {
  RawArrays a;
  a.pos[1] = array<I>({0, 3, 5, 7});
  a.crd[1] = array<I>({0, 3, 2, 2, 0, 3, 3});
  a.values = array<double>({1, 0, 2, 3, 4, 0, 5});
  const Tensor t = make_tensor(parse_format("(i, j) -> (i : dense, j : delta(2))"), {3, 8}, a);
  CHECK(dense_values(t) == std::vector<double>{1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5});
  CHECK(indices(t.crd(1)) == List{0, 3, 2, 2, 0, 3, 3});
  CHECK(t.nse() == 7);
  CHECK(t.nbytes() == 4 * 4 + 2 + 7 * 8);
  CHECK(contains(to_string(t), "CRD=uint2"));
  CHECK(contains(to_string(t), "crd[1]   : [0, 3, 2, 2, 0, 3, 3] #7"));
}

TEST_CASE("the blog's printed tensor") {
  using L = std::int64_t;
  RawArrays a;
  a.pos[1] = array<L>({0, 4, 9, 14, 19});
  a.crd[1] = array<L>({1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4});
  a.values = array<L>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  const Tensor t = make_tensor(parse_format("(i, j) -> (i : dense, j : compressed)"), {4, 5}, a);
  CHECK(to_string(t) ==
        "---- Sparse Tensor<VAL=int64,POS=int64,CRD=int64,DIM=2,LVL=2>\n"
        "format   : [i, j] -> (i: <LevelFormat.DENSE>, j: <LevelFormat.COMPRESSED>)\n"
        "device   : cpu\n"
        "dim      : [4, 5]\n"
        "lvl      : [4, 5]\n"
        "nse      : 19\n"
        "pos[1]   : [0, 4, 9, 14, 19] #5\n"
        "crd[1]   : [1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4] #19\n"
        "values   : [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19] #19\n"
        "data     : 344 bytes\n"
        "sparsity : 5.00%\n"
        "----");
}

TEST_CASE("long lists are cut as the rival cuts them") {
  const auto text = [](std::int64_t n) {
    std::vector<std::int64_t> v(static_cast<std::size_t>(n), 7);
    RawArrays a;
    a.values = Buffer::copy_of(std::span<const std::int64_t>(v));
    return to_string(make_tensor(parse_format("(i) -> (i : dense)"), {n}, a));
  };
  const auto sevens = [](int n) {
    std::string s;
    for (int k = 0; k < n; ++k) s += k ? ", 7" : "7";
    return s;
  };
  CHECK(contains(text(32), "values   : [" + sevens(32) + "] #32"));
  CHECK(contains(text(33), "values   : [" + sevens(32) + ", ...] #33"));
  CHECK(contains(text(64), "values   : [" + sevens(32) + ", ...] #64"));
  CHECK(contains(text(65), "values   : [" + sevens(32) + ", ..., " + sevens(32) + "] #65"));
}

TEST_CASE("bitmap coordinates are given and shown as coordinates") {
  RawArrays a;
  a.pos[1] = array<I>({0, 2, 2, 3});
  a.crd[1] = array<I>({0, 69, 64});
  a.values = array<float>({1, 2, 3});
  const Tensor t = make_tensor(parse_format("(i, j) -> (i : dense, j : bitmap)"), {3, 70}, a);
  CHECK(indices(t.crd(1)) == List{0, 69, 64});
  CHECK(t.part().levels[1].crd.dtype == DType::u64);
  CHECK(t.part().levels[1].crd.size == 6);
  CHECK(t.get(std::vector<std::int64_t>{0, 69})->to_double() == 2);
  CHECK(t.get(std::vector<std::int64_t>{2, 64})->to_double() == 3);
  CHECK_FALSE(t.get(std::vector<std::int64_t>{2, 63}));
  CHECK(t.nbytes() == 4 * 4 + 6 * 8 + 3 * 4);
}

TEST_CASE("structured, padded, diagonals and blocks") {
  SUBCASE("2:4") {
    RawArrays a;
    a.crd[2] = array<std::uint8_t>({0, 3, 1, 2});
    a.values = array<double>({1, 2, 3, 4});
    const Tensor t =
        make_tensor(parse_format("(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))"), {2, 4}, a);
    CHECK(dense_values(t) == std::vector<double>{1, 0, 0, 2, 0, 3, 4, 0});
    CHECK(t.nbytes() == 1 + 4 * 8);
    CHECK(contains(to_string(t), "CRD=uint2"));
  }
  SUBCASE("ELL: unused slots are outside") {
    RawArrays a;
    a.crd[1] = array<I>({0, 2, 1, -1, -1, -1});
    a.values = array<double>({1, 2, 3, 99, 98, 97});
    const Tensor t = make_tensor(parse_format("(i, j) -> (i : dense, j : padded(2))"), {3, 3}, a);
    CHECK(t.nse() == 3);
    CHECK(dense_values(t) == std::vector<double>{1, 0, 2, 0, 3, 0, 0, 0, 0});
  }
  SUBCASE("DIA: what lies off the matrix is ignored") {
    RawArrays a;
    a.crd[0] = array<I>({-1, 2});
    a.values = array<double>({99, 1, 2, 3, 98, 97});  // by rows i: -1: (1,0), (2,1); 2: (0,2)
    const Tensor t = make_tensor(parse_format("(i, j) -> (j - i : compressed, i : range)"), {3, 3}, a);
    CHECK(t.nse() == 3);
    CHECK(dense_values(t) == std::vector<double>{0, 0, 3, 1, 0, 0, 0, 2, 0});
  }
  SUBCASE("BSR whose blocks do not divide") {
    RawArrays a;
    a.pos[1] = array<I>({0, 1, 2});
    a.crd[1] = array<I>({0, 1});
    a.values = array<double>({1, 2, 3, 4, 5, 77, 78, 79});
    const Tensor t = make_tensor(parse_format("BSR(2, 2)"), {3, 3}, a);
    CHECK(t.nse() == 5);
    CHECK(dense_values(t) == std::vector<double>{1, 2, 0, 3, 4, 0, 0, 0, 5});
  }
}

TEST_CASE("batched CSR has torch's layout") {
  RawArrays a;
  a.pos[2] = array<I>({0, 1, 2, 0, 2, 2});
  a.crd[2] = array<I>({0, 1, 0, 2});
  a.values = array<double>({1, 2, 3, 4});
  const Tensor t = make_tensor(parse_format("(b, i, j) -> (b : batch, i : dense, j : compressed)"), {2, 2, 3}, a);
  CHECK(t.nse() == 4);
  CHECK(t.part().num_batches == 2);
  CHECK(t.part().pos_strides[2] == 3);
  CHECK(t.part().crd_strides[2] == 2);
  CHECK(dense_values(t) == std::vector<double>{1, 0, 0, 0, 2, 0, 3, 0, 4, 0, 0, 0});
}

TEST_CASE("dense tensors over any strides") {
  const std::vector<double> v{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Buffer b = Buffer::borrow(std::span<const double>(v));
  const std::int64_t row[] = {4, 1}, column[] = {1, 3}, reversed[] = {-4, -1}, broadcast[] = {0, 1}, step[] = {4, 2};
  CHECK(borrow_dense(b, {3, 4}, row).type().to_string() == "dense 3 x 4, float64");
  CHECK(borrow_dense(b, {3, 4}, row).type().strides.empty());
  CHECK(dense_values(borrow_dense(b, {3, 4}, column)) == std::vector<double>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11});
  CHECK(dense_values(borrow_dense(b, {3, 4}, reversed, 11)) ==
        std::vector<double>{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
  CHECK(dense_values(borrow_dense(b, {2, 3}, broadcast)) == std::vector<double>{0, 1, 2, 0, 1, 2});
  CHECK(dense_values(borrow_dense(b, {3, 2}, step)) == std::vector<double>{0, 2, 4, 6, 8, 10});
  CHECK(borrow_dense(b, {3, 2}, step).type().strides.size() == 2);
  CHECK(borrow_dense(b, {2, 3}, broadcast).nbytes() == 24);
  const std::int64_t odd[] = {1, 100};
  CHECK(borrow_dense(b, {3, 1}, odd).format() ==
        parse_format("(i, j) -> (i : dense, j : dense)"));  // size 1: row-major
  CHECK(borrow_dense(b, {3, 1}, odd).type().strides.empty());
  CHECK_THROWS_AS(borrow_dense(b, {4, 4}, row), TensorError);
  CHECK_THROWS_AS(borrow_dense(b, {3, 4}, reversed, 10), TensorError);
}

TEST_CASE("a sum adds its parts") {
  RawArrays a;
  a.crd[0] = array<I>({0, 2});
  a.crd[1] = array<I>({1, 1});
  a.values = array<double>({10, 20});
  const Tensor coo = make_tensor(parse_format("COO"), {3, 4}, a);
  const Tensor parts[] = {csr(), coo};
  const Tensor t = make_sum(parts);
  CHECK(t.num_parts() == 2);
  CHECK(t.nse() == 5);
  CHECK(dense_values(t) == std::vector<double>{1, 10, 0, 2, 0, 0, 0, 0, 0, 23, 0, 0});
  CHECK(same_storage(t.part_tensor(0), csr()));
  CHECK_THROWS_AS(t.values(), TensorError);
  CHECK(contains(to_string(t), "part[1]  : "));
  const Tensor one[] = {csr()};
  CHECK(make_sum(one).same_object(one[0]));
}

TEST_CASE("scalars and empty extents") {
  CHECK(Tensor().rank() == 0);
  CHECK(Tensor().get({})->to_double() == 0);
  CHECK(Tensor().nse() == 1);
  RawArrays a;
  a.pos[1] = array<I>({0});
  a.crd[1] = Buffer::allocate(DType::i32, 0);
  a.values = Buffer::allocate(DType::f64, 0);
  const Tensor t = make_tensor(parse_format("CSR"), {0, 5}, a);
  CHECK(t.nse() == 0);
  CHECK(contains(to_string(t), "sparsity : 0.00%"));
}

TEST_CASE("capacity beyond use is outside") {
  RawArrays a;
  a.pos[1] = array<I>({0, 1, 2});
  a.crd[1] = array<I>({0, 1, 77, 78});
  a.values = array<double>({1, 2, 3, 4});
  const Tensor t = make_tensor(parse_format("CSR"), {2, 2}, a);
  CHECK(t.nse() == 2);
  CHECK(t.nbytes() == 3 * 4 + 2 * 4 + 2 * 8);
  RawArrays b;
  b.pos[1] = array<std::int64_t>({0, 1, 2});
  b.crd[1] = array<std::int64_t>({0, 1});
  b.values = array<double>({1, 2});
  CHECK(same_storage(t, make_tensor(parse_format("CSR"), {2, 2}, b)));
  b.values = array<double>({1, -2});
  CHECK_FALSE(same_storage(t, make_tensor(parse_format("CSR"), {2, 2}, b)));
  b.values = array<double>({1, 2});
  b.crd[1] = array<std::int64_t>({1, 1});
  CHECK_FALSE(same_storage(t, make_tensor(parse_format("CSR"), {2, 2}, b)));
}

TEST_CASE("one value shared by all slots") {
  RawArrays a;
  a.pos[1] = array<I>({0, 1, 2});
  a.crd[1] = array<I>({0, 1});
  a.values = array<double>({5});
  a.value_stride = 0;
  const Tensor t = make_tensor(parse_format("CSR"), {2, 2}, a);
  CHECK(t.type().shared_value);
  CHECK(dense_values(t) == std::vector<double>{5, 0, 0, 5});
}

TEST_CASE("transposing renames and moves nothing") {
  const int perm[] = {1, 0};
  const Tensor t = csr().transpose(perm);
  CHECK(t.format() == parse_format("CSC"));
  CHECK(t.shape() == Shape{4, 3});
  CHECK(t.get(std::vector<std::int64_t>{3, 0})->to_double() == 2);
  const int bad[] = {0, 0};
  CHECK_THROWS_AS(csr().transpose(bad), TensorError);
}

TEST_CASE("mixed index dtypes are cast, others refused") {
  RawArrays a;
  a.crd[0] = array<std::uint8_t>({0, 2});
  a.crd[1] = array<std::int64_t>({1, 1});
  a.values = array<double>({10, 20});
  CHECK(make_tensor(parse_format("COO"), {3, 4}, a).type().crd_dtype == DType::i64);
  a.crd[1] = array<double>({1, 1});
  CHECK_THROWS_AS(make_tensor(parse_format("COO"), {3, 4}, a), DTypeError);
}

TEST_CASE("every violated invariant is named with its level") {
  struct Case {
    const char* format;
    Shape shape;
    std::map<int, std::vector<std::int64_t>> pos, crd;
    std::int64_t values;
    const char* says;
  };
  const char* csr_text = "(i, j) -> (i : dense, j : compressed)";
  const char* loose = "(i, j) -> (i : dense, j : compressed(unordered))";
  const char* ell = "(i, j) -> (i : dense, j : padded(2))";
  const char* delta = "(i, j) -> (i : dense, j : delta(2))";
  const char* bitmap = "(i, j) -> (i : dense, j : bitmap)";
  const char* n_of_m = "(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))";
  const std::vector<Case> cases = {
      {csr_text, {2, 3}, {{1, {1, 1, 2}}}, {{1, {0, 1}}}, 2, "level 1 (compressed): pos does not start at 0"},
      {csr_text, {2, 3}, {{1, {0, 2, 1}}}, {{1, {0, 1}}}, 2, "level 1 (compressed): pos decreases"},
      {csr_text, {2, 3}, {{1, {0, 2}}}, {{1, {0, 1}}}, 2, "level 1 (compressed): pos is too short"},
      {csr_text, {2, 3}, {{1, {0, 1, 2, 2}}}, {{1, {0, 1}}}, 2, "level 1 (compressed): pos is too long"},
      {csr_text, {2, 3}, {{1, {0, 1, 3}}}, {{1, {0, 1}}}, 2, "level 1 (compressed): pos ends beyond"},
      {csr_text, {2, 3}, {{1, {0, 1, 2}}}, {{1, {0, 3}}}, 2, "level 1 (compressed): coordinate out of range"},
      {csr_text, {2, 3}, {{1, {0, 1, 2}}}, {{1, {0, -1}}}, 2, "level 1 (compressed): coordinate out of range"},
      {csr_text, {2, 3}, {{1, {0, 2, 2}}}, {{1, {1, 0}}}, 2, "level 1 (compressed): coordinates do not ascend"},
      {csr_text, {2, 3}, {{1, {0, 2, 2}}}, {{1, {1, 1}}}, 2, "level 1 (compressed): a coordinate stands twice"},
      {loose, {2, 3}, {{1, {0, 3, 3}}}, {{1, {2, 0, 2}}}, 3, "level 1 (compressed): a coordinate stands twice"},
      {csr_text, {2, 3}, {{1, {0, 1, 2}}}, {{1, {0, 1}}}, 1, "level 1 (compressed): crd and values differ"},
      {csr_text, {2, 3}, {}, {{1, {0, 1}}}, 2, "level 1 (compressed): pos is missing"},
      {csr_text, {2, 3}, {{0, {0}}, {1, {0, 1, 2}}}, {{1, {0, 1}}}, 2, "level 0 (dense): has no pos"},
      {"COO", {3, 3}, {{0, {0, 2}}}, {{0, {0, 3}}, {1, {0, 0}}}, 2, "level 0 (compressed): coordinate out of range"},
      {"COO", {3, 3}, {{0, {0, 2}}}, {{0, {1, 0}}, {1, {0, 0}}}, 2, "level 0 (compressed): coordinates do not ascend"},
      {"COO", {3, 3}, {{0, {0, 2}}}, {{0, {0, 1}}, {1, {0, 3}}}, 2, "level 1 (singleton): coordinate out of range"},
      {"COO", {3, 3}, {{0, {0, 2}}}, {{0, {1, 1}}, {1, {1, 0}}}, 2, "level 1 (singleton): coordinates do not ascend"},
      {"COO",
       {3, 3},
       {{0, {0, 2}}},
       {{0, {1, 1}}, {1, {1, 1}}},
       2,
       "level 1 (singleton): the same coordinates stand twice"},
      {"COO", {3, 3}, {{0, {0, 2}}}, {{0, {1, 1}}, {1, {1}}}, 1, "level 1 (singleton): crd is too short"},
      {"(i, j) -> (i : compressed(nonunique, unordered), j : singleton(unordered))",
       {3, 3},
       {},
       {{0, {1, 0, 1}}, {1, {2, 2, 2}}},
       3,
       "level 1 (singleton): the same coordinates stand twice"},
      {ell, {2, 3}, {}, {{1, {0, -1, -1, 2}}}, 4, "level 1 (padded): a used slot behind an unused one"},
      {ell, {2, 3}, {}, {{1, {0, 3, 1, 2}}}, 4, "level 1 (padded): coordinate out of range"},
      {ell, {2, 3}, {}, {{1, {1, 0, 1, 2}}}, 4, "level 1 (padded): coordinates do not ascend"},
      {ell, {2, 3}, {}, {{1, {1, 1, 1, 2}}}, 4, "level 1 (padded): a coordinate stands twice"},
      {ell, {2, 3}, {}, {{1, {1, 2, 1}}}, 3, "level 1 (padded): crd is too short"},
      {delta,
       {2, 4},
       {{1, {0, 2, 3}}},
       {{1, {1, 2, 0}}},
       3,
       "level 1 (delta): the gaps of parent position 0 lead out of range"},
      {delta, {2, 4}, {{1, {0, 1, 2}}}, {{1, {4, 0}}}, 2, "level 1 (delta): coordinate does not fit in 2 bits"},
      {delta, {2, 4}, {{1, {0, 1, 3}}}, {{1, {1, 0}}}, 2, "level 1 (delta): pos ends beyond"},
      {bitmap, {2, 3}, {{1, {0, 2, 2}}}, {{1, {1, 0}}}, 2, "level 1 (bitmap): coordinates do not ascend"},
      {bitmap, {2, 3}, {{1, {0, 2, 2}}}, {{1, {1, 3}}}, 2, "level 1 (bitmap): coordinate out of range"},
      {n_of_m, {1, 4}, {}, {{2, {2, 1}}}, 2, "level 2 (structured): coordinates of a group do not ascend"},
      {n_of_m, {1, 4}, {}, {{2, {1, 1}}}, 2, "level 2 (structured): coordinates of a group do not ascend"},
      {n_of_m, {1, 4}, {}, {{2, {1, 4}}}, 2, "level 2 (structured): coordinate does not fit in 2 bits"},
      {n_of_m, {1, 4}, {}, {{2, {1}}}, 2, "level 2 (structured): crd is too short"},
      {n_of_m, {1, 4}, {}, {{2, {0, 1}}}, 1, "values are too short"},
      {"(i, j) -> (i / 2 : dense, j / 2 : compressed, i % 2 : dense, j % 2 : dense)",
       {2, 2},
       {{1, {0, 1}}},
       {{1, {0}}},
       3,
       "values are too short"},
  };
  for (const Case& c : cases) {
    RawArrays a;
    for (auto& [l, v] : c.pos) a.pos[l] = Buffer::copy_of(std::span<const std::int64_t>(v));
    for (auto& [l, v] : c.crd) a.crd[l] = Buffer::copy_of(std::span<const std::int64_t>(v));
    a.values = Buffer::zeros(DType::f64, c.values);
    CAPTURE(c.format);
    const std::string said = message([&] { make_tensor(parse_format(c.format), c.shape, a); });
    CHECK_MESSAGE(contains(said, c.says), said);
  }
}

TEST_CASE("unsigned coordinates") {
  RawArrays a;
  a.crd[0] = array<std::uint8_t>({1});
  a.values = array<double>({1, 2, 3});
  const std::string dia =
      message([&] { make_tensor(parse_format("(i, j) -> (j - i : compressed, i : range)"), {3, 3}, a); });
  CHECK_MESSAGE(contains(dia, "level 0 (compressed): coordinates start below zero"), dia);
  RawArrays e;
  e.crd[1] = array<std::uint8_t>({1});
  e.values = array<double>({1});
  CHECK_NOTHROW(make_tensor(parse_format("(i, j) -> (i : dense, j : padded(1))"), {1, 255}, e));
  const std::string ell =
      message([&] { make_tensor(parse_format("(i, j) -> (i : dense, j : padded(1))"), {1, 256}, e); });
  CHECK_MESSAGE(contains(ell, "level 1 (padded)"), ell);
}

TEST_CASE("shapes that make no sense") {
  RawArrays a = {};
  a.values = Buffer::zeros(DType::f64, 4);
  CHECK_THROWS_AS(make_tensor(parse_format("dense"), {2, 2, 1}, a), TensorError);
  CHECK_THROWS_AS(make_tensor(parse_format("dense"), {-2, 2}, a), TensorError);
  CHECK_THROWS_AS(make_tensor(parse_format("dense"), {std::int64_t{1} << 40, std::int64_t{1} << 40}, a), TensorError);
  CHECK_THROWS_AS(make_tensor(parse_format("dense"), {3, 2}, a), TensorError);
}

TEST_CASE("validate sees what changed behind our back") {
  std::vector<I> pos{0, 1, 2}, crd{0, 1};
  RawArrays a;
  a.pos[1] = Buffer::borrow(std::span<const I>(pos));
  a.crd[1] = Buffer::borrow(std::span<const I>(crd));
  a.values = array<double>({1, 2});
  const Tensor t = make_tensor(parse_format("CSR"), {2, 2}, a);
  CHECK_NOTHROW(t.validate());
  crd[1] = 5;
  CHECK_THROWS_AS(t.validate(), TensorError);
}

TEST_CASE("types hash and compare") {
  CHECK(csr().type() == csr().type());
  CHECK(csr().type().hash() == csr().type().hash());
  TensorType other = csr().type();
  other.shape[0] = 4;
  CHECK_FALSE(other == csr().type());
  CHECK(other.hash() != csr().type().hash());
}
