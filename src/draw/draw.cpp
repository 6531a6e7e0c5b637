// The elements where they are: a grid of at most three dimensions, slices of the first one side by side.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "draw/slots.h"
#include "draw/svg.h"
#include "draw/words.h"
#include "strata/draw.h"

namespace strata {
namespace {

using namespace pictures;

constexpr int default_limit = 24, default_limit_of_cubes = 10;
constexpr double cell_height = 26, gap = 3, block_gap = 6, between_slices = 34, widest_row = 1000;

/// The coordinates of a dimension that are shown: all, or the first and the last ones with a gap between.
struct Axis {
  std::vector<std::int64_t> shown;  ///< -1: the gap
  std::int64_t extent = 0, head = 0, tail = 0;

  Axis(std::int64_t n, std::int64_t limit) : extent(n) {
    head = n <= limit ? n : limit - limit / 4;
    tail = n <= limit ? 0 : limit / 4;
    shown.resize(static_cast<std::size_t>(head));
    std::iota(shown.begin(), shown.end(), 0);
    if (tail < n - head) shown.push_back(-1);
    for (std::int64_t c = n - tail; c < n; ++c) shown.push_back(c);
  }
  bool cut() const { return head + tail < extent; }
  /// Where a coordinate is shown; -1: nowhere.
  std::int64_t place(std::int64_t c) const {
    if (c < head) return c;
    return c >= extent - tail ? head + 1 + (c - (extent - tail)) : -1;
  }
};

struct DrawnElement {
  SlotKind slot = SlotKind::value;
  int part = 0, count = 1;
  std::string text, title;
};

/// Rows and columns that belong together, from `i / n` in a format: 0 where there are no blocks.
std::int64_t block_of(const Format& format, int d) {
  const FormatSpec& spec = format.spec();
  for (const Level& level : format.levels()) {
    const ExprNode& e = spec.exprs[static_cast<std::size_t>(level.expr)];
    if (e.op != ExprNode::div || e.n < 2) continue;
    const ExprNode& of = spec.exprs[static_cast<std::size_t>(e.a)];
    if (of.op == ExprNode::dim && of.a == d) return e.n;
  }
  return 0;
}

class GridPicture : public Picture::Source {
 public:
  GridPicture(const Tensor& t, int limit) : t_(t), rank_(t.rank()) {
    limit = limit <= 0 ? (rank_ == 3 ? default_limit_of_cubes : default_limit) : std::max(limit, 4);
    for (int d = 0; d < 3; ++d) {  // slices, rows, columns; what the tensor lacks has one coordinate
      const int of = d - (3 - rank_);
      axes_.emplace_back(of < 0 ? 1 : t.shape()[static_cast<std::size_t>(of)], limit);
      blocks_.push_back(of < 0 || t.num_parts() > 1 ? 0 : block_of(t.format(), of));
    }
    collect();
    widest_ = 1;
    for (const auto& [key, e] : elements_) widest_ = std::max(widest_, columns(e.text));
    for (const auto& [key, e] : elements_) kinds_[static_cast<int>(e.slot)] = true;
  }

  std::string text(int width) const override;
  std::string svg(Theme theme) const override;

 private:
  using Key = std::array<std::int64_t, 3>;

  void collect() {
    const std::vector<std::int64_t> none;
    for (int k = 0; k < t_.num_parts(); ++k) {
      const Part& part = t_.part(k);
      if (part.format.is_all_dense() && t_.num_parts() == 1) {
        collect_dense();
        continue;
      }
      const SlotJudge judge(part, t_.type());
      std::vector<storage::LevelView> views;
      std::vector<std::int64_t> counts;
      std::int64_t batch = -1;
      const char* values = static_cast<const char*>(part.values.data);
      const auto bytes = static_cast<std::int64_t>(size_of(t_.dtype()));
      walk_slots(part, t_.shape(), [&](const SlotChunk& c) {
        for (int i = 0; i < c.n; ++i) {
          Key key{0, 0, 0};
          bool shown = true;
          for (int d = 0; d < rank_ && shown; ++d) {
            const auto to = static_cast<std::size_t>(3 - rank_ + d);
            key[to] = axes_[to].place(c.dims[d][i]);
            shown = key[to] >= 0;
          }
          if (!shown) continue;
          if (c.batch != batch) {
            views = level_views(part, batch = c.batch);
            counts = level_counts(part, views);
          }
          const char* address = values + c.slot[i] * bytes;
          add(key, judge.judge(address, views, counts, c.position[i]), k, address);
        }
      });
    }
    for (auto& [key, e] : elements_) {
      const auto at = coordinates(key);
      if (e.count > 1) {
        const Scalar sum = t_.get(at).value_or(t_.fill());
        e.text = value_text(sum);
        e.title = sum.to_string();
      }
      std::string place;
      for (const std::int64_t c : at) place += (place.empty() ? "" : ", ") + std::to_string(c);
      e.title = "(" + place + ") = " + e.title;
      if (e.slot != SlotKind::value) e.title += ": " + std::string(slot_words(e.slot));
      if (e.count > 1) e.title += ", in " + std::to_string(e.count) + " slots";
      else if (t_.num_parts() > 1) e.title += ", in part " + std::to_string(e.part);
    }
  }

