#include "strata/format.h"

#include <algorithm>

#include "format/dim_name.h"
#include "format/print.h"
#include "format/registered_levels.h"
#include "strata/format_family.h"

namespace strata {
namespace {

std::shared_ptr<const FormatSpec> scalar_spec() {
  thread_local const auto spec = [] {
    detail::FormatParser parser("() -> ()", 0, {});
    parser.parse();
    return std::make_shared<const FormatSpec>(parser.spec);
  }();
  return spec;
}

[[noreturn]] void refuse_spec(const char* what, std::string got) {
  throw FormatError(
      {.what = what, .expected = "a FormatSpec as the parser or FormatBuilder makes it", .got = std::move(got)});
}

/// Can this literal be printed at all? Then its text is checked like any other.
void check_indices(const FormatSpec& s) {
  const auto between = [](std::int64_t x, std::int64_t least, std::int64_t most, const char* what) {
    if (x < least || x > most) refuse_spec(what, std::to_string(x));
  };
  between(s.num_dims, 0, max_dims, "a format has from 0 to 32 dimensions");
  between(s.num_parts, 1, max_parts, "a format has from 1 to 8 parts");
  between(s.num_levels, 0, max_levels, "a format has from 0 to 64 levels");
  between(s.num_exprs, 0, max_nodes, "a format has from 0 to 512 expressions");
  for (int d = 0; d < s.num_dims; ++d) {
    const auto& name = s.dims[static_cast<std::size_t>(d)];
    const auto end = std::find(name.begin(), name.end(), '\0');
    if (end == name.end()) refuse_spec("the name of a dimension does not end", std::to_string(d));
    bool word = end != name.begin() && !(name[0] >= '0' && name[0] <= '9');
    for (auto c = name.begin(); c != end; ++c)
      word = word && ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_');
    if (!word) refuse_spec("this is not the name of a dimension", std::string(name.begin(), end));
  }
  std::array<int, max_nodes> depth{}, size{};  // size: nodes of the expression written out as a tree
  for (int e = 0; e < s.num_exprs; ++e) {
    const ExprNode& n = s.exprs[static_cast<std::size_t>(e)];
    int &d = depth[static_cast<std::size_t>(e)], &w = size[static_cast<std::size_t>(e)];
    d = w = 1;
    if (n.op > ExprNode::sub) refuse_spec("this expression has no operator", std::to_string(n.op));
    if (n.op == ExprNode::dim) {
      between(n.a, 0, s.num_dims - 1, "an expression reads a dimension that is not there");
      continue;
    }
    const auto operand = [&](int x) {
      between(x, 0, e - 1, "an expression reads an expression that does not stand before it");
      d = std::max(d, 1 + depth[static_cast<std::size_t>(x)]);
      w += size[static_cast<std::size_t>(x)];
    };
    operand(n.a);
    if (n.op == ExprNode::add || n.op == ExprNode::sub) operand(n.b);
    if (d > detail::max_depth || w > max_nodes) refuse_spec("an expression is too large", std::to_string(w));
  }
  int next = 0;
  for (int k = 0; k < s.num_parts; ++k) {
    const auto& part = s.parts[static_cast<std::size_t>(k)];
    if (part.first_level != next)
      refuse_spec("the parts of a format do not follow each other", std::to_string(part.first_level));
    between(part.num_levels, 0, s.num_levels - next, "a part has more levels than there are");
    next += part.num_levels;
  }
  if (next != s.num_levels) refuse_spec("some levels belong to no part", std::to_string(s.num_levels - next));
  for (int l = 0; l < s.num_levels; ++l) {
    const Level& level = s.levels[static_cast<std::size_t>(l)];
    between(level.expr, 0, s.num_exprs - 1, "a level has no expression");
    between(static_cast<int>(level.kind), 0, level_kind_count + levels::registered_count() - 1, "a level has no type");
    // Not printed, so not seen by the check of the text.
    const bool number = level.kind == LevelKind::delta || level.kind == LevelKind::structured ||
                        level.kind == LevelKind::padded || levels::is_registered(level.kind);
    if (!number && level.arg != 0) refuse_spec("this type of level takes no number", std::to_string(level.arg));
    if (level.arg < 0) refuse_spec("the number of a level is negative", std::to_string(level.arg));
  }
}

}  // namespace

Format::Format() : spec_(scalar_spec()) {}

Format::Format(const FormatSpec& spec) {
  check_indices(spec);
  spec_ = std::make_shared<const FormatSpec>(spec);  // to_string reads it
  spec_ = parse_format(to_string()).spec_;
}

std::string Format::to_string() const { return text_of(spec()); }
std::string Format::to_blog_string() const { return blog_text_of(spec()); }

int Format::rank() const { return spec_->num_dims; }
int Format::num_parts() const { return spec_->num_parts; }
int Format::num_levels() const { return spec_->parts[0].num_levels; }
const Level& Format::level(int l) const { return spec_->levels[static_cast<std::size_t>(l)]; }
std::span<const Level> Format::levels() const { return {spec_->levels.data(), static_cast<std::size_t>(num_levels())}; }
std::string_view Format::dim_name(int d) const { return spec_->dims[static_cast<std::size_t>(d)].data(); }

Format Format::part(int k) const {
  if (k < 0 || k >= num_parts())
    throw FormatError({.what = "the format has no such part",
                       .expected = "from 0 to " + std::to_string(num_parts() - 1),
                       .got = std::to_string(k)});
  if (num_parts() == 1) return *this;
  const FormatSpec& s = *spec_;
  FormatSpec one;
  one.num_dims = s.num_dims;
  one.dims = s.dims;
  one.num_parts = 1;
  const auto& part = s.parts[static_cast<std::size_t>(k)];
  one.parts[0].num_levels = part.num_levels;
  one.num_levels = part.num_levels;
  // The expressions of a part lie side by side and end where the last level's root stands: from the end of the part
  // before it.
  const int first = k == 0 ? 0 : 1 + [&] {
    const auto& before = s.parts[static_cast<std::size_t>(k - 1)];
    int last = -1;
    for (int l = 0; l < before.first_level + before.num_levels; ++l)
      last = std::max<int>(last, s.levels[static_cast<std::size_t>(l)].expr);
    return last;
  }();
  for (int l = 0; l < part.num_levels; ++l) {
    Level level = s.levels[static_cast<std::size_t>(part.first_level + l)];
    level.expr = static_cast<std::int16_t>(level.expr - first);
    one.levels[static_cast<std::size_t>(l)] = level;
    one.num_exprs = std::max(one.num_exprs, level.expr + 1);
  }
  for (int e = 0; e < one.num_exprs; ++e) {
    ExprNode n = s.exprs[static_cast<std::size_t>(first + e)];
    if (n.op != ExprNode::dim) {
      n.a = static_cast<std::int16_t>(n.a - first);
      if (n.b >= 0) n.b = static_cast<std::int16_t>(n.b - first);
    }
    one.exprs[static_cast<std::size_t>(e)] = n;
  }
  one.num_inverses = s.num_inverses;  // those of other parts are not reached
  one.inverses = s.inverses;
  one.parts[0].inverse = part.inverse;
  return Format(std::make_shared<const FormatSpec>(one));
}

bool Format::is_all_dense() const { return detail::is_all_dense(*spec_); }

bool Format::can_hold_fill() const {
  const FormatSpec& s = *spec_;
  for (int k = 0; k < s.num_parts; ++k) {
    const auto& part = s.parts[static_cast<std::size_t>(k)];
    bool chooses = false,
         fills = false;  // chooses: some level stores only what is there; fills: a level below it does not
    for (int l = part.first_level; l < part.first_level + part.num_levels; ++l) {
      switch (s.levels[static_cast<std::size_t>(l)].kind) {
        case LevelKind::compressed:
        case LevelKind::bitmap:
        case LevelKind::padded: chooses = true, fills = false; break;
        case LevelKind::dense:
        case LevelKind::range:
        case LevelKind::delta:
        case LevelKind::structured: fills = true; break;
        default:
          if (!levels::is_registered(s.levels[static_cast<std::size_t>(l)].kind)) break;
          fills = levels::registered(s.levels[static_cast<std::size_t>(l)].kind).type.fills;
          chooses = chooses || !fills;
      }
    }
    if (fills || !chooses) return true;
  }
  return false;
}

int Format::num_batch_levels() const {
  int n = 0;
  while (n < num_levels() && level(n).kind == LevelKind::batch) ++n;
  return n;
}

bool Format::is_identity() const {
  const FormatSpec& s = *spec_;
  for (int l = 0; l < s.num_levels; ++l)
    if (s.exprs[static_cast<std::size_t>(s.levels[static_cast<std::size_t>(l)].expr)].op != ExprNode::dim) return false;
  return true;
}

bool Format::is_ordered() const {
  const FormatSpec& s = *spec_;
  return std::all_of(s.levels.begin(), s.levels.begin() + s.num_levels, [](const Level& l) { return l.ordered; });
}

// A nonunique level repeats prefixes; the pairs are distinct where the singletons below it end in a unique one (COO).
// Under any other level below a nonunique one, two parents of equal coordinates may hold the same child.
bool Format::is_unique() const {
  const FormatSpec& s = *spec_;
  if (s.num_parts > 1) return false;  // parts may overlap
  for (int l = 0; l < s.num_levels; ++l)
    if (!level(l).unique && (l + 1 == s.num_levels || level(l + 1).kind != LevelKind::singleton)) return false;
  return true;
}

Format Format::rename(std::span<const std::string> names) const {
  if (static_cast<int>(names.size()) != rank())
    throw FormatError(
        {.what = "wrong number of names", .expected = std::to_string(rank()), .got = std::to_string(names.size())});
  FormatSpec s = *spec_;
  for (int d = 0; d < rank(); ++d) set_dim_name(s, d, names[static_cast<std::size_t>(d)]);
  return Format(s);
}

Format Format::transpose(std::span<const int> perm) const {
  const auto n = static_cast<std::size_t>(rank());
  std::array<int, max_dims> target{};  // where dimension d of this goes
  target.fill(-1);
  bool good = perm.size() == n;
  for (std::size_t d = 0; good && d < n; ++d) {
    good = perm[d] >= 0 && perm[d] < rank() && target[static_cast<std::size_t>(perm[d])] < 0;
    if (good) target[static_cast<std::size_t>(perm[d])] = static_cast<int>(d);
  }
  if (!good) {
    std::string got;
    for (const int d : perm) got += (got.empty() ? "" : ", ") + std::to_string(d);
    throw FormatError({.what = "this is no permutation of the dimensions",
                       .expected = "each of 0 to " + std::to_string(rank() - 1) + " once",
                       .got = got});
  }
  FormatSpec s = *spec_;
  for (int e = 0; e < s.num_exprs; ++e)
    if (auto& node = s.exprs[static_cast<std::size_t>(e)]; node.op == ExprNode::dim)
      node.a = static_cast<std::int16_t>(target[static_cast<std::size_t>(node.a)]);
  for (std::size_t d = 0; d < n; ++d) s.dims[d] = spec_->dims[static_cast<std::size_t>(perm[d])];
  for (int k = 0; k < s.num_parts; ++k)
    for (std::size_t d = 0; d < n; ++d)
      s.parts[static_cast<std::size_t>(k)].inverse[d] =
          spec_->parts[static_cast<std::size_t>(k)].inverse[static_cast<std::size_t>(perm[d])];
  return Format(std::make_shared<const FormatSpec>(s));
}

bool Format::operator==(const Format& other) const {
  return spec_ == other.spec_ || detail::same_structure(*spec_, *other.spec_);
}

std::size_t Format::hash() const {
  std::uint64_t h = 1469598103934665603u;  // FNV-1a, by words
  const auto add = [&](std::int64_t x) { h = (h ^ static_cast<std::uint64_t>(x)) * 1099511628211u, h ^= h >> 29; };
  const FormatSpec& s = *spec_;
  add(s.num_dims);
  for (int k = 0; k < s.num_parts; ++k) add(s.parts[static_cast<std::size_t>(k)].num_levels);
  for (int l = 0; l < s.num_levels; ++l) {
    const Level& level = s.levels[static_cast<std::size_t>(l)];
    add(static_cast<int>(level.kind) * 4 + level.ordered * 2 + level.unique);
    add(level.arg);
    add(level.expr);
  }
  for (int e = 0; e < s.num_exprs; ++e) {
    const ExprNode& n = s.exprs[static_cast<std::size_t>(e)];
    add((static_cast<std::int64_t>(n.op) << 40) + (static_cast<std::int64_t>(n.a) << 20) + n.b);
    add(n.n);
  }
  return static_cast<std::size_t>(h);
}

}  // namespace strata
