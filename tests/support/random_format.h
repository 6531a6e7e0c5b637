#pragma once
// Random valid formats: dimensions are split and skewed a few times, the leaves are shuffled, and each gets a type that
// may stand there.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "strata/format.h"

namespace strata::testing {

struct RandomFormatOptions {
  /// Only formats into which every tensor can be converted: no structured, no fixed number of slots, singletons only
  /// below nonunique levels.
  bool any_tensor = true;
  int max_operations = 3;  ///< splits and skews in one part
  int max_parts = 1;       ///< sums
  bool batches = true;
  bool skews = true;
  bool properties = true;   ///< unordered and (beyond COO) nonunique levels
  bool only_dense = false;  ///< dense and batch levels
};

class RandomFormat {
 public:
  RandomFormat(std::mt19937_64& random, int rank, const RandomFormatOptions& options)
      : random_(random), rank_(rank), o_(options) {}

  std::string text() {
    std::string out = part();
    for (int k = pick(o_.max_parts); k > 0; --k) out += " + " + part();
    return out;
  }

 private:
  struct Expr {
    char op = 'd';  // d, /, %, +, -
    int a = -1, b = -1;
    long long n = 0;
  };
  std::mt19937_64& random_;
  int rank_;
  RandomFormatOptions o_;
  std::vector<Expr> exprs_;

  int pick(int below) { return below <= 1 ? 0 : static_cast<int>(random_() % static_cast<unsigned>(below)); }
  bool chance(int percent) { return pick(100) < percent; }
  const Expr& at(int e) const { return exprs_[static_cast<std::size_t>(e)]; }
  int add(Expr e) {
    exprs_.push_back(e);
    return static_cast<int>(exprs_.size()) - 1;
  }

  std::string name(int d) const {
    return std::string(1, static_cast<char>('i' + d % 18)) + (d < 18 ? "" : std::to_string(d));
  }
  std::string print(int e) {
    const Expr x = at(e);
    if (x.op == 'd') return name(x.a);
    const auto operand = [&](int o) { return at(o).op == 'd' ? print(o) : "(" + print(o) + ")"; };
    if (x.op == '/') return operand(x.a) + (chance(50) ? " / " : "//") + std::to_string(x.n);
    if (x.op == '%') return operand(x.a) + " % " + std::to_string(x.n);
    return operand(x.a) + " " + x.op + " " + operand(x.b);
  }
  bool reads(int e, int x) const {
    return e == x || (at(e).op != 'd' && (reads(at(e).a, x) || (at(e).b >= 0 && reads(at(e).b, x))));
  }
  bool can_be_negative(int e) const {
    return at(e).op == '-' || (at(e).op != 'd' && at(e).op != '%' &&
                               (can_be_negative(at(e).a) || (at(e).b >= 0 && can_be_negative(at(e).b))));
  }

  std::string part() {
    exprs_.clear();
    std::vector<int> leaves;
    for (int d = 0; d < rank_; ++d) leaves.push_back(add({'d', d, -1, 0}));
    for (int k = rank_ > 0 ? pick(o_.max_operations + 1) : 0; k > 0; --k) {
      const auto p = static_cast<std::size_t>(pick(static_cast<int>(leaves.size()))),
                 q = static_cast<std::size_t>(pick(static_cast<int>(leaves.size())));
      if (o_.skews && p != q && chance(50)) {
        const bool swap = chance(50);
        leaves[p] = add({chance(50) ? '+' : '-', leaves[swap ? q : p], leaves[swap ? p : q], 0});
      } else {
        const int e = leaves[p];
        const long long n = 1 + pick(5);
        leaves[p] = add({'/', e, -1, n});
        leaves.push_back(add({'%', e, -1, n}));
      }
    }
    return levels(leaves);
  }

  std::string levels(std::vector<int> leaves) {
    std::shuffle(leaves.begin(), leaves.end(), random_);
    // Batches go in front: plain dimensions that nothing else reads.
    std::size_t batches = 0;
    if (o_.batches && chance(20))
      for (std::size_t k = 0; k < leaves.size() && batches < 2; ++k) {
        int readers = 0;
        for (const int e : leaves) readers += reads(e, leaves[k]);
        if (at(leaves[k]).op == 'd' && readers == 1 && chance(50)) std::swap(leaves[batches++], leaves[k]);
      }
    std::string out = "(";
    for (int d = 0; d < rank_; ++d) out += (d > 0 ? ", " : "") + name(d);
    out += ") -> (";
    bool chain = false;  // below a nonunique level
    for (std::size_t l = 0; l < leaves.size(); ++l) {
      out += (l > 0 ? ", " : "") + print(leaves[l]) + " : ";
      out += l < batches ? std::string("batch") : type(leaves, l, l == batches, chain);
    }
    return out + ")";
  }

  /// Is leaves[l] a plain side of a skew that is stored before it?
  bool range_may_stand(const std::vector<int>& leaves, std::size_t l) const {
    if (at(leaves[l]).op != 'd') return false;
    for (int e = 0; e < static_cast<int>(exprs_.size()); ++e) {
      if ((at(e).op != '+' && at(e).op != '-') || (at(e).a != leaves[l] && at(e).b != leaves[l])) continue;
      bool earlier = true;
      for (std::size_t o = l; o < leaves.size(); ++o) earlier = earlier && !reads(leaves[o], e);
      if (earlier) return true;
    }
    return false;
  }

  std::string type(const std::vector<int>& leaves, std::size_t l, bool first, bool& chain) {
    const int e = leaves[l];
    const bool last = l + 1 == leaves.size(), wild = !o_.any_tensor;
    if (o_.only_dense) return "dense";
    if (chain) {
      chain = !last && chance(60);
      return std::string("singleton") + (wild && o_.properties && chance(10) ? "(nonunique)" : "");
    }
    if (range_may_stand(leaves, l) && chance(70)) return "range";
    std::string property = o_.properties && chance(10) ? "(unordered)" : "";
    if (wild && o_.properties && chance(10)) property = chance(50) ? "(nonunique)" : "(nonunique, unordered)";
    switch (pick(wild ? 10 : 8)) {
      case 0:
      case 1: return "dense";
      case 2: return "delta(" + std::to_string(1 + pick(wild ? 32 : 9)) + ")";
      case 3: return "bitmap";
      case 4:
        if (can_be_negative(e)) return "compressed";
        return wild && chance(50) ? "padded(" + std::to_string(1 + pick(4)) + ")" : "padded" + property;
      case 5:
        if (!last) {
          chain = true;
          return "compressed(nonunique)";
        }
        return "compressed";
      case 8:
        return at(e).op == '%' ? "structured(" + std::to_string(1 + pick(static_cast<int>(at(e).n))) + ")"
                               : "compressed";
      case 9: return first ? "compressed" : "singleton";
      default: return "compressed" + property;
    }
  }
};

/// A random valid format of this rank.
inline Format random_format(std::mt19937_64& random, int rank, const RandomFormatOptions& options = {}) {
  return parse_format(RandomFormat(random, rank, options).text(), rank);
}

}  // namespace strata::testing
