// Which format a result gets where none is asked for (design 4).
#include <algorithm>
#include <optional>

#include "convert/convert_elements.h"
#include "plan/asked.h"
#include "plan/expression/ways.h"
#include "reference/tree.h"

namespace strata {
namespace {

using conversion::takes_any;

/// What makes a product absent: a sparse operand, or several that are summed together.
struct Factor {
  std::vector<std::string> indices = {};  ///< that it has still; not those of an extent of 1 that is stretched
  std::optional<Format> pattern = {};     ///< where its indices are exactly the output's: its format for these
  std::vector<char> dense_levels = {};    ///< per output dimension
  std::string why = {};
};

struct Inferred {
  /// constant; number: an operand, or a sum of all, so that its sums have a value everywhere; term: a product of
  /// factors; sum: of choices; these two are not decided upon yet
  enum Kind : std::uint8_t { constant, number, term, sum, pattern, compressed, dense } kind = constant;
  std::vector<Factor> factors = {};     ///< term
  std::vector<Inferred> parts = {};     ///< sum
  std::optional<Format> format = {};    ///< pattern
  std::vector<char> dense_levels = {};  ///< pattern, compressed: per output dimension
  std::vector<int> order = {};          ///< of the output's dimensions in storage
  std::string why = {};
  int fact = -1;  ///< the node of the tree of facts
};

/// Can it hold any of the elements of a tensor that is stored so? A sum divides fewer of them in another way, and its
/// last part must hold what the others leave.
bool takes_some(const Format& f) { return f.num_parts() == 1 || takes_any(f.part(f.num_parts() - 1)); }

bool contains(const std::vector<std::string>& list, const std::string& s) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

/// Every level that depends on dimension d is dense.
char stored_densely(const Format& f, int d) {
  if (f.num_parts() != 1) return 0;
  const FormatSpec& s = f.spec();
  for (int l = 0; l < f.num_levels(); ++l) {
    std::vector<int> stack{f.level(l).expr};
    while (!stack.empty()) {
      const ExprNode& x = s.exprs[static_cast<std::size_t>(stack.back())];
      stack.pop_back();
      if (x.op == ExprNode::dim) {
        if (x.a == d && f.level(l).kind != LevelKind::dense) return 0;
        continue;
      }
      stack.push_back(x.a);
      if (x.b >= 0) stack.push_back(x.b);
    }
  }
  return 1;
}

/// Dimensions in the order in which levels first mention them; those of one level (diagonals) in their own.
std::vector<int> storage_order(const Format& f) {
  std::vector<int> order;
  const FormatSpec& s = f.spec();
  for (int l = 0; l < f.num_levels(); ++l) {
    std::vector<int> stack{f.level(l).expr};
    const auto before = static_cast<std::ptrdiff_t>(order.size());
    while (!stack.empty()) {
      const ExprNode& x = s.exprs[static_cast<std::size_t>(stack.back())];
      stack.pop_back();
      if (x.op == ExprNode::dim) {
        if (std::find(order.begin(), order.end(), x.a) == order.end()) order.push_back(x.a);
        continue;
      }
      if (x.b >= 0) stack.push_back(x.b);
      stack.push_back(x.a);
    }
    std::sort(order.begin() + before, order.end());
  }
  return order;
}

/// Decides term by term, from the leaves up. Beside it grows the general path's tree of facts, which knows what a value
/// is where nothing is stored.
class Chooser {
 public:
  Chooser(const Assignment& a, const std::map<std::string, TensorType>& operands, const Semiring& semiring)
      : a_(a), operands_(operands), semiring_(semiring), facts_({}, semiring) {}

  Inferred choose(const Expression& e) { return decided(visit(e)); }

 private:
  Inferred visit(const Expression& e) {
    const Operator op = e.op();
    if (op == Operator::constant) return {.fact = facts_.add_constant(e)};
    if (op == Operator::access) return access(e);
    if (is_reduction(op)) return reduction(e);
    Inferred left = visit(e.argument(0));
    if (e.node().arguments.size() == 1) {
      left.fact = facts_.add_unary(op, left.fact);
      return left;
    }
    Inferred right = visit(e.argument(1));
    const int fact = facts_.add_operation(op, {left.fact, right.fact});
    Inferred out = op == Operator::multiply                              ? product(std::move(left), std::move(right))
                   : is_quotient(op) && hides(left)                      ? std::move(left)
                   : is_quotient(op) && right.kind == Inferred::constant ? std::move(left)
                                                                         : sum_of(std::move(left), std::move(right));
    out.fact = fact;
    return out;
  }

