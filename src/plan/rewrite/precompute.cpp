#include "plan/rewrite/precompute.h"

#include <algorithm>
#include <optional>

#include "expr/chain.h"

namespace strata::direct {
namespace {

class Replacer {
 public:
  explicit Replacer(const Assignment& w) : w_(w), chain_(chain_of(w.value)), access_(w.target()) {}

  Expression apply(const Expression& e) {
    if (e == w_.value) return found();
    if (auto product = within_product(e)) return found(*product);
    Expression::Node n = e.node();
    for (auto& a : n.arguments) a = apply(a);
    return n.arguments.empty() ? e : Expression(std::move(n));
  }

  bool done() const { return found_; }
  const std::string& needed() const { return needed_; }

 private:
  Expression found() { return found(access_); }
  Expression found(const Expression& e) {
    found_ = true;
    return e;
  }

  std::optional<Expression> within_product(const Expression& e) {
    Chain whole = chain_of(e);
    if (whole.factors.size() < 2 && whole.sums.empty()) return std::nullopt;
    std::size_t first = whole.factors.size();
    for (const Expression& f : chain_.factors) {
      const auto at = std::find(whole.factors.begin(), whole.factors.end(), f);
      if (at == whole.factors.end()) return std::nullopt;
      first = std::min(first, static_cast<std::size_t>(at - whole.factors.begin()));
      whole.factors.erase(at);
    }
    for (const Expression& s : chain_.sums) {
      const std::string& i = s.node().name;
      if (!whole.sums_over(i)) return std::nullopt;
      for (const Expression& f : whole.factors) {
        const auto free = f.free_indices();
        if (std::find(free.begin(), free.end(), i) == free.end()) continue;
        needed_ = i + " in " + f.to_string();
        return std::nullopt;
      }
    }
    whole.factors.insert(whole.factors.begin() + static_cast<std::ptrdiff_t>(first), access_);
    std::erase_if(whole.sums, [&](const Expression& s) { return chain_.sums_over(s.node().name); });
    return under(whole.sums, product_of(whole.factors));
  }

  const Assignment& w_;
  Chain chain_;
  Expression access_;
  bool found_ = false;
  std::string needed_;
};

}  // namespace

Expression with_workspace(const Expression& value, const Assignment& workspace) {
  Replacer replacer(workspace);
  Expression out = replacer.apply(value);
  if (replacer.done()) return out;
  const bool needed = !replacer.needed().empty();
  throw ScheduleError({.what = needed ? "precompute would sum an index that is needed after it"
                                      : "the expression does not hold what is to be precomputed",
                       .expected = needed ? "sums over indices that stand in " + workspace.value.to_string() + " alone"
                                          : "a part, or factors of a product, of " + value.to_string(),
                       .got = needed ? replacer.needed() : workspace.value.to_string(),
                       .fix = needed ? "let it stand among the indices of " + workspace.name : ""});
}

}  // namespace strata::direct
