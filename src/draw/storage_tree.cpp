#include "draw/storage_tree.h"

#include <algorithm>

#include "draw/words.h"

namespace strata::pictures {
namespace {

constexpr double plain_gap = 4, group_gap = 14, fence_room = 7, row_gap = 13, edge_gap = 24;

std::string index_text(std::span<const std::int64_t> at) {
  std::string s;
  for (const std::int64_t c : at) s += (s.empty() ? "" : ", ") + std::to_string(c);
  return "(" + s + ")";
}

std::string attribute(std::string_view name, std::int64_t value) {
  return std::string(name) + "=\"" + std::to_string(value) + "\"";
}

double fence_width(std::string_view text) { return char_width * columns(text) + 8; }

}  // namespace

StorageTree::StorageTree(const Part& part, const TensorType& type, std::int64_t batch, int limit)
    : part_(part),
      type_(type),
      batch_(batch),
      limit_(limit),
      first_(batch_levels(part)),
      levels_(part.format.num_levels()),
      views_(level_views(part, batch)),
      counts_(level_counts(part, views_)),
      map_(part.format, part.ranges, type.shape),
      judge_(part, type),
      at_(static_cast<std::size_t>(levels_) + 1, 0) {
  batch_coordinates(part, batch, at_.data());
  const std::vector<std::string> texts = level_texts(part.format);
  for (int l = first_; l < levels_; ++l) {
    const auto& v = views_[static_cast<std::size_t>(l)];
    Band band;
    band.title = texts[static_cast<std::size_t>(l)];
    band.unit = band.title.substr(0, band.title.rfind(" : "));
    band.has_pos = storage::has_pos(v.level.kind);
    // Is there an entry of crd for each position?
    const std::int64_t positions = counts_[static_cast<std::size_t>(l) + 1];
    band.stored = storage::has_crd(v.level.kind) && v.level.kind != LevelKind::bitmap &&
                  storage::crd_entries(v, counts_[static_cast<std::size_t>(l)], positions) == positions;
    if (band.has_pos) band.note += "pos " + std::string(name_of(type.pos_dtype)) + ", ";
    if (v.level.kind == LevelKind::bitmap) band.note += "one bit each, ";
    else if (storage::has_crd(v.level.kind)) band.note += "crd " + crd_type(v.level, v.range, type.crd_dtype) + ", ";
    band.note += v.range.lo == 0 ? "size " + std::to_string(v.range.size)
                                 : std::to_string(v.range.lo) + " to " + std::to_string(v.range.lo + v.range.size - 1);
    has_ghosts_ |= !band.stored;
    bands_.push_back(std::move(band));
  }
  if (in_range() || first_ < levels_) visit(first_, 0, false);
  for (int l = first_; l < levels_; ++l) {
    Band& band = bands_[static_cast<std::size_t>(l - first_)];
    if (band.has_pos && band.complete) {
      const std::int64_t k = band.last_parent + 1;  // 0 where there is no parent at all
      band.fences.push_back({k, std::to_string(views_[static_cast<std::size_t>(l)].pos[k]), columns_.size()});
    }
  }
  place();
}

/// Positions of the children of p are consecutive, whatever the level.
std::pair<std::int64_t, std::int64_t> StorageTree::children(int l, std::int64_t p) const {
  const auto& v = views_[static_cast<std::size_t>(l)];
  if (storage::has_pos(v.level.kind)) return {v.pos[p], v.pos[p + 1]};
  if (v.level.kind == LevelKind::singleton) return {p, p + 1};
  return {p * v.width(), (p + 1) * v.width()};
}

bool StorageTree::in_range() const {
  return std::ranges::all_of(map_.tests,
                             [&](const auto& test) { return test.passes(DimensionMap::sum(test.terms, at_.data())); });
}

std::size_t StorageTree::add_column() {
  const std::size_t at = columns_.size();
  columns_.push_back({.gap = at == 0 ? 0 : group_ == at ? group_gap : plain_gap, .x = 0});
  return at;
}

void StorageTree::add_leaf(std::int64_t position, bool outside) {
  outside = outside || !in_range();
  leaf_columns_.push_back(add_column());
  DrawnLeaf leaf{.slot = SlotKind::outside, .at = {}, .text = "·", .title = {}, .position = position, .x = 0};
  leaf.title = "values[" + std::to_string(position) + "]";
  if (outside) {
    leaf.title += ": outside the tensor";
  } else {
    std::int64_t slot = position * part_.value_stride + (first_ > 0 ? batch_ * part_.values_batch_stride : 0);
    if (part_.format.is_all_dense()) {
      slot = part_.values_offset;
      for (std::size_t l = 0; l < part_.ranges.size(); ++l) slot += (at_[l] - part_.ranges[l].lo) * part_.strides[l];
    }
    const char* address =
        static_cast<const char*>(part_.values.data) + slot * static_cast<std::int64_t>(size_of(type_.dtype));
    leaf.slot = judge_.judge(address, views_, counts_, position);
    leaf.text = value_text(type_.dtype, address);
    for (const auto& terms : map_.terms) leaf.at.push_back(DimensionMap::sum(terms, at_.data()));
    leaf.title += " = " + Scalar::load(type_.dtype, address).to_string() + " at " + index_text(leaf.at) +
                  (leaf.slot == SlotKind::value ? "" : ": " + std::string(slot_words(leaf.slot)));
  }
  leaves_.push_back(std::move(leaf));
}

void StorageTree::visit(int l, std::int64_t p, bool outside) {
  if (l == levels_) return add_leaf(p, outside);
  const auto& v = views_[static_cast<std::size_t>(l)];
  Band& band = bands_[static_cast<std::size_t>(l - first_)];
  const auto [begin, end] = children(l, p);
  const std::size_t start = columns_.size();
  if (v.level.kind != LevelKind::singleton) group_ = start;
  if (band.has_pos) band.fences.push_back({p, std::to_string(v.pos[p]), start});
  band.last_parent = p;
  band.complete = false;
  std::int64_t bit = -1, running = v.range.lo - 1;
  for (std::int64_t q = begin; q < end; ++q) {
    if (full()) {
      truncated_ = true;
      break;
    }
    std::int64_t& c = at_[static_cast<std::size_t>(l)];
    std::string text;
    bool unused = false;
    switch (v.level.kind) {
      case LevelKind::bitmap:
        do ++bit;
        while (bit < v.range.size && !v.bit(p, bit));
        c = v.range.lo + bit;
        break;
      case LevelKind::delta:
        c = running = running + v.coordinate(q) + 1;
        text = std::to_string(v.coordinate(q));
        break;
      case LevelKind::padded:
        unused = v.crd[q] == all_ones(v.crd.dtype);
        c = v.crd[q];
        if (unused) text = "·";
        break;
      default:
        if (levels::is_registered(v.level.kind)) {
          c = running = storage::registered_coordinate(v, p, q, running);
          break;
        }
        c = band.stored ? v.coordinate(q) : v.range.lo + (q - begin);
    }
    if (text.empty()) text = std::to_string(c);
    DrawnNode node{.position = q, .parent = p, .text = text, .title = {}, .first = columns_.size(), .last = 0};
    node.title = levels::is_registered(v.level.kind) ? "position " + std::to_string(q)
                 : band.stored                       ? "crd[" + std::to_string(q) + "] = " + (unused ? "unused" : text)
                                                     : "not in memory";
    if (!unused) node.title += ": " + band.unit + " = " + std::to_string(c);
    visit(l + 1, q, outside || unused);
    if (columns_.size() == node.first) break;
    node.last = columns_.size() - 1;
    band.nodes.push_back(std::move(node));
  }
  band.complete = !truncated_;
  if (begin == end) add_column();
  if (v.level.kind == LevelKind::bitmap && columns_.size() > start) {
    std::string bits;
    for (std::int64_t c = 0; c < std::min<std::int64_t>(v.range.size, 24); ++c) bits += v.bit(p, c) ? '1' : '0';
    band.bits.push_back({p, bits + (v.range.size > 24 ? "…" : ""), start, columns_.size() - 1});
  }
}

double StorageTree::centre(std::size_t first, std::size_t last) const {
  return (columns_[first].x + columns_[last].x + cell_width_) / 2;
}

void StorageTree::place() {
  int widest = 1;
  for (const Band& band : bands_)
    for (const DrawnNode& node : band.nodes) widest = std::max(widest, columns(node.text));
  for (const DrawnLeaf& leaf : leaves_) widest = std::max(widest, columns(leaf.text));
  cell_width_ = std::max(26.0, char_width * widest + 10);

  // Room between the columns: for pos at the edges of groups, for the bits of a group.
  double trailing = 0;
  for (const Band& band : bands_)
    for (const Fence& fence : band.fences) {
      const double room = fence_width(fence.text) + 2 * fence_room;
      double& gap = fence.before < columns_.size() ? columns_[fence.before].gap : trailing;
      gap = std::max(gap, room);
    }
  const auto width_of = [&](std::size_t first, std::size_t last) {
    double w = cell_width_;
    for (std::size_t c = first + 1; c <= last; ++c) w += columns_[c].gap + cell_width_;
    return w;
  };
  for (std::size_t b = bands_.size(); b-- > 0;)
    for (const Bits& bits : bands_[b].bits) {
      const double lack = char_width * columns(bits.text) + 10 - width_of(bits.first, bits.last);
      if (lack <= 0) continue;
      columns_[bits.first].gap += lack / 2;
      (bits.last + 1 < columns_.size() ? columns_[bits.last + 1].gap : trailing) += lack / 2;
    }

  label_width_ = 0;
  for (const Band& band : bands_) {
    const bool array = band.stored || band.has_pos;
    label_width_ = std::max({label_width_, 12 + char_width * columns(band.title) + (array ? 36 : 0),
                             12 + small_width * columns(band.note) + (array ? 36 : 0)});
  }
  label_width_ = std::max(label_width_, 12 + char_width * 6) + 14;
  double x = label_width_;
  for (DrawnColumn& column : columns_) {
    column.x = x + column.gap;
    x = column.x + cell_width_;
  }
  for (std::size_t k = 0; k < leaves_.size(); ++k) leaves_[k].x = columns_[leaf_columns_[k]].x;
  right_ = x + trailing;
  width_ = right_ + (truncated_ ? 10 + small_width * (7 + columns(grouped(counts_.back()))) : 0);

  double y = 0;
  for (std::size_t b = 0; b < bands_.size(); ++b) {
    Band& band = bands_[b];
    if (b > 0) y += band.has_pos ? row_gap : edge_gap;
    if (band.has_pos) {
      band.pos_y = y;
      y += cell_height - 4 + row_gap;
    }
    if (!band.bits.empty()) {
      band.bits_y = y;
      y += cell_height + 6;
    }
    band.node_y = y;
    y += cell_height;
  }
  values_y_ = y += bands_.empty() ? 0 : edge_gap - 6;
  height_ = y + cell_height;
}

void StorageTree::more(Svg& svg, double x, double y, std::int64_t shown, std::int64_t total) const {
  if (shown < total)
    svg.text(x + right_ + 6, y + cell_height / 2 + 4, "… " + grouped(total - shown) + " more", "muted small");
}

void StorageTree::draw_edges(Svg& svg, double x, double y, const Style& style, std::size_t b) const {
  const Band& band = bands_[b];
  const int l = first_ + static_cast<int>(b);
  if (b > 0) {
    const Band& parents = bands_[b - 1];
    svg.open("data-edges=\"" + std::to_string(l) + "\"");
    for (const DrawnNode& node : band.nodes) {
      const auto parent = std::find_if(parents.nodes.begin(), parents.nodes.end(),
                                       [&](const DrawnNode& p) { return p.position == node.parent; });
      if (parent == parents.nodes.end()) continue;
      const double x1 = x + centre(parent->first, parent->last), x2 = x + centre(node.first, node.last);
      const double top = parents.node_y + cell_height, bottom = band.bits.empty() ? band.node_y : band.bits_y;
      const double y1 = y + turned(style, top, 0), y2 = y + turned(style, bottom, 0), middle = (y1 + y2) / 2;
      std::string d = "M" + number(x1) + " " + number(y1);
      if (x1 == x2) d += "V" + number(y2);
      else
        d += "C" + number(x1) + " " + number(middle) + " " + number(x2) + " " + number(middle) + " " + number(x2) +
             " " + number(y2);
      svg.path(
          d, "edge k" + std::to_string(l % level_colours),
          " data-parent=\"" + std::to_string(node.parent) + "\" data-child=\"" + std::to_string(node.position) + "\"");
    }
    svg.close();
  }
  // Down from pos to the edge of the group that begins there.
  for (const Fence& fence : band.fences) {
    const double at = fence.before < columns_.size() ? columns_[fence.before].x - columns_[fence.before].gap / 2
                                                     : (columns_.back().x + cell_width_ + right_) / 2;
    svg.line(x + at, y + turned(style, band.pos_y + cell_height - 4, 0), x + at,
             y + turned(style, band.node_y + cell_height, 0), "fence k" + std::to_string(l % level_colours));
  }
}

void StorageTree::draw_band(Svg& svg, double x, double y, const Style& style, std::size_t b) const {
  const Band& band = bands_[b];
  const int l = first_ + static_cast<int>(b);
  const auto i = static_cast<std::size_t>(l);
  const std::string colour = std::to_string(l % level_colours);
  const double top = band.has_pos ? band.pos_y : band.node_y, tall = band.node_y + cell_height - top;
  const double y_top = y + turned(style, top, tall);
  svg.line(x + 2, y_top + 3, x + 2, y_top + tall - 3, "bar k" + colour);
  const double label_y = y_top + tall / 2;
  svg.text(x + 12, label_y - 2, band.title, "bold t" + colour);
  svg.text(x + 12, label_y + 12, band.note, "muted small");
  const auto name_row = [&](double row, double h, const char* name) {
    svg.text(x + label_width_ - 12, y + turned(style, row, h) + h / 2 + 4, name, "end small t" + colour);
  };
  const std::string of_level = " data-level=\"" + std::to_string(l) + "\"";
  if (band.has_pos) {
    const double h = cell_height - 4, row = y + turned(style, band.pos_y, h);
    name_row(band.pos_y, h, "pos");
    svg.open("data-array=\"pos\"" + of_level);
    for (const Fence& fence : band.fences) {
      const double w = fence_width(fence.text);
      const double at = fence.before < columns_.size() ? columns_[fence.before].x - columns_[fence.before].gap / 2
                                                       : (columns_.back().x + cell_width_ + right_) / 2;
      svg.cell(x + at - w / 2, row, w, h, fence.text, "pos k" + colour + "|t" + colour, attribute("data-k", fence.k),
               "pos[" + std::to_string(fence.k) + "] = " + fence.text);
    }
    svg.close();
    more(svg, x, row - 2, std::ssize(band.fences), counts_[i] + 1);
  }
  if (!band.bits.empty()) {
    const double row = y + turned(style, band.bits_y, cell_height);
    name_row(band.bits_y, cell_height, "bits");
    svg.open("data-array=\"bits\"" + of_level);
    for (const Bits& bits : band.bits) {
      const double w = char_width * columns(bits.text) + 10, at = centre(bits.first, bits.last);
      svg.cell(x + at - w / 2, row, w, cell_height, bits.text, "l" + colour + "|t" + colour,
               attribute("data-k", bits.parent), "bits of parent " + std::to_string(bits.parent));
    }
    svg.close();
    more(svg, x, row, std::ssize(band.bits), counts_[i]);
  }
  const double row = y + turned(style, band.node_y, cell_height);
  if (band.stored) name_row(band.node_y, cell_height, "crd");
  svg.open((band.stored ? "data-array=\"crd\"" : "data-array=\"implied\"") + of_level);
  for (const DrawnNode& node : band.nodes) {
    const double at = centre(node.first, node.last);
    const std::string classes = (node.text == "·" ? "outside" : band.stored ? level_class(l) : "ghost k" + colour);
    svg.cell(x + at - cell_width_ / 2, row, cell_width_, cell_height, node.text,
             classes + (node.text == "·" ? "|muted" : "|t" + colour), attribute("data-k", node.position), node.title);
  }
  svg.close();
  more(svg, x, row, std::ssize(band.nodes), counts_[i + 1]);
}

void StorageTree::draw_values(Svg& svg, double x, double y, const Style& style) const {
  const double row = y + turned(style, values_y_, cell_height);
  svg.line(x + 2, row + 3, x + 2, row + cell_height - 3, "bar frame");
  svg.text(x + 12, row + cell_height / 2 - 2, "values", "bold ink");
  svg.text(x + 12, row + cell_height / 2 + 12,
           std::string(name_of(type_.dtype)) +
               (part_.value_stride == 0 && !part_.format.is_all_dense() ? ", one for all" : ""),
           "muted small");
  const double upper = y + turned(style, values_y_ - (edge_gap - 6), 0), lower = y + turned(style, values_y_, 0);
  svg.open("data-array=\"values\"");
  for (const DrawnLeaf& leaf : leaves_) {
    if (!bands_.empty()) {
      const double centre = x + leaf.x + cell_width_ / 2;
      svg.line(centre, upper, centre, lower, "edge frame");
    }
    const std::string colour = style.colour ? style.colour(leaf) : "";
    std::string classes(slot_classes(leaf.slot));
    if (!colour.empty()) classes = classes.substr(0, classes.find('|')) + "|on-colour";
    svg.cell(x + leaf.x, row, cell_width_, cell_height, leaf.text, classes,
             attribute("data-k", leaf.position) + " data-slot=\"" + std::string(slot_words(leaf.slot)) + "\"",
             leaf.title, colour.empty() ? "" : " style=\"fill:" + colour + "\"");
  }
  svg.close();
  more(svg, x, row, std::ssize(leaves_), counts_.back());
}

void StorageTree::draw(Svg& svg, double x, double y, const Style& style) const {
  for (std::size_t b = 0; b < bands_.size(); ++b) draw_edges(svg, x, y, style, b);
  for (std::size_t b = 0; b < bands_.size(); ++b) draw_band(svg, x, y, style, b);
  draw_values(svg, x, y, style);
}

}  // namespace strata::pictures
