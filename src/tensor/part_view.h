#pragma once
// A part of a tensor, one batch at a time, ready to be read.
#include <vector>

#include "levels/level_storage.h"
#include "strata/tensor.h"

namespace strata {

/// How dimension coordinates follow from level coordinates: every inverse expression is a sum of multiples of them.
struct DimensionMap {
  struct LevelTerm {
    int level;
    std::int64_t factor;
  };
  std::vector<std::vector<LevelTerm>> terms;  ///< per dimension
  /// A slot is in range where all of these sums lie in [least, least + extent). Listed are those that level coordinates
  /// can violate: dimensions, and remainders that only a skew gives back, as i % 2 in (i / 2, j, j - i % 2): outside of
  /// [0, 2) they would name another slot's element.
  struct Test {
    std::vector<LevelTerm> terms;
    std::int64_t extent;
    int completing;          ///< the last level it depends on (-1: none)
    std::int64_t least = 0;  ///< what the extent begins with, where not with 0
    bool passes(std::int64_t sum) const {
      return static_cast<std::uint64_t>(sum) - static_cast<std::uint64_t>(least) < static_cast<std::uint64_t>(extent);
    }
  };
  std::vector<Test> tests;

  /// TensorError where coordinates could exceed 64 bits.
  DimensionMap(const Format& format, std::span<const LevelRange> ranges, std::span<const std::int64_t> shape);
  /// More tests: at each level, whether something below may still lie in this box, one range a dimension. What lies
  /// outside may pass.
  void keep_within(std::span<const LevelRange> box, std::span<const LevelRange> ranges);
  static std::int64_t sum(const std::vector<LevelTerm>& terms, const std::int64_t* level_coordinates) {
    std::int64_t c = 0;
    for (const LevelTerm& t : terms) c += t.factor * level_coordinates[t.level];
    return c;
  }
};

/// Batch levels of an all-dense part are strides like any other: only parts with sparse levels are walked batch by
/// batch.
int batch_levels(const Part& part);
/// Batches to walk: 1 for all-dense parts.
std::int64_t batches(const Part& part);

/// The levels of one batch. Indexed by level; batch levels of sparse parts are placeholders.
std::vector<storage::LevelView> level_views(const Part& part, std::int64_t batch = 0);
/// Coordinates of the batch levels of batch b.
void batch_coordinates(const Part& part, std::int64_t b, std::int64_t* level_coordinates);

/// Positions of every level in this batch: counts[l] parents of level l, counts[num_levels] slots. Trusts the arrays.
std::vector<std::int64_t> level_counts(const Part& part, std::span<const storage::LevelView> views);

/// In-range slots of a part in storage order, in pieces. dims[d][k]: coordinates; slot[k]: element offset into values.
struct SlotChunk {
  int n = 0;
  const std::int64_t* const* dims = nullptr;
  const std::int64_t* slot = nullptr;
  const std::int64_t* position = nullptr;  ///< of the last level, within the batch (all-dense: the slot)
  std::int64_t batch = 0;
};
/// Where a box is given, whatever lies outside of it may be left out, and nothing below a coordinate is walked that
/// leads outside.
void walk_slots(const Part& part, std::span<const std::int64_t> shape, const std::function<void(const SlotChunk&)>& f,
                std::span<const LevelRange> box = {});
/// How many slots that walk would give; a last level that lists all coordinates is counted, not walked.
std::int64_t count_in_range(const Part& part, std::span<const std::int64_t> shape);

}  // namespace strata
