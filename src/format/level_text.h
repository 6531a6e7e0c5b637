#pragma once
// The arithmetic in which a level type of a user is written.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata::levels {

/// What a word of the text stands for.
enum class LevelWord : std::uint8_t { parent, first, p, previous, lo, size, n, parents, positions };

class LevelText {
 public:
  enum class Operation : std::uint8_t { number, word, crd, add, sub, mul, div, mod, min, max };

  LevelText() = default;
  /// `allowed`: the words that may stand in it; `arrays`: may crd[...]? FormatError that shows the place.
  LevelText(std::string_view text, std::span<const LevelWord> allowed, bool arrays);

  bool uses(LevelWord word) const;
  bool uses_crd() const;

  /// Its value over any type. `of` has number(int64), word(LevelWord), crd(T), and apply(Operation, T, T); div and mod
  /// have a divisor that is a number or n: divide(Operation, T, int64), with n's value from divisor_n().
  template <class T, class Of> T evaluate(const Of& of) const { return at<T>(root_, of); }

 private:
  friend class LevelTextParser;
  struct SyntaxNode {
    Operation op = Operation::number;
    LevelWord word = LevelWord::n;
    int a = -1, b = -1;
    std::int64_t number = 0;
  };

  template <class T, class Of> T at(int node, const Of& of) const {
    const SyntaxNode& x = nodes_[static_cast<std::size_t>(node)];
    switch (x.op) {
      case Operation::number: return of.number(x.number);
      case Operation::word: return of.word(x.word);
      case Operation::crd: return of.crd(at<T>(x.a, of));
      case Operation::div:
      case Operation::mod: return of.divide(x.op, at<T>(x.a, of), x.b < 0 ? x.number : of.divisor_n());
      default: return of.apply(x.op, at<T>(x.a, of), at<T>(x.b, of));
    }
  }

  std::vector<SyntaxNode> nodes_;
  int root_ = -1;
};

}  // namespace strata::levels
