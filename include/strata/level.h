#pragma once
// Level types of your own: a few lines of text, and how their arrays are made. A format text then uses the name as it
// uses `compressed`, and everything that a level is walked for follows: checks, printing, drawing, conversion to and
// from every format, files, products and co-iteration in generated code.
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace strata {

/// The elements of a level that is built: one for each coordinate below each parent, in order.
struct LevelElements {
  std::int64_t parents = 1;                  ///< positions of the level above
  std::span<const std::int64_t> parent;      ///< of each element: the position above; never decreases
  std::span<const std::int64_t> coordinate;  ///< in [lo, lo + size); ascends below one parent
  std::int64_t lo = 0, size = 0;             ///< what coordinates range over
  std::int64_t number = 0;                   ///< the number in the format text, as 4 of mine(4)
};

/// What is made of them.
struct LevelBuilt {
  std::vector<std::int64_t> pos;       ///< parents + 1 entries; empty where the level has `slots`
  std::vector<std::int64_t> crd;       ///< `crd_entries` entries; empty where `coordinate` reads none
  std::vector<std::int64_t> position;  ///< of each element, in the order that they were given
};

/// A type of level: where the children of a position stand, and which coordinate each has.
///
/// The texts are arithmetic over whole numbers: + - *, / and % by a number or n (/ floors, % is not negative),
/// min(a, b), max(a, b), parentheses, and these words:
///
///   parent     the position above                     lo, size   the level's coordinates are [lo, lo + size)
///   first      its first child                        n          the number in the format text
///   p          the child whose coordinate is asked    crd[...]   an entry of the level's array
///   previous   the coordinate of the child before p; lo - 1 for the first
///
/// Children ascend, each coordinate at most once below a parent.
struct LevelType {
  std::string name;        ///< a letter, then letters, digits and '_'
  std::string coordinate;  ///< of child p
  std::string slots = {};  ///< children below each parent, over lo, size and n; "": the level has pos, and children
                           ///< pos[parent] to pos[parent + 1] - 1
  std::string crd_entries = "positions";  ///< length of crd, over parents, positions, lo, size and n
  bool fills = false;                     ///< has it slots that no element asked for? They hold the fill value
  /// Makes the arrays; without it the level is read and computed with, and converting to it is refused.
  std::function<LevelBuilt(const LevelElements&)> build = {};
};

/// Registers a level type for the rest of the process. Its texts are parsed, and what `build` makes of small samples is
/// read back and compared. The same texts under the same name replace `build`; other texts under a name that is taken
/// are refused. FormatError.
void register_level(LevelType type);

/// Every word that may stand right of the colon in a format text: built-in types first.
std::vector<std::string> level_types();

}  // namespace strata
