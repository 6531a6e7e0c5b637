// A tensor's arrays as a picture of text: one box per level, entries in columns, groups of one parent side by side.
//
//   CSR   3 x 8   int64   5 stored   76 bytes
//   ┌ i : dense ───────────────────────────── size 3 ┐
//   ├ j : compressed ── pos int32, crd int32, size 8 ┤
//   │ pos  0  2  4  5                                │
//   │ crd  0  7 │  2  3 │  7                         │
//   ├ values ───────────────────────────────── int64 ┤
//   │      1  2 │  3  4 │  5                         │
//   └────────────────────────────────────────────────┘
#include <algorithm>
#include <set>

#include "draw/words.h"
#include "strata/draw.h"
#include "tensor/part_view.h"

namespace strata {
namespace {

using namespace pictures;

struct TextRow {
  std::string label;
  std::vector<std::string> cells;  ///< the first ones
  std::int64_t total = 0;          ///< how many there are
  std::vector<int> bars;           ///< per cell: group boundaries in front of it (0, 1; 2 for several)
  int family = 0;                  ///< rows of one family share the width of their cells
};
struct Box {
  std::string title, note;
  std::vector<TextRow> rows;
};

/// The picture of one part.
class PartPicture {
 public:
  PartPicture(const Part& part, const TensorType& type, int width)
      : part_(part), type_(type), limit_(std::max(8, width / 2)), levels_(part.format.num_levels()) {
    const std::vector<std::string> texts = level_texts(part.format);
    for (int l = 0; l < levels_; ++l) {
      const Level& level = part.format.level(l);
      Box box{.title = texts[static_cast<std::size_t>(l)], .note = {}, .rows = {}};
      const LevelRange& r = part.ranges[static_cast<std::size_t>(l)];
      if (storage::has_pos(level.kind)) box.note += "pos " + std::string(name_of(type.pos_dtype)) + ", ";
      if (level.kind == LevelKind::bitmap) box.note += "one bit each, ";
      else if (storage::has_crd(level.kind)) box.note += "crd " + crd_type(level, r, type.crd_dtype) + ", ";
      box.note += r.lo == 0 ? "size " + std::to_string(r.size)
                            : std::to_string(r.lo) + " to " + std::to_string(r.lo + r.size - 1);
      boxes_.push_back(std::move(box));
    }
    boxes_.push_back({.title = "values", .note = std::string(name_of(type.dtype)), .rows = {}});
    const std::int64_t n = batches(part), shown = std::min<std::int64_t>(n, 4);
    for (std::int64_t b = 0; b < shown; ++b) add_batch(b, n > 1 ? "[" + std::to_string(b) + "] " : "");
    if (shown < n)
      boxes_.back().rows.push_back({.label = "and " + std::to_string(n - shown) + " more batches",
                                    .cells = {},
                                    .total = 0,
                                    .bars = {},
                                    .family = -1});
  }

  const std::vector<Box>& boxes() const { return boxes_; }

 private:
  /// Where groups of one parent start among the first positions below a level; `parent_bars` are those of its parents.
  std::vector<int> group_bars(const storage::LevelView& v, std::int64_t parents, std::int64_t n,
                              const std::vector<int>& parent_bars) const {
    std::vector<int> bars(static_cast<std::size_t>(n), 0);
    const auto mark = [&](std::int64_t at, int count) {
      if (at > 0 && at < n)
        bars[static_cast<std::size_t>(at)] = std::min(2, bars[static_cast<std::size_t>(at)] + count);
    };
    if (v.level.kind == LevelKind::singleton) return parent_bars;
    if (storage::has_pos(v.level.kind)) {
      for (std::int64_t p = 1; p < parents && v.pos[p] < n; ++p) mark(v.pos[p], 1);
    } else if (v.width() > 1 && parents > 1) {
      for (std::int64_t p = 1; p < parents && p <= (n - 1) / v.width(); ++p) mark(p * v.width(), 1);
    }
    return bars;
  }

