// strata_aot DIR: writes the C texts of common kernels, to be compiled ahead of time (src/backend/cpu/aot compiles
// them).
//
//   DIR/<text hash>.c   a text, exactly as a plan would hand it to the compiler; a file whose content would not change
//   is left alone DIR/list.txt        a line for each: <text hash> <v3 | v4 | all> <function>
//
// Kernels are found again by the hash of their text, so one that is out of date is merely never asked for.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "backend/kernel.h"
#include "compiler/emit/emit_c.h"
#include "machine/machine.h"
#include "plan/key.h"
#include "plan/plan_impl.h"
#include "plan/rewrite/direct.h"
#include "strata/settings.h"

namespace {

using namespace strata;
using namespace strata::planning;

struct OperandFormat {
  std::string format;
  bool blocks = false;  ///< extents that its blocks do not divide are common too
};

const OperandFormat formats[] = {
    {"CSR"},
    {"CSC"},
    {"COO"},
    {"(i, j) -> (i : compressed, j : compressed)"},
    {"(i, j) -> (j - i : compressed, i : range)"},
    {"(i, j) -> (j - i : compressed, j : range)"},
    {"(i, j) -> (i : dense, j : delta(4))"},
    {"(i, j) -> (i : dense, j : bitmap)"},
    {"(i, j) -> (i / 2 : dense, j / 2 : compressed, i % 2 : dense, j % 2 : dense)", true},
    {"(i, j) -> (i / 3 : dense, j / 3 : compressed, i % 3 : dense, j % 3 : dense)", true},
    {"(i, j) -> (i / 4 : dense, j / 4 : compressed, i % 4 : dense, j % 4 : dense)", true},
    {"(i, j) -> (i / 8 : dense, j / 8 : compressed, i % 8 : dense, j % 8 : dense)", true},
    {"(i, j) -> (i / 16 : dense, j / 16 : compressed, i % 16 : dense, j % 16 : dense)", true},
    {"(i, j) -> (i / 32 : dense, j / 32 : compressed, i % 32 : dense, j % 32 : dense)", true},
    {"(i, j) -> (i : dense, j / 4 : dense, j % 4 : structured(2))", true},
    {"dense"}};

TensorType sparse_type(const std::string& format, const Shape& shape, DType dtype, DType index) {
  TensorType t = dense_type(shape, dtype);
  t.format = parse_format(format, static_cast<int>(shape.size()));
  if (!t.format.is_all_dense()) t.pos_dtype = t.crd_dtype = index;
  return t;
}

/// An expression over types, and about how many elements its sparse operands have.
struct Common {
  Assignment assignment;
  std::vector<TensorType> types;
  double stored;
};

/// Stored elements of a row: texts depend on them in powers of four.
constexpr double rows[] = {2, 8, 32, 128};

/// Every product whose kernel is worth having at hand. Extents and counts stand for classes: text depends on them only
/// where it must.
std::vector<Common> products() {
  std::vector<Common> out;
  const auto add = [&](const char* text, const TensorType& a, const TensorType& b) {
    const std::vector<TensorType> types{a, b};
    const std::vector<int> ranks{static_cast<int>(a.shape.size()), static_cast<int>(b.shape.size())};
    const Einsum e = parse_einsum(text, ranks);
    std::string why;
    if (kernel_plan(e, types, {}, why)) return;  // nothing is generated for it
    const double height = static_cast<double>((a.format.is_all_dense() ? b : a).shape[0]);
    for (const double row : rows) out.push_back({plain_assignment(e), types, row * height});
  };
  const std::int64_t m = 960, n = 768, many = std::int64_t{3} << 20;  // blocks divide them
  for (const auto& f : formats)
    for (DType t : {DType::f64, DType::f32})
      for (DType index : {DType::i32, DType::i64}) {
        if (index == DType::i64 && (f.blocks || f.format == "dense")) continue;
        const TensorType a = sparse_type(f.format, {m, n}, t, index);
        add("ij,j->i", a, dense_type({n}, t));
        add("ij,i->j", a, dense_type({m}, t));
        for (std::int64_t k : {std::int64_t{16}, std::int64_t{64}, std::int64_t{1000}}) {
          add("ij,jk->ik", a, dense_type({n, k}, t));
          if (f.format != "dense")  // rows that no cache holds are prefetched
            add("ij,jk->ik", sparse_type(f.format, {many, many}, t, index), dense_type({many, k}, t));
        }
        if (f.blocks) {
          const TensorType odd = sparse_type(f.format, {m + 1, n + 1}, t, index);
          add("ij,j->i", odd, dense_type({n + 1}, t));
          add("ij,jk->ik", odd, dense_type({n + 1, 64}, t));
        }
      }
  // Lists of coordinates, which each number of columns has a text for; and the texts of any number, which serve where
  // nothing compiles. (They differ by the lanes of a vector that the columns fill.)
  for (const char* f : {"COO", "CSC"})
    for (DType t : {DType::f64, DType::f32})
      for (DType index : {DType::i32, DType::i64}) {
        const TensorType a = sparse_type(f, {m, n}, t, index);
        for (std::int64_t k : {2, 4, 8, 32, 128}) add("ij,jk->ik", a, dense_type({n, k}, t));
        // A few columns more than registers hold: small matrices are walked once, and rows are added in memory.
        const TensorType small = sparse_type(f, {60, 48}, t, index);
        for (std::int64_t k : {129, 257}) add("ij,jk->ik", small, dense_type({48, k}, t));
      }
  // Sparse weights: x @ W and x @ W.T.
  for (const char* format : {"CSR", "CSC"})
    for (DType t : {DType::f64, DType::f32})
      for (std::int64_t rows_of_x : {std::int64_t{16}, std::int64_t{64}, std::int64_t{1000}}) {
        add("ij,jk->ik", dense_type({rows_of_x, m}, t), sparse_type(format, {m, n}, t, DType::i32));
        add("ij,kj->ik", dense_type({rows_of_x, n}, t), sparse_type(format, {m, n}, t, DType::i32));
      }
  // Sums of rows, which are written by hand for some processors alone.
  for (const char* sum : {"ij->i", "ij->j"})
    for (DType t : {DType::f64, DType::f32})
      for (DType index : {DType::i32, DType::i64}) {
        const TensorType a = sparse_type(std::string_view(sum) == "ij->i" ? "CSR" : "CSC", {m, n}, t, index);
        for (const double row : rows)
          out.push_back({plain_assignment(parse_einsum(sum, std::vector{2})), {a}, row * static_cast<double>(m)});
      }
  // Sums and products of two CSR matrices: the loops that walk both together.
  for (DType t : {DType::f64, DType::f32})
    for (const char* text : {"C(i,j) = A(i,j) + B(i,j)", "C(i,k) = A(i,j) * B(j,k)"}) {
      const TensorType csr = sparse_type("CSR", {n, n}, t, DType::i32);
      for (const double row : rows) out.push_back({parse_assignment(text), {csr, csr}, row * static_cast<double>(n)});
    }
  return out;
}

/// What planning sees of its operands.
Operands seen(const Common& c) {
  Operands out;
  for (std::size_t k = 0; k < c.types.size(); ++k)
    out.emplace(operand_name(k), Lazy::given(static_cast<int>(k), c.types[k], stats_for(c.types[k], c.stored)));
  return out;
}

/// Writes a file unless it already has this content.
void write(const std::filesystem::path& path, const std::string& content) {
  {
    std::ifstream in(path, std::ios::binary);
    std::stringstream now;
    now << in.rdbuf();
    if (in && now.str() == content) return;
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

struct Isa {
  const char* name;
  int vector_bytes;
};
const Isa isas[] = {{"v3", 32}, {"v4", 64}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: strata_aot DIR\nWrites the C texts of common kernels, and list.txt, to DIR.\n");
    return 2;
  }
  try {
    const std::filesystem::path dir = argv[1];
    std::filesystem::create_directories(dir);
    struct Text {
      std::string source, function;
      std::set<std::string> isas;
    };
    std::map<std::string, Text> texts;  // by hash
    settings() = Settings();
    settings().vendor = false;
    for (const Isa& isa : isas) {
      Machine m = known_machines()[0];  // not the one that builds
      m.vector_bytes = isa.vector_bytes;
      const testing::UseMachine use(m);
      for (const Common& c : products()) {
        const auto functions = direct::functions_of(c.assignment, seen(c), {});
        if (functions.empty()) throw std::runtime_error("no kernel for " + c.assignment.to_string());
        for (const ir::Function& f : functions) {
          const std::string source = emit_c(f);
          Text& t = texts[text_hash(source)];
          t.source = source;
          t.function = f.name;
          t.isas.insert(isa.name);
        }
      }
    }
    std::string list;
    for (const auto& [hash, t] : texts) {
      write(dir / (hash + ".c"), t.source);
      list += hash + " " + (t.isas.size() == std::size(isas) ? "all" : *t.isas.begin()) + " " + t.function + "\n";
    }
    for (const auto& entry : std::filesystem::directory_iterator(dir))  // texts of an older version
      if (entry.path().extension() == ".c" && !texts.count(entry.path().stem().string()))
        std::filesystem::remove(entry.path());
    // Written last, and always: the build takes its time stamp for that of the whole folder.
    std::ofstream out(dir / "list.txt", std::ios::binary | std::ios::trunc);
    out << list;
    if (!out.flush()) throw std::runtime_error("cannot write " + (dir / "list.txt").string());
    std::printf("%zu kernels\n", texts.size());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "strata_aot: %s\n", e.what());
    return 1;
  }
}
