#pragma once
#include <vector>

#include "plan/nest/unit.h"

namespace strata::direct {

/// Vectors that stay in registers at once.
constexpr int tile_vectors = 8;
/// Do an operand's values lie in memory along this index, wherever it has it? Those of a sparse one within each parent
/// of its last level.
bool lies_along(const Access& access, int index);
/// The index of a dense result that loops in this order may take in vectors that stay in registers (Input::tile), sums,
/// or factors of what the loops behind add to memory: the last of the result's, along whose memory all run that have
/// it, which are dense. -1: none
int tile_of(const Unit& unit, const std::vector<int>& order);
/// Holds what an order of loops into a dense result can hold of its blocks (Input::held): these places come in front of
/// all sums, behind the tile.
void hold_blocks(const Unit& unit, Order& order);
/// Levels at the end of an operand that are dense within blocks.
int tail_of(const Unit& unit, const Access& access);

}  // namespace strata::direct
