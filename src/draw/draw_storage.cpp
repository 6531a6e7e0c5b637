// The storage as a picture: a tree for each part and batch, one below the other.
#include <algorithm>

#include "draw/storage_tree.h"
#include "draw/words.h"

namespace strata {
namespace {

using namespace pictures;

class StoragePicture : public Picture::Source {
 public:
  StoragePicture(const Tensor& t, int limit) : t_(t), limit_(limit > 0 ? limit : default_limit) {}

  std::string text(int width) const override { return draw_storage_text(t_, width); }

  std::string svg(Theme theme) const override {
    Svg svg;
    double width = 0, y = svg_heading(svg, t_, width);
    bool kinds[slot_kinds] = {}, ghosts = false, truncated = false;
    for (int k = 0; k < t_.num_parts(); ++k) {
      const Part& part = t_.part(k);
      if (t_.num_parts() > 1) {
        const std::string words = "part " + std::to_string(k) + " · " + name_or_text(part.format) + " · " +
                                  grouped(t_.part_tensor(k).nse()) + " stored";
        svg.text(0, y + 14, words, "bold ink");
        width = std::max(width, char_width * columns(words));
        y += 30;
      }
      const std::int64_t n = batches(part), shown = std::min(n, most_batches);
      for (std::int64_t b = 0; b < shown; ++b) {
        if (n > 1) {
          svg.text(0, y + 11, "batch " + std::to_string(b) + " of " + std::to_string(n), "muted small");
          y += 22;
        }
        const StorageTree tree(part, t_.type(), b, limit_);
        tree.draw(svg, 0, y, {});
        width = std::max(width, tree.width());
        y += tree.height() + 22;
        for (const auto& leaf : tree.leaves()) kinds[static_cast<int>(leaf.slot)] = true;
        ghosts |= tree.has_ghosts();
        truncated |= tree.truncated();
      }
      if (shown < n) {
        svg.text(0, y + 8, "and " + grouped(n - shown) + " more batches", "muted small");
        y += 26;
      }
    }
    Legend legend(svg, 0, y);
    for (int k = 0; k < slot_kinds; ++k) {
      const SlotKind s = static_cast<SlotKind>(k);
      if (kinds[k]) legend.add(slot_classes(s).substr(0, slot_classes(s).find('|')), slot_words(s));
    }
    if (ghosts) legend.add("ghost frame", "implied, not in memory");
    width = std::max(width, legend.right() - 18);
    y += 14;
    if (truncated) {
      const std::string words = "Cut: draw_storage(limit) shows more, draw_raw() the structure of the whole.";
      svg.text(0, y + 20, words, "muted small");
      width = std::max(width, small_width * columns(words));
      y += 24;
    }
    return svg.finish(width, y, "The storage of a tensor: " + name_or_text(t_.format()) + ", " + facts_line(t_), theme);
  }

 private:
  static constexpr int default_limit = 32;
  static constexpr std::int64_t most_batches = 4;

  const Tensor t_;
  const int limit_;
};

}  // namespace

Picture draw_storage(const Tensor& t, int limit) { return Picture(std::make_shared<StoragePicture>(t, limit)); }

}  // namespace strata
