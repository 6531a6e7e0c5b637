// What both schedulers ask of a graph, and a schedule as text.
#include <algorithm>

#include "compiler/schedule.h"
#include "levels/level_storage.h"

namespace strata::compiler {

int first_block_level(const Graph& graph) {
  int first = graph.num_levels();
  if (graph.dense_driver) return first;
  std::int64_t slots = 1;
  while (first > 0) {
    const LevelFacts& f = graph.levels[static_cast<std::size_t>(first - 1)];
    if (f.level.kind != LevelKind::dense || f.constant_size <= 0 || !f.starts_at_zero ||
        slots * f.constant_size > 65536)
      break;
    slots *= f.constant_size;
    --first;
  }
  return first;
}

int weight_level(const Graph& graph) {
  for (int l = 1; l < graph.num_levels(); ++l) {
    const LevelFacts& f = graph.levels[static_cast<std::size_t>(l)];
    const LevelKind k = f.level.kind;
    if (storage::has_pos(k)) return f.number;
  }
  return -1;
}

bool uses_late(const Graph& graph, const DenseAccess& access, int index) {
  if (access.late_levels.empty()) return false;
  const auto ids = graph.indices(access.operand);
  return std::find(ids.begin(), ids.end(), index) != ids.end();
}

int hoisted_depth(const Graph& graph, const ProductSchedule& schedule) {
  const int n = graph.num_levels();
  int depth = n;
  for (const auto& a : graph.dense) {
    if (a.operand < 0 || a.operand == graph.input->driver || !a.late_levels.empty()) continue;
    if (stride_along_index(a, schedule.tile_index) == StrideKind::broadcast) continue;
    int known = 0;
    bool free = true;
    for (int i : graph.indices(a.operand)) {
      const int d = graph.dim_of_index[static_cast<std::size_t>(i)];
      if (d >= 0) known = std::max(known, graph.dims[static_cast<std::size_t>(d)].completes + 1);
      else free = free && (i == schedule.tile_index || graph.in_output(i));
    }
    if (free && known < std::min(depth, schedule.block_begin)) depth = known;
  }
  // Something must loop below, or nothing is gained.
  bool loops = false;
  for (int l = depth; l < n; ++l)
    loops = loops || graph.levels[static_cast<std::size_t>(l)].level.kind != LevelKind::singleton;
  return loops ? depth : n;
}

std::string describe(const Graph& graph, const ProductSchedule& schedule) {
  std::string t;
  const auto level = [&](int l) -> const LevelFacts& { return graph.levels[static_cast<std::size_t>(l)]; };
  const auto stem = [&](int l) { return level(l).stem; };
  // ", then times B(j,r)": the operands that multiply the sum below so many levels.
  const auto times = [&](int levels) {
    std::string list;
    for (std::size_t a = 0; a + 1 < graph.dense.size(); ++a)
      if (!schedule.at_the_leaf(a) && schedule.times[a] == levels)
        list += (list.empty() ? ", then times operand " : ", ") + std::to_string(graph.dense[a].operand);
    return list;
  };
  int indent = 0;
  for (const auto& step : schedule.steps) {
    if (step.kind == ScheduleStep::split) continue;
    t += std::string(static_cast<std::size_t>(2 * indent), ' ');
    switch (step.kind) {
      case ScheduleStep::walk:
        t += "for " + stem(step.level) + " in ";
        if (schedule.is_flat(step.level) && schedule.flat_first < step.level)
          t += "levels " + std::to_string(schedule.flat_first) + " to " + std::to_string(step.level) + " as one run";
        else
          t += "level " + std::to_string(step.level) + " (" + std::string(name_of(level(step.level).level.kind)) + ")";
        if (step.level == schedule.unroll_level) t += ", " + std::to_string(schedule.chains) + " chains";
        if (step.level == schedule.stream_level) t += ", prefetched";
        break;
      case ScheduleStep::run:
        t += "for each run of equal " + stem(step.level) + (step.last > step.level ? ".." + stem(step.last) : "");
        break;
      case ScheduleStep::slots:
        t += "for slots of the run";
        if (schedule.chains > 1) t += ", " + std::to_string(schedule.chains) + " chains";
        break;
      case ScheduleStep::free_loop: t += "for " + index_letter(step.index); break;
      case ScheduleStep::tile:
        t += "for " + (step.index >= 0 ? index_letter(step.index) : stem(step.level)) + " in pieces of " +
             std::to_string(schedule.vectors) + " x " + std::to_string(schedule.lanes) + " lanes";
        if (step.index < 0 && schedule.is_flat(step.level) && schedule.flat_first < step.level)
          t += ", levels " + std::to_string(schedule.flat_first) + " to " + std::to_string(step.level) + " as one run";
        if (schedule.tile_sums) t += ", summed";
        break;
      case ScheduleStep::row_tile:
        t += "for pieces of " + std::to_string(step.piece) + " of " + stem(step.level);
        break;
      case ScheduleStep::split: break;
      case ScheduleStep::open: t += "accumulate in registers" + times(schedule.open_times); break;
      case ScheduleStep::sum: t += "sum by itself" + times(step.level); break;
      case ScheduleStep::constant:
        t += "for " + stem(step.level) + " of the block" + (step.piece == 1 ? ", unrolled" : "");
        break;
    }
    t += "\n";
    ++indent;
  }
  if (!schedule.accumulate) t += "adds to memory\n";
  static constexpr const char* kinds[] = {"serial",
                                          "uniform chunks of level 0",
                                          "weighted chunks of level 0",
                                          "chunks of level 0 cut between equal coordinates",
                                          "chunks of level 0 that add to one output",
                                          "windows of the output"};
  t += std::string("launch: ") + kinds[schedule.launch.kind] + "\n";
  return t;
}

}  // namespace strata::compiler
