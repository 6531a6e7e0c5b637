#include "format/registered_levels.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "base/fork_mutex.h"
#include "format/level_numbers.h"
#include "format/own_name.h"
#include "strata/format_fault.h"

namespace strata::levels {
namespace {

constexpr int most = 64;

struct LevelRegistry {
  std::mutex& mutex = fork_mutex<LevelRegistry>();
  std::array<std::atomic<RegisteredLevel*>, most> by_kind{};  ///< never freed: tensors of them may be anywhere
  std::array<std::atomic<bool>, most> shown{};
  std::atomic<int> size = 0;
};
LevelRegistry& registry() {
  static LevelRegistry* r = new LevelRegistry;
  return *r;
}

int index_of(LevelKind kind) { return static_cast<int>(kind) - level_kind_count; }

void check_name(const std::string& name) {
  if (!is_own_name(name))
    throw FormatError({.what = "a level type cannot have this name",
                       .expected = "a letter, then letters, digits and '_': at most 64 characters",
                       .got = name.substr(0, 100)});
  if (detail::find_word(detail::level_kind_words, name) >= 0 || detail::find_word(detail::property_words, name) >= 0 ||
      detail::same_word(name, "LevelFormat") || detail::same_word(name, "LevelProperty"))
    throw FormatError(
        {.what = "the level type '" + name + "' is built in", .expected = "a name of your own", .got = name});
}

LevelText text(const std::string& what, const std::string& source, std::initializer_list<LevelWord> words,
               bool arrays) {
  try {
    return LevelText(source, words, arrays);
  } catch (const FormatError& e) {
    Problem p = e.problem();
    p.what = "`" + what + "` of a level type: " + p.what;
    throw FormatError(std::move(p));
  }
}

RegisteredLevel parsed(LevelType type) {
  RegisteredLevel out;
  out.coordinate = text("coordinate", type.coordinate,
                        {LevelWord::parent, LevelWord::first, LevelWord::p, LevelWord::previous, LevelWord::lo,
                         LevelWord::size, LevelWord::n},
                        true);
  out.has_pos = type.slots.empty();
  if (!out.has_pos) out.slots = text("slots", type.slots, {LevelWord::lo, LevelWord::size, LevelWord::n}, false);
  out.has_crd = out.coordinate.uses_crd();
  if (out.has_crd)
    out.crd_entries =
        text("crd_entries", type.crd_entries,
             {LevelWord::parents, LevelWord::positions, LevelWord::lo, LevelWord::size, LevelWord::n}, false);
  out.takes_number = out.coordinate.uses(LevelWord::n) || (!out.has_pos && out.slots.uses(LevelWord::n)) ||
                     (out.has_crd && out.crd_entries.uses(LevelWord::n));
  out.reads_size = out.coordinate.uses(LevelWord::size) || (!out.has_pos && out.slots.uses(LevelWord::size));
  out.type = std::move(type);
  return out;
}

/// A type that was never shown: its place is free again, but for one that another thread added behind it. It is
/// destroyed by who took the lock, behind it: its function may be Python's, and wait for who waits for the lock.
std::unique_ptr<RegisteredLevel> taken(LevelRegistry& r, std::size_t k) {
  if (static_cast<int>(k) + 1 != r.size) return nullptr;
  r.size = static_cast<int>(k);
  return std::unique_ptr<RegisteredLevel>(r.by_kind[k].exchange(nullptr));
}

bool same_texts(const LevelType& a, const LevelType& b) {
  return a.coordinate == b.coordinate && a.slots == b.slots && a.crd_entries == b.crd_entries && a.fills == b.fills;
}

}  // namespace

std::function<LevelBuilt(const LevelElements&)> RegisteredLevel::build() const {
  std::lock_guard lock(registry().mutex);
  return type.build;
}

const RegisteredLevel& registered(LevelKind kind) {
  const int k = index_of(kind);
  const RegisteredLevel* level = k >= 0 && k < most ? registry().by_kind[static_cast<std::size_t>(k)].load() : nullptr;
  if (!level) throw InternalError("a level of no kind");
  return *level;
}

int find_registered(std::string_view name) {
  const LevelRegistry& r = registry();
  for (int k = 0; k < r.size; ++k)
    if (r.shown[static_cast<std::size_t>(k)] &&
        detail::same_word(r.by_kind[static_cast<std::size_t>(k)].load()->type.name, name))
      return level_kind_count + k;
  return -1;
}

int registered_count() { return registry().size; }

LevelKind add_registered(LevelType type) {
  check_name(type.name);
  RegisteredLevel level = parsed(std::move(type));
  LevelRegistry& r = registry();
  std::lock_guard lock(r.mutex);
  if (r.size == most)
    throw FormatError({.what = "too many level types", .expected = "at most " + std::to_string(most)});
  if (const int known = find_registered(level.type.name);
      known >= 0 && !same_texts(registered(static_cast<LevelKind>(known)).type, level.type))
    throw FormatError({.what = "another level type is called '" + level.type.name + "'",
                       .expected = "the texts that it was registered with, or a name that is free",
                       .got = "coordinate \"" + level.type.coordinate + "\" where there is \"" +
                              registered(static_cast<LevelKind>(known)).type.coordinate + "\"",
                       .fix = "tensors of the one that is known may exist: choose another name"});
  const int k = r.size;
  r.by_kind[static_cast<std::size_t>(k)] = new RegisteredLevel(std::move(level));
  r.size = k + 1;
  return static_cast<LevelKind>(level_kind_count + k);
}

void show_registered(LevelKind kind) {
  LevelRegistry& r = registry();
  const auto k = static_cast<std::size_t>(index_of(kind));
  std::unique_ptr<RegisteredLevel> gone;
  std::lock_guard lock(r.mutex);
  RegisteredLevel* level = r.by_kind[k];
  if (const int known = find_registered(level->type.name); known >= 0) {
    std::swap(r.by_kind[static_cast<std::size_t>(known - level_kind_count)].load()->type.build, level->type.build);
    gone = taken(r, k);
  } else {
    r.shown[k] = true;
  }
}

void drop_registered(LevelKind kind) {
  LevelRegistry& r = registry();
  std::unique_ptr<RegisteredLevel> gone;
  std::lock_guard lock(r.mutex);
  gone = taken(r, static_cast<std::size_t>(index_of(kind)));
}

std::int64_t slots_of(const Level& level, const LevelRange& range) {
  const RegisteredLevel& of = registered(level.kind);
  const auto slots = of.slots.evaluate<std::int64_t>(LevelNumbers(level, range));
  if (slots < 0)
    throw TensorError({.what = "`slots` of the level type '" + of.type.name + "' is negative",
                       .expected = "0 or more children below each parent",
                       .got = std::to_string(slots)});
  return slots;
}

}  // namespace strata::levels

namespace strata {

std::vector<std::string> level_types() {
  std::vector<std::string> out(detail::level_kind_words.begin(), detail::level_kind_words.end());
  const auto& r = levels::registry();
  for (int k = 0; k < r.size; ++k)
    if (r.shown[static_cast<std::size_t>(k)]) out.push_back(r.by_kind[static_cast<std::size_t>(k)].load()->type.name);
  return out;
}

}  // namespace strata
