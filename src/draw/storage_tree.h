#pragma once
// One batch of a part as a tree: a band for each level, nodes above their children, pos between the groups that it
// bounds, and the values below.
//
//   i : dense       (  0  )     (1)
//   j : compressed  0 (0)(7)  2 (3)  3        pos stands at the edges of the groups, crd in them
//   values            [1][2]    [4]
#include <functional>
#include <string>
#include <vector>

#include "draw/slots.h"
#include "draw/svg.h"

namespace strata::pictures {

inline constexpr double cell_height = 26;

class StorageTree {
 public:
  /// The first `limit` columns of a batch.
  StorageTree(const Part& part, const TensorType& type, std::int64_t batch, int limit);

  /// A value with its place.
  struct DrawnLeaf {
    SlotKind slot = SlotKind::value;
    std::vector<std::int64_t> at;  ///< coordinates in the tensor; none of an outside slot
    std::string text, title;
    std::int64_t position = 0;
    double x = 0;  ///< left edge, from the left of the tree
  };
  const std::vector<DrawnLeaf>& leaves() const { return leaves_; }
  double cell_width() const { return cell_width_; }
  double width() const { return width_; }
  double height() const { return height_; }
  bool truncated() const { return truncated_; }
  bool has_ghosts() const { return has_ghosts_; }

  struct Style {
    bool upside_down = false;  ///< values on top
    /// A colour of its own for an element ("#rrggbb"); "" for none.
    std::function<std::string(const DrawnLeaf&)> colour = {};
  };
  void draw(Svg& svg, double x, double y, const Style& style) const;

 private:
  struct DrawnNode {
    std::int64_t position = 0, parent = 0;
    std::string text, title;
    std::size_t first = 0, last = 0;  ///< columns below it
  };
  struct Fence {
    std::int64_t k = 0;
    std::string text;
    std::size_t before = 0;  ///< the column it stands before
  };
  struct Bits {
    std::int64_t parent = 0;
    std::string text;
    std::size_t first = 0, last = 0;
  };
  struct Band {
    std::string title, note, unit;  ///< "j : compressed", what it stores, "j"
    std::vector<DrawnNode> nodes;
    std::vector<Fence> fences;
    std::vector<Bits> bits;
    bool stored = false;  ///< crd lie in memory
    bool has_pos = false;
    double pos_y = 0, bits_y = 0, node_y = 0;
    bool complete = true;  ///< the group visited last is shown to its end
    std::int64_t last_parent = -1;
  };
  struct DrawnColumn {
    double gap = 0, x = 0;  ///< room on its left, its left edge
  };

  void visit(int l, std::int64_t p, bool outside);
  void add_leaf(std::int64_t position, bool outside);
  std::size_t add_column();
  bool full() const { return static_cast<int>(columns_.size()) >= limit_; }
  std::pair<std::int64_t, std::int64_t> children(int l, std::int64_t p) const;
  bool in_range() const;
  void place();
  double centre(std::size_t first, std::size_t last) const;

  void draw_band(Svg& svg, double x, double y, const Style& style, std::size_t b) const;
  void draw_values(Svg& svg, double x, double y, const Style& style) const;
  void draw_edges(Svg& svg, double x, double y, const Style& style, std::size_t b) const;
  double turned(const Style& style, double y, double h) const { return style.upside_down ? height_ - y - h : y; }
  void more(Svg& svg, double x, double y, std::int64_t shown, std::int64_t total) const;

  const Part& part_;
  const TensorType& type_;
  const std::int64_t batch_;
  const int limit_, first_, levels_;
  const std::vector<storage::LevelView> views_;
  const std::vector<std::int64_t> counts_;
  const DimensionMap map_;
  const SlotJudge judge_;
  std::vector<std::int64_t> at_;  ///< level coordinates on the way down
  std::vector<Band> bands_;       ///< of levels first_ ... levels_ - 1
  std::vector<DrawnLeaf> leaves_;
  std::vector<std::size_t> leaf_columns_;
  std::vector<DrawnColumn> columns_;
  std::size_t group_ = 0;  ///< a group has begun at this column
  bool truncated_ = false, has_ghosts_ = false;
  double cell_width_ = 0, label_width_ = 0, right_ = 0, width_ = 0, height_ = 0, values_y_ = 0;
};

}  // namespace strata::pictures
