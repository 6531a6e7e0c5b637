// What a matrix looks like, and which storage suits it.
#include "strata/structure.h"
#include "bind.h"

namespace strata::bind {
namespace {

nb::dict from_block(const BlockFit& b) {
  nb::dict d;
  d["rows"] = b.rows;
  d["columns"] = b.columns;
  d["blocks"] = b.blocks;
  d["fill"] = b.fill;
  return d;
}

nb::dict from_structure(const Structure& s) {
  nb::dict d;
  d["shape"] = nb::make_tuple(s.rows, s.columns);
  d["nse"] = s.nse;
  d["dtype"] = std::string(name_of(s.dtype));
  nb::dict rows;
  rows["shortest"] = s.shortest_row;
  rows["longest"] = s.longest_row;
  rows["mean"] = s.mean_row;
  rows["deviation"] = s.deviation_row;
  rows["empty"] = s.empty_rows;
  rows["empty_columns"] = s.empty_columns;
  d["rows"] = rows;
  nb::dict bands;
  bands["lower"] = s.lower_bandwidth;
  bands["upper"] = s.upper_bandwidth;
  bands["diagonals"] = s.num_diagonals;
  bands["fill"] = s.diagonal_fill;
  nb::list fullest;
  for (const Diagonal& v : s.diagonals) {
    nb::dict one;
    one["offset"] = v.offset;
    one["stored"] = v.stored;
    one["fill"] = v.fill();
    fullest.append(one);
  }
  bands["fullest"] = fullest;
  d["bands"] = bands;
  d["block"] = from_block(s.best_block);
  nb::list blocks;
  for (const BlockFit& b : s.blocks) blocks.append(from_block(b));
  d["sampled_blocks"] = blocks;
  nb::dict symmetry;
  symmetry["pattern"] = s.pattern_symmetric;
  symmetry["symmetric"] = s.symmetric;
  symmetry["skew"] = s.skew;
  symmetry["hermitian"] = s.hermitian;
  symmetry["lower_triangular"] = s.lower_triangular;
  symmetry["upper_triangular"] = s.upper_triangular;
  d["symmetry"] = symmetry;
  nb::list formats;
  for (const FormatEstimate& f : s.formats) {
    nb::dict one;
    one["format"] = f.format;
    one["crd_dtype"] = f.crd_dtype.empty() ? nb::object(nb::none()) : nb::object(nb::str(f.crd_dtype.c_str()));
    one["bytes"] = f.bytes;
    one["slots"] = f.slots;
    one["cost_ns"] = f.cost;
    one["note"] = f.note;
    formats.append(one);
  }
  d["formats"] = formats;
  d["recommended"] = s.recommended;
  d["why"] = s.why;
  d["text"] = s.to_string();
  return d;
}

}  // namespace

void bind_structure(nb::module_& m) {
  m.def(
      "describe_structure",
      [](const Tensor& t) {
        const Structure s = [&] {
          NoGil no_gil;
          return describe_structure(t);
        }();
        return from_structure(s);
      },
      nb::arg("t"),
      "What a matrix looks like (rows, bands, blocks, symmetry), the bytes and modelled cost of every storage that "
      "suits it, and the one recommended, as a dict.");
}

}  // namespace strata::bind