  /// Is a product with it absent where it is, and is it absent somewhere?
  bool hides(const Inferred& c) const {
    const evaluation::TreeNode& n = facts_.node(c.fact);
    return !n.always && !n.constant && (semiring_ != Semiring::plus_times || n.annihilates());
  }

  int output_dimension(const std::string& index) const {
    if (contains(bound_, index)) return -1;  // sum(j, A(j)) in R(j) has a j of its own
    const auto it = std::find(a_.indices.begin(), a_.indices.end(), index);
    return it == a_.indices.end() ? -1 : static_cast<int>(it - a_.indices.begin());
  }

  /// Does an extent of 1 stand for more?
  bool stretched(const std::string& index) const {
    std::map<std::string, Shape> shapes;
    for (const auto& [name, type] : operands_) shapes.emplace(name, type.shape);
    return index_extents(a_, shapes).at(index) != 1;
  }

  int add_leaf(DType dtype, bool dense, const evaluation::Column& fill) {
    evaluation::Leaf leaf;  // of which the facts alone are asked
    leaf.dense = dense;
    leaf.values = std::make_shared<evaluation::Column>(evaluation::zeros(dtype, 0));
    leaf.fill = evaluation::cast(fill, dtype);
    return facts_.add_leaf(std::move(leaf), {});
  }

  Inferred access(const Expression& e) {
    const auto& n = e.node();
    const TensorType& type = operands_.at(n.name);
    const bool dense = type.format.is_all_dense();
    const DType dtype = semiring_ == Semiring::or_and ? DType::boolean : type.dtype;
    Inferred c;
    c.fact = add_leaf(dtype, dense, evaluation::of_scalar(type.fill));
    if (dense) {
      c.kind = n.indices.empty() ? Inferred::number : Inferred::dense;
      c.why = "'" + n.name + "' is dense";
      return c;
    }
    c.kind = Inferred::term;
    Factor f{.dense_levels = std::vector<char>(a_.indices.size(), 0)};
    std::vector<int> perm(a_.indices.size(), -1);
    bool exact = n.indices.size() == a_.indices.size();
    for (std::size_t d = 0; d < n.indices.size(); ++d) {
      const bool plain = n.indices[d].is_plain();
      if (plain && type.shape[d] == 1 && stretched(n.indices[d].terms[0].index)) {
        exact = false;
        continue;
      }
      for (const auto& t : n.indices[d].terms)
        if (!contains(f.indices, t.index)) f.indices.push_back(t.index);
      const int o = plain ? output_dimension(n.indices[d].terms[0].index) : -1;
      if (o < 0 || perm[static_cast<std::size_t>(o)] >= 0) {
        exact = false;
        continue;
      }
      perm[static_cast<std::size_t>(o)] = static_cast<int>(d);
      f.dense_levels[static_cast<std::size_t>(o)] = stored_densely(type.format, static_cast<int>(d));
    }
    if (exact) {
      f.pattern = type.format.transpose(perm);
      f.why = "the pattern of '" + n.name + "', whose indices are the result's";
    }
    c.factors.push_back(std::move(f));
    return c;
  }

  static Inferred sum_of(Inferred left, Inferred right) {
    if (left.kind == Inferred::constant) return right;
    if (right.kind == Inferred::constant) return left;
    Inferred out{.kind = Inferred::sum};
    out.parts.push_back(std::move(left));
    out.parts.push_back(std::move(right));
    return out;
  }

  /// The whole as one factor: of a product it has the indices of all factors, of a sum those that all terms have.
  std::optional<Factor> as_factor(const Inferred& c) const {
    std::optional<Factor> out;
    if (c.kind == Inferred::term) {
      for (const Factor& f : c.factors) {
        if (!out) out = f;
        else join(*out, f);
      }
    } else if (c.kind == Inferred::sum) {
      for (const Inferred& part : c.parts) {
        const auto f = as_factor(part);
        if (!f) return std::nullopt;
        if (!out) out = f;
        else std::erase_if(out->indices, [&](const auto& i) { return !contains(f->indices, i); });
      }
    }
    if (!out) return out;
    const Inferred own = decided(c);
    out->pattern = own.format;
    out->why = own.why;
    return out;
  }
  static void join(Factor& to, const Factor& more) {
    for (const auto& i : more.indices)
      if (!contains(to.indices, i)) to.indices.push_back(i);
    for (std::size_t d = 0; d < more.dense_levels.size(); ++d) to.dense_levels[d] |= more.dense_levels[d];
  }
  std::vector<Factor> factors_of(Inferred c) const {
    if (c.kind == Inferred::term) return std::move(c.factors);
    const auto f = as_factor(c);
    return f ? std::vector<Factor>{*f} : std::vector<Factor>{};
  }