  void add(const Key& key, SlotKind slot, int part, const char* address) {
    const auto [found, is_new] = elements_.try_emplace(key);
    DrawnElement& e = found->second;
    if (!is_new) ++e.count;
    if (is_new || static_cast<int>(slot) < static_cast<int>(e.slot)) {
      e.slot = slot;
      e.part = part;
    }
    e.text = value_text(t_.dtype(), address);
    e.title = Scalar::load(t_.dtype(), address).to_string();
  }

  /// Of these every element is stored: those that are shown are looked up.
  void collect_dense() {
    const std::array<std::int64_t, 3> n = {std::ssize(axes_[0].shown), std::ssize(axes_[1].shown),
                                           std::ssize(axes_[2].shown)};
    for (Key key{0, 0, 0}; key[0] < n[0]; ++key[0])
      for (key[1] = 0; key[1] < n[1]; ++key[1])
        for (key[2] = 0; key[2] < n[2]; ++key[2]) {
          const auto at = coordinates(key);
          if (std::find(at.begin(), at.end(), -1) != at.end()) continue;
          const std::optional<Scalar> value = t_.get(at);
          if (!value) continue;
          add(key, is_fill(*value, t_.fill()) ? SlotKind::zero : SlotKind::value, 0,
              reinterpret_cast<const char*>(value->bits));
        }
  }

  std::vector<std::int64_t> coordinates(const Key& key) const {
    std::vector<std::int64_t> at;
    for (int d = 3 - rank_; d < 3; ++d)
      at.push_back(
          axes_[static_cast<std::size_t>(d)].shown[static_cast<std::size_t>(key[static_cast<std::size_t>(d)])]);
    return at;
  }
  const DrawnElement* find(std::size_t s, std::size_t r, std::size_t c) const {
    const auto found =
        elements_.find({static_cast<std::int64_t>(s), static_cast<std::int64_t>(r), static_cast<std::int64_t>(c)});
    return found == elements_.end() ? nullptr : &found->second;
  }
  std::string dim_name(int d) const {  // of slices, rows, columns
    const int of = d - (3 - rank_);
    return of < 0 ? "" : std::string(t_.format().dim_name(of));
  }
  std::string slice_title(std::size_t s) const {
    const std::int64_t c = axes_[0].shown[s];
    return c < 0 ? "…" : dim_name(0) + " = " + std::to_string(c);
  }
  /// What is left out, and what shows it; "" where nothing is.
  std::string cut_words() const {
    std::string words;
    for (int d = 3 - rank_; d < 3; ++d) {
      const Axis& a = axes_[static_cast<std::size_t>(d)];
      if (a.cut())
        words += (words.empty() ? "" : ", ") + grouped(a.head + a.tail) + " of " + grouped(a.extent) + " along " +
                 dim_name(d);
    }
    return words.empty() ? words : words + ": draw_raw() shows the structure of the whole.";
  }

  /// Left edges of the cells of an axis, and its end.
  std::vector<double> edges(int d, double size) const {
    const auto& axis = axes_[static_cast<std::size_t>(d)];
    const std::int64_t block = blocks_[static_cast<std::size_t>(d)];
    std::vector<double> out;
    double x = 0;
    for (const std::int64_t c : axis.shown) {
      if (c > 0 && block > 0 && c % block == 0) x += block_gap;
      out.push_back(x);
      x += size + gap;
    }
    out.push_back(std::max(0.0, x - gap));
    return out;
  }
  void draw_slice(Svg& svg, double x, double y, std::size_t s, const std::vector<double>& xs,
                  const std::vector<double>& ys, double w, double header) const;
  void draw_legend(Svg& svg, double& y, double& width) const;

