#pragma once
// The language of formats: how the dimensions of a tensor map to the levels of its storage.
//
//   format  = part { "+" part }
//   part    = "(" dims ")" "->" "(" [ level { "," level } ] ")"  |  name [ "(" ints ")" ]
//   level   = expr ":" type [ "(" argument { "," argument } ")" ]
//   expr    = dim | expr "/" int | expr "%" int | expr "+" expr | expr "-" expr
//
// A format is valid exactly when its levels are the leaves of a tree of splits (e / n, e % n) and skews (a + b or a - b
// beside one of a, b) over its dimensions; the inverse follows and is never written.
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strata/error.h"

namespace strata {

inline constexpr int max_dims = 32, max_levels = 64, max_parts = 8, max_nodes = 512, max_name = 64;

enum class LevelKind : std::uint8_t { dense, batch, compressed, singleton, range, delta, structured, padded, bitmap };
/// The built-in ones: kinds from here on were registered by register_level.
inline constexpr int level_kind_count = 9;

/// One level: a literal. Its behaviour stands in a table by kind (src/levels/).
struct Level {
  LevelKind kind = LevelKind::dense;
  bool ordered = true;     ///< coordinates ascend within one parent
  bool unique = true;      ///< no coordinate twice within one parent
  std::int64_t arg = 0;    ///< delta: bits; structured: n; padded: k (0: the longest row decides when converting);
                           ///< registered: the number that its texts call n
  std::int16_t expr = -1;  ///< root of this level's expression in FormatSpec::exprs
  constexpr bool operator==(const Level&) const = default;
};

/// A node of a level expression over the dimensions.
struct ExprNode {
  enum Op : std::uint8_t { dim, div, mod, add, sub } op = dim;
  std::int16_t a = -1, b = -1;  ///< operands (dim: a is the dimension; div, mod: a is the operand)
  std::int64_t n = 0;           ///< div, mod: the constant
  constexpr bool operator==(const ExprNode&) const = default;
};

/// A node of the inverse: how a dimension's coordinate follows from level coordinates.
struct InverseNode {
  enum Op : std::uint8_t {
    level,
    join,
    sum,
    difference
  } op = level;                 ///< join: a * n + b; sum: a + b; difference: a - b
  std::int16_t a = -1, b = -1;  ///< operands (level: a is the level's index within its part)
  std::int64_t n = 0;
  constexpr bool operator==(const InverseNode&) const = default;
};

/// One of a format's summands: its levels, and what its coordinates say of the dimensions.
struct PartSpec {
  std::int16_t first_level = 0, num_levels = 0;
  std::array<std::int16_t, max_dims> inverse{};  ///< per dimension: root in `inverses`
  constexpr bool operator==(const PartSpec&) const = default;
};

/// A whole format as a literal, so that one constexpr parser serves run time and compile time.
struct FormatSpec {
  int num_dims = 0, num_parts = 0, num_levels = 0, num_exprs = 0, num_inverses = 0;
  std::array<std::array<char, max_name + 1>, max_dims> dims{};  ///< names, zero terminated; not part of the identity
  std::array<PartSpec, max_parts> parts{};
  std::array<Level, max_levels> levels{};
  std::array<ExprNode, max_nodes> exprs{};
  std::array<InverseNode, max_nodes> inverses{};
};

/// Coordinates [lo, lo + size) that a level ranges over.
struct LevelRange {
  std::int64_t lo = 0, size = 0;
  constexpr bool operator==(const LevelRange&) const = default;
};

/// An immutable format. Equality and hash are structural: names of formats and of dimensions do not count.
class Format {
 public:
  Format();  ///< the scalar format () -> ()
  /// From a literal: of a StaticFormat, or filled by hand. Checked like a text; the inverse is worked out afresh.
  /// FormatError.
  explicit Format(const FormatSpec& spec);

  int rank() const;          ///< number of dimensions
  int num_parts() const;     ///< 1 unless it is a sum
  Format part(int k) const;  ///< the k-th part as a format of its own
  const FormatSpec& spec() const { return *spec_; }

  // --- a single part (part 0 of a sum) ---
  int num_levels() const;
  const Level& level(int l) const;
  std::span<const Level> levels() const;
  std::string_view dim_name(int d) const;

  /// Coordinates that level l ranges over for a tensor of this shape (FormatError where a size exceeds int64).
  LevelRange level_range(int l, std::span<const std::int64_t> shape) const;
  std::vector<LevelRange> level_ranges(std::span<const std::int64_t> shape) const;
  /// Level coordinates of dimension coordinates, and back. `/` floors, `%` is not negative.
  void dim2lvl(std::span<const std::int64_t> dims, std::span<std::int64_t> lvls) const;
  void lvl2dim(std::span<const std::int64_t> lvls, std::span<std::int64_t> dims) const;

  /// Evaluates level l's expression over any type with `+ -` (T, T) and functions floor_div(T, int64), floor_mod(T,
  /// int64) found by ADL or passed in `ops`; `leaf(d)` gives dimension d.
  template <class T, class Leaf, class Div, class Mod> T eval_level(int l, Leaf leaf, Div div, Mod mod) const;
  /// Evaluates dimension d over any type with `+ -` (T, T) and `*` (T, int64); `leaf(l)` gives level l's coordinate.
  template <class T, class Leaf> T eval_dim(int d, Leaf leaf) const;
  /// The last level (index) on which dimension d depends; -1 for none (rank-0 part).
  int completing_level(int d) const;
  /// The constant size of a level that does not depend on the shape (e % n), or 0.
  std::int64_t constant_size(int l) const;

