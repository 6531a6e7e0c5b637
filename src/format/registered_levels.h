#pragma once
// The level types that users registered, by name and by kind: kinds count on from the built-in ones.
#include <memory>
#include <string_view>

#include "format/level_text.h"
#include "strata/format.h"
#include "strata/level.h"

namespace strata::levels {

struct RegisteredLevel {
  LevelType type;
  LevelText coordinate, slots, crd_entries;
  bool has_pos = true, has_crd = false, takes_number = false, reads_size = false;
  /// The newest one.
  std::function<LevelBuilt(const LevelElements&)> build() const;
};

constexpr bool is_registered(LevelKind kind) { return static_cast<int>(kind) >= level_kind_count; }

/// The kind that a format text means by a name (case ignored); -1: nothing is called so.
int find_registered(std::string_view name);
int registered_count();
/// InternalError where nothing has this kind.
const RegisteredLevel& registered(LevelKind kind);

/// Children of each parent where the level has no pos. FormatError where that is no number from 0 on.
std::int64_t slots_of(const Level& level, const LevelRange& range);

/// For who registers: parsed and added, but no format text finds it before it is shown.
LevelKind add_registered(LevelType type);
void show_registered(LevelKind kind);
void drop_registered(LevelKind kind);

}  // namespace strata::levels