  const Tensor t_;
  const int rank_;
  std::vector<Axis> axes_;
  std::vector<std::int64_t> blocks_;
  std::map<Key, DrawnElement> elements_;  ///< by place among what is shown
  bool kinds_[slot_kinds] = {};
  int widest_ = 1;
};

std::string GridPicture::text(int width) const {
  width = std::max(width, 24);
  std::string out = heading(t_, width);
  if (t_.size() == 0) return out + "(empty)\n";
  const Axis &rows = axes_[1], &cols = axes_[2];
  int label = 0;
  if (rank_ > 1)
    for (const std::int64_t r : rows.shown) label = std::max(label, columns(std::to_string(r)));
  int cell = widest_;
  if (rank_ > 0) cell = std::max(cell, columns(std::to_string(cols.shown.back())));
  // As many columns as there is room for; one column is kept for an ellipsis.
  const int room = width - label - (label ? 1 : 0) - 4;
  std::size_t fit = cols.shown.size();
  if (static_cast<int>(fit) * (cell + 2) > room) fit = static_cast<std::size_t>(std::max(1, (room - 2) / (cell + 2)));
  const bool cut_right = fit < cols.shown.size();
  const std::string margin(static_cast<std::size_t>(label + (label ? 1 : 0)), ' ');
  const int inner = static_cast<int>(fit) * (cell + 2) + (cut_right ? 2 : 0);
  const auto line = [&](const std::string& head, const auto& entry) {
    std::string s = head;
    for (std::size_t c = 0; c < fit; ++c) s += "  " + right(entry(c), cell);
    return s + (cut_right ? " …" : "");
  };
  for (std::size_t s = 0; s < axes_[0].shown.size(); ++s) {
    if (rank_ == 3) out += slice_title(s) + "\n";
    if (axes_[0].shown[s] < 0) continue;
    if (rank_ > 0)
      out +=
          cut(line(margin + " ",
                   [&](std::size_t c) { return cols.shown[c] < 0 ? std::string("…") : std::to_string(cols.shown[c]); }),
              width) +
          "\n";
    out += cut(margin + "┌" + repeat("─", inner + 1) + "┐", width) + "\n";
    for (std::size_t r = 0; r < rows.shown.size(); ++r) {
      const bool gap_row = rows.shown[r] < 0;
      const std::string head = label == 0 ? "│" : right(gap_row ? "⋮" : std::to_string(rows.shown[r]), label) + " │";
      const std::string body = line(head, [&](std::size_t c) -> std::string {
        if (gap_row || cols.shown[c] < 0) return gap_row ? "⋮" : "…";
        const DrawnElement* e = find(s, r, c);
        return e == nullptr ? "·" : e->slot == SlotKind::fill_in ? "○" : e->text;
      });
      out += cut(body, width - 2) + " │\n";
    }
    out += cut(margin + "└" + repeat("─", inner + 1) + "┘", width) + "\n";
  }
  std::string legend = t_.format().is_all_dense() ? "" : "· absent";
  if (kinds_[static_cast<int>(SlotKind::fill_in)]) legend += "   ○ fill-in";
  if (!legend.empty()) out += cut(legend, width) + "\n";
  const std::string words = cut_words();
  if (!words.empty()) out += cut(words, width) + "\n";
  return out;
}

void GridPicture::draw_slice(Svg& svg, double x, double y, std::size_t s, const std::vector<double>& xs,
                             const std::vector<double>& ys, double w, double header) const {
  const Axis &rows = axes_[1], &cols = axes_[2];
  if (rank_ > 0)
    for (std::size_t c = 0; c < cols.shown.size(); ++c)
      svg.text(x + header + xs[c] + w / 2, y + 12, cols.shown[c] < 0 ? "…" : std::to_string(cols.shown[c]),
               "mid muted small");
  const double top = y + (rank_ > 0 ? 20 : 0);
  for (std::size_t r = 0; r < rows.shown.size(); ++r) {
    const double row = top + ys[r];
    const bool gap_row = rows.shown[r] < 0;
    if (rank_ > 1)
      svg.text(x + header - 8, row + cell_height / 2 + 4, gap_row ? "⋮" : std::to_string(rows.shown[r]),
               "end muted small");
    for (std::size_t c = 0; c < cols.shown.size(); ++c) {
      const double at = x + header + xs[c];
      if (gap_row || cols.shown[c] < 0) {
        svg.text(at + w / 2, row + cell_height / 2 + 4, gap_row ? "⋮" : "…", "mid muted");
        continue;
      }
      const DrawnElement* e = find(s, r, c);
      if (e == nullptr) {
        svg.rect(at, row, w, cell_height, "absent");
        continue;
      }
      std::string classes(slot_classes(e->slot));
      if (t_.num_parts() > 1 && e->slot == SlotKind::value)
        classes = level_class(e->part) + "|t" + std::to_string(e->part % level_colours);
      svg.cell(at, row, w, cell_height, e->text, classes, "data-slot=\"" + std::string(slot_words(e->slot)) + "\"",
               e->title);
    }
  }
}

void GridPicture::draw_legend(Svg& svg, double& y, double& width) const {
  Legend legend(svg, 0, y);
  if (t_.num_parts() > 1) {
    for (int k = 0; k < t_.num_parts(); ++k)
      legend.add(level_class(k), name_or_text(t_.part(k).format) + ", " + grouped(t_.part_tensor(k).nse()) + " stored");
  }
  for (int k = t_.num_parts() > 1 ? 1 : 0; k < slot_kinds; ++k) {
    const SlotKind s = static_cast<SlotKind>(k);
    if (kinds_[k]) legend.add(slot_classes(s).substr(0, slot_classes(s).find('|')), slot_words(s));
  }
  if (!t_.format().is_all_dense()) {
    const Scalar& fill = t_.fill();
    legend.add("absent", fill.is_zero() ? "absent" : "absent: " + value_text(fill));
  }
  width = std::max(width, legend.right() - 18);
  y += 14;
}

std::string GridPicture::svg(Theme theme) const {
  Svg svg;
  double width = 0, y = svg_heading(svg, t_, width);
  int index = 1;
  if (rank_ > 0)
    for (const std::int64_t c : axes_[2].shown) index = std::max(index, columns(std::to_string(c)));
  const double w = std::max({28.0, char_width * widest_ + 10, small_width * index + 5});
  const auto xs = edges(2, w), ys = edges(1, cell_height);
  int label = 0;
  if (rank_ > 1)
    for (const std::int64_t r : axes_[1].shown) label = std::max(label, columns(std::to_string(r)));
  const double header = label ? small_width * label + 16 : 0;
  const double slice_width = header + xs.back(), slice_height = (rank_ > 0 ? 20 : 0) + ys.back();
  if (t_.size() == 0) {
    svg.text(0, y + 12, "No element: an extent is 0.", "muted");
    width = std::max(width, 28 * char_width);
    return svg.finish(width, y + 20, "An empty tensor: " + facts_line(t_), theme);
  }
  double x = 0;
  for (std::size_t s = 0; s < axes_[0].shown.size(); ++s) {
    const bool gap_slice = axes_[0].shown[s] < 0;
    const double needed = gap_slice ? 20 : slice_width;
    if (x > 0 && x + needed > widest_row) {
      x = 0;
      y += slice_height + between_slices + 8;
    }
    if (rank_ == 3 && !gap_slice) svg.text(x + header, y + 11, slice_title(s), "bold ink");
    const double top = y + (rank_ == 3 ? 20 : 0);
    if (gap_slice) svg.text(x, top + slice_height / 2, "…", "muted");
    else {
      svg.open("data-slice=\"" + std::to_string(axes_[0].shown[s]) + "\"");
      draw_slice(svg, x, top, s, xs, ys, w, header);
      svg.close();
    }
    width = std::max(width, x + needed);
    x += needed + between_slices;
  }
  y += slice_height + (rank_ == 3 ? 20 : 0) + 20;
  draw_legend(svg, y, width);
  const std::string words = cut_words();
  if (!words.empty()) {
    svg.text(0, y + 20, words, "muted small");
    width = std::max(width, small_width * columns(words));
    y += 24;
  }
  return svg.finish(width, y, "The elements of a tensor: " + name_or_text(t_.format()) + ", " + facts_line(t_), theme);
}

}  // namespace

Picture draw(const Tensor& t, int limit) {
  if (t.rank() > 3)
    throw TensorError({.what = "draw() shows tensors of at most 3 dimensions",
                       .expected = "rank 0 to 3",
                       .got = "rank " + std::to_string(t.rank()),
                       .fix = "draw a slice of it, or draw_storage(), which shows any"});
  return Picture(std::make_shared<GridPicture>(t, limit));
}

}  // namespace strata