  bool is_all_dense() const;   ///< only dense and batch levels, in every part
  bool can_hold_fill() const;  ///< design 3: may stored slots be fill-in?
  int num_batch_levels() const;
  bool is_identity() const;  ///< every level expression is a plain dimension
  bool is_ordered() const;   ///< all levels
  bool is_unique()
      const;  ///< no duplicates of whole coordinates can be stored (the last nonunique run ends in a unique leaf)

  /// The text `(i, j) -> (i : dense, j : compressed)`; parses back to an equal format.
  std::string to_string() const;
  /// The blog's notation `[i, j] -> (i: <LevelFormat.DENSE>, j: <LevelFormat.COMPRESSED>)`, which the parser reads too.
  std::string to_blog_string() const;
  /// A well-known name of this structure ("CSR", "BSR(2, 3)", "COO", ...), or "" where it has none.
  std::string name() const;
  /// Is it the format of this name or text? Structure decides. A bare name of a family ("BSR", "COO", "delta", "ELL")
  /// means any numbers and, where the name takes a rank, any rank. FormatError for a name that does not exist.
  bool is(std::string_view name) const;
  /// The same format with other dimension names (identity is unchanged).
  Format rename(std::span<const std::string> names) const;
  /// The format of the transposed tensor: dimension d of the result is dimension perm[d] of this. Moves nothing.
  Format transpose(std::span<const int> perm) const;

  std::size_t hash() const;
  bool operator==(const Format& other) const;

 private:
  explicit Format(std::shared_ptr<const FormatSpec> checked) : spec_(std::move(checked)) {}
  friend Format parse_format(std::string_view text, int rank);

  std::shared_ptr<const FormatSpec> spec_;
};

/// Builds a format from objects:
///
///     FormatBuilder f({"i", "j"});
///     const int i = f.dim(0), j = f.dim(1);
///     f.level(f.div(i, 2), {LevelKind::dense}).level(j, {LevelKind::compressed}).level(f.mod(i, 2),
///     {LevelKind::dense}); Format format = f.build();
///
/// Expressions are handles of this builder. build() checks all of it, as for a text (FormatError).
class FormatBuilder {
 public:
  explicit FormatBuilder(std::span<const std::string> dims);
  FormatBuilder(std::initializer_list<std::string> dims) : FormatBuilder(std::span(dims.begin(), dims.size())) {}
  int dim(int d);                              ///< dimension d
  int div(int expr, std::int64_t n);           ///< floor(expr / n)
  int mod(int expr, std::int64_t n);           ///< expr % n
  int add(int a, int b);                       ///< a + b
  int sub(int a, int b);                       ///< a - b
  FormatBuilder& level(int expr, Level type);  ///< the next level of the current part; type.expr is ignored
  FormatBuilder& next_part();                  ///< what follows is another part of a sum
  Format build() const { return Format(spec_); }

 private:
  int node(ExprNode e);
  FormatSpec spec_;
};

/// Parses a format text or name; `rank` (>= 0) decides what COO, CSF and dense mean without an argument.
/// Throws FormatError with carets and a suggestion.
Format parse_format(std::string_view text, int rank = -1);

/// Registers a user's own name for a format text (case ignored; no built-in name, and no dtype's). FormatError.
void register_format(std::string_view name, std::string_view text);
/// Every name that parse_format accepts, with the text (or a pattern of it) it stands for.
std::vector<std::pair<std::string, std::string>> format_names();

std::string_view name_of(LevelKind kind);  ///< "dense", "batch", ...

// ---------------------------------------------------------------------------------------------------------------
namespace detail {
template <class T, class Leaf, class Div, class Mod>
T eval_expr(const FormatSpec& s, int node, Leaf& leaf, Div& div, Mod& mod) {
  const ExprNode& e = s.exprs[static_cast<std::size_t>(node)];
  switch (e.op) {
    case ExprNode::dim: return leaf(e.a);
    case ExprNode::div: return div(eval_expr<T>(s, e.a, leaf, div, mod), e.n);
    case ExprNode::mod: return mod(eval_expr<T>(s, e.a, leaf, div, mod), e.n);
    case ExprNode::add: return eval_expr<T>(s, e.a, leaf, div, mod) + eval_expr<T>(s, e.b, leaf, div, mod);
    default: return eval_expr<T>(s, e.a, leaf, div, mod) - eval_expr<T>(s, e.b, leaf, div, mod);
  }
}
template <class T, class Leaf> T eval_inverse(const FormatSpec& s, int node, Leaf& leaf) {
  const InverseNode& e = s.inverses[static_cast<std::size_t>(node)];
  switch (e.op) {
    case InverseNode::level: return leaf(e.a);
    case InverseNode::join: return eval_inverse<T>(s, e.a, leaf) * e.n + eval_inverse<T>(s, e.b, leaf);
    case InverseNode::sum: return eval_inverse<T>(s, e.a, leaf) + eval_inverse<T>(s, e.b, leaf);
    default: return eval_inverse<T>(s, e.a, leaf) - eval_inverse<T>(s, e.b, leaf);
  }
}
}  // namespace detail

template <class T, class Leaf, class Div, class Mod> T Format::eval_level(int l, Leaf leaf, Div div, Mod mod) const {
  return detail::eval_expr<T>(*spec_, level(l).expr, leaf, div, mod);
}
template <class T, class Leaf> T Format::eval_dim(int d, Leaf leaf) const {
  return detail::eval_inverse<T>(*spec_, spec_->parts[0].inverse[static_cast<std::size_t>(d)], leaf);
}

}  // namespace strata

template <> struct std::hash<strata::Format> {
  std::size_t operator()(const strata::Format& f) const { return f.hash(); }
};
