#pragma once
// A level type's arithmetic over numbers that cannot wrap.
#include <algorithm>
#include <array>

#include "base/checked.h"
#include "format/level_text.h"
#include "strata/error.h"
#include "strata/format.h"

namespace strata::levels {

/// Of a text that may not read crd.
struct NoCrd {
  std::int64_t operator()(std::int64_t) const { throw InternalError("the text of a level reads no array"); }
};

/// `crd`: reads an entry, or throws.
template <class Crd = NoCrd> class LevelNumbers {
 public:
  LevelNumbers(const Level& level, const LevelRange& range, Crd crd = {}) : crd_(std::move(crd)) {
    (*this)[LevelWord::lo] = range.lo;
    (*this)[LevelWord::size] = range.size;
    (*this)[LevelWord::n] = level.arg;
  }

  std::int64_t& operator[](LevelWord w) { return words_[static_cast<std::size_t>(w)]; }

  std::int64_t number(std::int64_t n) const { return n; }
  std::int64_t word(LevelWord w) const { return words_[static_cast<std::size_t>(w)]; }
  std::int64_t crd(std::int64_t i) const { return crd_(i); }
  std::int64_t divisor_n() const { return word(LevelWord::n); }
  std::int64_t divide(LevelText::Operation op, std::int64_t a, std::int64_t b) const {
    return op == LevelText::Operation::div ? floor_div(a, b) : floor_mod(a, b);
  }
  std::int64_t apply(LevelText::Operation op, std::int64_t a, std::int64_t b) const {
    std::int64_t r = 0;
    bool wraps = false;
    switch (op) {
      case LevelText::Operation::add: wraps = __builtin_add_overflow(a, b, &r); break;
      case LevelText::Operation::sub: wraps = __builtin_sub_overflow(a, b, &r); break;
      case LevelText::Operation::mul: wraps = __builtin_mul_overflow(a, b, &r); break;
      case LevelText::Operation::min: r = std::min(a, b); break;
      default: r = std::max(a, b);
    }
    if (wraps)
      throw TensorError({.what = "the arithmetic of a level type exceeds 64 bits",
                         .expected = "numbers that fit int64",
                         .got = std::to_string(a) + " and " + std::to_string(b)});
    return r;
  }

 private:
  std::array<std::int64_t, 9> words_{};
  Crd crd_;
};

}  // namespace strata::levels