  void add_batch(std::int64_t b, const std::string& prefix) {
    const auto views = level_views(part_, b);
    const auto counts = level_counts(part_, views);
    const bool all_dense = part_.format.is_all_dense();
    std::vector<int> bars(1, 0);  // of the positions above level l
    std::vector<int> blocks;      // of values: children of the last level that is not dense
    std::int64_t family_count = -1;
    int family = 0;
    for (int l = batch_levels(part_); l < levels_; ++l) {
      const auto i = static_cast<std::size_t>(l);
      const auto& v = views[i];
      const std::int64_t total = counts[i + 1], n = std::min<std::int64_t>(total, limit_);
      if (storage::has_pos(v.level.kind)) {
        TextRow pos{.label = prefix + "pos", .cells = {}, .total = counts[i] + 1, .bars = {}, .family = -2 - l};
        for (std::int64_t k = 0; k < std::min<std::int64_t>(pos.total, limit_); ++k)
          pos.cells.push_back(std::to_string(v.pos[k]));
        boxes_[i].rows.push_back(std::move(pos));
      }
      bars = group_bars(v, counts[i], n, bars);
      bars.resize(static_cast<std::size_t>(n), 0);
      if (v.level.kind == LevelKind::bitmap) add_bits(v, counts[i], prefix, i);
      if (storage::has_crd(v.level.kind)) {
        const std::int64_t entries =
            v.level.kind == LevelKind::bitmap ? total : storage::crd_entries(v, counts[i], total);
        const bool each = entries == total;  // a coordinate for each position
        if (each && total != family_count) ++family, family_count = total;
        TextRow crd{
            .label = prefix + "crd",
            .cells = {},
            .total = entries,
            .bars = each ? bars : std::vector<int>(static_cast<std::size_t>(std::min<std::int64_t>(entries, limit_))),
            .family = each ? family : -2 - levels_ - l};
        if (v.level.kind == LevelKind::bitmap) {
          for (std::int64_t q = 0; q < counts[i]; ++q)
            for (std::int64_t c = 0; c < v.range.size && std::ssize(crd.cells) < n; ++c)
              if (v.bit(q, c)) crd.cells.push_back(std::to_string(v.range.lo + c));
        } else {
          const bool padded = v.level.kind == LevelKind::padded;
          for (std::int64_t k = 0; k < std::min<std::int64_t>(entries, limit_); ++k)
            crd.cells.push_back(padded && v.crd[k] == all_ones(v.crd.dtype) ? "·" : std::to_string(v.coordinate(k)));
        }
        boxes_[i].rows.push_back(std::move(crd));
      }
    }
    const std::int64_t total = counts.back(), n = std::min<std::int64_t>(total, limit_);
    // Trailing dense levels make blocks; an all-dense part is grouped by its last level.
    std::int64_t block = 1;
    int l = levels_ - 1;
    for (; l >= 0 && views[static_cast<std::size_t>(l)].level.kind == LevelKind::dense && !all_dense; --l)
      block *= std::max<std::int64_t>(1, views[static_cast<std::size_t>(l)].range.size);
    if (block > 1) {
      std::fill(bars.begin(), bars.end(), 0);
      for (std::int64_t k = block; k < n; k += block) bars[static_cast<std::size_t>(k)] = 1;
    }
    if (levels_ == 0) bars.assign(1, 0);
    if (total != family_count) ++family;
    TextRow values{.label = prefix.empty() ? "" : prefix, .cells = {}, .total = total, .bars = bars, .family = family};
    const std::set<std::int64_t> inside = inside_slots(b, n);
    const auto width = static_cast<std::int64_t>(size_of(type_.dtype));
    for (std::int64_t k = 0; k < n; ++k) {
      std::int64_t slot = k * part_.value_stride + (batch_levels(part_) ? b * part_.values_batch_stride : 0);
      if (all_dense) {
        slot = part_.values_offset;
        std::int64_t rest = k;
        for (std::size_t d = part_.ranges.size(); d-- > 0; rest /= part_.ranges[d].size)
          slot += rest % part_.ranges[d].size * part_.strides[d];
      }
      values.cells.push_back(
          inside.count(k) ? value_text(type_.dtype, static_cast<const char*>(part_.values.data) + slot * width) : "·");
    }
    boxes_.back().rows.push_back(std::move(values));
  }

  void add_bits(const storage::LevelView& v, std::int64_t parents, const std::string& prefix, std::size_t box) {
    TextRow bits{.label = prefix + "bits", .cells = {}, .total = parents, .bars = {}, .family = -100};
    for (std::int64_t q = 0; q < std::min<std::int64_t>(parents, limit_); ++q) {
      std::string text;
      for (std::int64_t c = 0; c < std::min<std::int64_t>(v.range.size, 24); ++c) text += v.bit(q, c) ? '1' : '0';
      bits.cells.push_back(text + (v.range.size > 24 ? "…" : ""));
    }
    boxes_[box].rows.push_back(std::move(bits));
  }