  Inferred product(Inferred left, Inferred right) const {
    const bool left_hides = hides(left), right_hides = hides(right);
    if (left_hides && right_hides) {
      Inferred out{.kind = Inferred::term, .factors = factors_of(std::move(left))};
      for (Factor& f : factors_of(std::move(right))) out.factors.push_back(std::move(f));
      return out;
    }
    if (left_hides) return left;
    if (right_hides) return right;
    for (const auto kind : {Inferred::dense, Inferred::number})
      for (Inferred* c : {&left, &right})
        if (c->kind == kind) return std::move(*c);
    return sum_of(std::move(left), std::move(right));
  }

  Inferred reduction(const Expression& e) {
    const std::string& index = e.node().name;
    bound_.push_back(index);
    Inferred c = visit(e.argument());
    bound_.pop_back();
    const evaluation::TreeNode& inner = facts_.node(c.fact);
    const bool ring = semiring_ != Semiring::plus_times;
    const DType dtype = ring ? inner.dtype : evaluation::type_of_reduction(e.op(), inner.dtype, e.node().implicit);
    const bool number = e.free_indices().empty() && !ring;
    c.fact = add_leaf(dtype, inner.always || inner.constant || number, inner.fill);
    if (c.kind == Inferred::constant) return c;
    if (number) {
      c.kind = Inferred::number;
      c.why = "'" + e.to_string() + "' is a number";
      return c;
    }
    // Factors that are summed over the same index are one from here on.
    std::optional<Factor> joined;
    std::vector<Factor> others;
    if (c.kind != Inferred::term && c.kind != Inferred::sum) return c;
    const int fact = c.fact;
    for (Factor& f : factors_of(std::move(c))) {
      if (!contains(f.indices, index)) {
        others.push_back(std::move(f));
        continue;
      }
      std::erase(f.indices, index);
      f.pattern.reset();
      if (!joined) joined = std::move(f);
      else join(*joined, f);
    }
    if (joined) others.push_back(std::move(*joined));
    return {.kind = Inferred::term, .factors = std::move(others), .fact = fact};
  }

  /// Can one come from each index of the output to every other by way of factors that share an index?
  bool connects(const std::vector<Factor>& factors) const {
    std::vector<std::string> reached;
    std::vector<char> used(factors.size(), 0);
    const auto is_output = [&](const std::string& i) { return contains(a_.indices, i); };
    for (bool grows = true; grows;) {
      grows = false;
      for (std::size_t k = 0; k < factors.size(); ++k) {
        const auto& own = factors[k].indices;
        const bool meets = reached.empty()
                               ? std::ranges::any_of(own, is_output)
                               : std::ranges::any_of(own, [&](const auto& i) { return contains(reached, i); });
        if (used[k] || !meets) continue;
        used[k] = grows = true;
        reached.insert(reached.end(), own.begin(), own.end());
      }
    }
    return std::ranges::all_of(a_.indices, [&](const auto& i) { return contains(reached, i); });
  }

  /// The format of a term, or of several.
  Inferred decided(Inferred c) const {
    if (c.kind == Inferred::sum) {
      Inferred out = decided(c.parts[0]);
      for (std::size_t k = 1; k < c.parts.size(); ++k) out = united(out, decided(c.parts[k]));
      return out;
    }
    if (c.kind != Inferred::term) return c;
    for (Factor& f : c.factors)
      if (f.pattern && (c.factors.size() == 1 || takes_some(*f.pattern))) {
        c.kind = Inferred::pattern;
        c.format = f.pattern;
        c.dense_levels = f.dense_levels;
        c.order = storage_order(*f.pattern);
        c.why = f.why;
        return c;
      }
    c.kind = Inferred::dense;
    const auto lone = std::ranges::find_if(a_.indices, [&](const std::string& i) {
      return std::ranges::none_of(c.factors, [&](const Factor& f) { return contains(f.indices, i); });
    });
    if (a_.indices.size() <= 1) {
      c.why = "it has one index, which no operand has alone";
    } else if (lone != a_.indices.end()) {
      c.why = "no sparse operand has the index " + *lone;
    } else if (!connects(c.factors)) {
      c.why = "the sparse operands share no index";
    } else {
      c.kind = Inferred::compressed;
      c.why = "the sparse operands have all of its indices";
      c.dense_levels.assign(a_.indices.size(), 0);
      for (const Factor& f : c.factors)
        for (std::size_t d = 0; d < c.dense_levels.size(); ++d) c.dense_levels[d] |= f.dense_levels[d];
      for (std::size_t o = 0; o < a_.indices.size(); ++o) c.order.push_back(static_cast<int>(o));
    }
    return c;
  }