  /// Which of the first n slots of batch b lie inside the tensor; the others are drawn as dots.
  std::set<std::int64_t> inside_slots(std::int64_t b, std::int64_t n) const {
    std::set<std::int64_t> inside;
    const auto& levels = part_.format.levels();
    const bool can_be_outside =
        !DimensionMap(part_.format, part_.ranges, type_.shape).tests.empty() ||
        std::any_of(levels.begin(), levels.end(), [](const Level& l) { return l.kind == LevelKind::padded; });
    if (part_.format.is_all_dense() || !can_be_outside) {
      for (std::int64_t k = 0; k < n; ++k) inside.insert(inside.end(), k);
      return inside;
    }
    struct Enough {};
    try {
      walk_slots(part_, type_.shape, [&](const SlotChunk& c) {
        if (c.batch > b) throw Enough{};
        if (c.batch < b) return;
        for (int k = 0; k < c.n; ++k) {
          if (c.position[k] >= n) throw Enough{};  // positions ascend
          inside.insert(inside.end(), c.position[k]);
        }
      });
    } catch (const Enough&) {}
    return inside;
  }

  const Part& part_;
  const TensorType& type_;
  const std::int64_t limit_;
  const int levels_;
  std::vector<Box> boxes_;
};

/// The cells of a row, each `cell` wide, as far as `room` columns reach.
std::string row_text(const TextRow& row, int cell, int room) {
  std::string out;
  int used = 0;
  for (std::size_t k = 0; k < row.cells.size(); ++k) {
    const std::string& text = row.cells[k];
    std::string next = repeat(" │", row.bars.empty() ? 0 : row.bars[k]);
    const int pad = cell - columns(text);
    next += std::string(static_cast<std::size_t>(std::max(0, pad) + (k ? 2 : 0)), ' ') + text;
    const bool more = static_cast<std::int64_t>(k) + 1 < row.total;
    if (used + columns(next) + (more ? 2 : 0) > room) return out + " …";
    used += columns(next);
    out += next;
  }
  return static_cast<std::int64_t>(row.cells.size()) < row.total ? out + " …" : out;
}

std::string boxes_text(const std::vector<Box>& boxes, int width) {
  int label = 0;
  for (const Box& box : boxes)
    for (const TextRow& row : box.rows)
      if (row.total > 0) label = std::max(label, columns(row.label));
  std::vector<std::vector<std::string>> lines(boxes.size());
  int inner = 0;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    inner = std::max(inner, columns(boxes[b].title) + columns(boxes[b].note) + 6);
    for (const TextRow& row : boxes[b].rows) {
      int cell = 1;
      for (const Box& other : boxes)
        for (const TextRow& r : other.rows)
          if (r.family == row.family)
            for (const std::string& c : r.cells) cell = std::max(cell, columns(c));
      std::string line =
          row.label + std::string(static_cast<std::size_t>(std::max(0, label - columns(row.label)) + 2), ' ');
      line += row.total == 0 ? (row.family == -1 ? "" : "(empty)") : row_text(row, cell, width - 6 - label);
      inner = std::max(inner, columns(line) + 2);
      lines[b].push_back(std::move(line));
    }
  }
  inner = std::min(inner, width - 2);
  std::string out;
  for (std::size_t b = 0; b < boxes.size(); ++b) {
    const std::string note = cut(boxes[b].note, std::max(0, inner - 8));
    const std::string title = cut(boxes[b].title, std::max(1, inner - columns(note) - 5));
    out += (b == 0 ? "┌ " : "├ ") + title + " " + repeat("─", std::max(1, inner - columns(title) - columns(note) - 4)) +
           " " + note + " " + (b == 0 ? "┐\n" : "┤\n");
    for (const std::string& line : lines[b]) {
      const std::string shown = cut(line, inner - 2);
      out +=
          "│ " + shown + std::string(static_cast<std::size_t>(std::max(0, inner - 2 - columns(shown))), ' ') + " │\n";
    }
  }
  return out + "└" + repeat("─", inner) + "┘\n";
}

}  // namespace

std::string draw_storage_text(const Tensor& t, int width) {
  width = std::max(width, 24);
  std::string out = heading(t, width);
  for (int k = 0; k < t.num_parts(); ++k) {
    const Part& part = t.part(k);
    if (t.num_parts() > 1) {
      out += cut("part " + std::to_string(k) + "   " + name_or_text(part.format) + "   " +
                     std::to_string(t.part_tensor(k).nse()) + " stored",
                 width) +
             "\n";
    }
    out += boxes_text(PartPicture(part, t.type(), width).boxes(), width);
  }
  return out;
}

}  // namespace strata