  /// Where either has values.
  static Inferred united(const Inferred& left, const Inferred& right) {
    if (left.kind == Inferred::constant) return right;
    if (right.kind == Inferred::constant) return left;
    for (const auto kind : {Inferred::dense, Inferred::number})
      for (const Inferred* c : {&left, &right})
        if (c->kind == kind) return *c;
    Inferred out = left;
    if (left.kind == Inferred::pattern && right.kind == Inferred::pattern && *left.format == *right.format &&
        takes_any(*left.format)) {
      out.why = "all terms are stored so";
      return out;
    }
    out.kind = Inferred::compressed;
    out.why = "terms of different patterns unite, in the first one's order";
    return out;
  }

  const Assignment& a_;
  const std::map<std::string, TensorType>& operands_;
  const Semiring& semiring_;
  evaluation::Tree facts_;
  std::vector<std::string> bound_;  ///< indices of the reductions around
};

/// Its dimensions are called as the indices of the result.
Format compressed_format(const Inferred& c, const std::vector<std::string>& indices) {
  FormatBuilder b(indices);
  // CSR times CSC would be dense in both: a product of sparse matrices must not fill memory.
  bool all_dense = c.order.size() > 1;
  for (char dense : c.dense_levels) all_dense = all_dense && dense;
  // A dense level below a compressed one would be filled in: it stands above.
  std::vector<int> order = c.order;
  const auto is_dense = [&](int d) { return c.dense_levels[static_cast<std::size_t>(d)] != 0; };
  if (!all_dense) std::stable_partition(order.begin(), order.end(), is_dense);
  for (int d : order) {
    const bool dense = is_dense(d) && !(all_dense && d == order.back());
    b.level(b.dim(d), Level{.kind = dense ? LevelKind::dense : LevelKind::compressed});
  }
  return b.build();
}

}  // namespace

ResultFormat result_format(const Assignment& a, const std::map<std::string, TensorType>& operands,
                           const EvaluateOptions& options) {
  std::optional<planning::Lazy> mask;
  if (options.mask) mask = planning::Lazy::given(0, options.mask->type(), {});
  return planning::result_format(a, operands, planning::asked_of(options, std::move(mask)));
}

Format planning::with_room(const Format& f) { return f.num_parts() == 1 ? f : with_any_room(f); }

Format planning::with_any_room(const Format& f) {
  FormatSpec spec = f.spec();
  for (int l = 0; l < spec.num_levels; ++l)
    if (Level& level = spec.levels[static_cast<std::size_t>(l)]; level.kind == LevelKind::padded) level.arg = 0;
  return Format(spec);
}

ResultFormat planning::result_format(const Assignment& a, const std::map<std::string, TensorType>& operands,
                                     const Asked& options) {
  const int rank = static_cast<int>(a.indices.size());
  if (rank == 0) return {Format(), "the result is a single number"};
  Inferred c = Chooser(a, operands, options.semiring).choose(a.total());
  if (options.mask && c.kind == Inferred::pattern && !takes_some(*c.format)) {
    c.kind = Inferred::compressed;
    c.why = "all operands are sparse";
  }
  switch (c.kind) {
    case Inferred::pattern: return {with_room(*c.format), c.why};
    case Inferred::compressed: return {compressed_format(c, a.indices), c.why};
    default:
      if (options.mask && !options.complement_mask && !options.mask->format().is_all_dense() &&
          options.mask->rank() == rank)
        return {with_room(options.mask->format()), "pattern of the mask"};
      return {conversion::dense_format(rank), c.why.empty() ? "no operand is sparse" : c.why};
  }
}

Format evaluation::wanted_format(const Assignment& a, const Operands& operands, const Asked& options) {
  if (options.format) return *options.format;
  std::map<std::string, TensorType> types;
  for (const auto& [name, t] : operands) types.emplace(name, t.type());
  return result_format(a, types, options).format;
}

}  // namespace strata
