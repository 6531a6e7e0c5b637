// st.Format and st.Level.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "arguments.h"
#include "base/checked.h"
#include "bind.h"
#include "levels/level_storage.h"

namespace strata::bind {
namespace {

/// A level as Python sees it: its expression is text over the dimensions' names.
struct LevelView {
  std::string expr, kind;
  bool ordered, unique;
  std::int64_t arg;
  bool has_pos, has_crd;
  bool operator==(const LevelView&) const = default;
};

/// Text of an expression; `compound` asks for parentheses where it becomes an operand.
struct Text {
  std::string text;
  bool compound = false;
  std::string operand() const { return compound ? "(" + text + ")" : text; }
};
Text operator+(const Text& a, const Text& b) { return {a.operand() + " + " + b.operand(), true}; }
Text operator-(const Text& a, const Text& b) { return {a.operand() + " - " + b.operand(), true}; }

template <class Name> std::string level_text(const Format& f, int l, Name name) {
  return f
      .eval_level<Text>(
          l, [&](int d) { return Text{name(d)}; },
          [](const Text& e, std::int64_t n) { return Text{e.operand() + " / " + std::to_string(n), true}; },
          [](const Text& e, std::int64_t n) { return Text{e.operand() + " % " + std::to_string(n), true}; })
      .text;
}

void single_part(const Format& f, const char* what) {
  if (f.num_parts() != 1)
    throw FormatError({.what = std::string(what) + " of a sum of " + std::to_string(f.num_parts()) + " parts",
                       .expected = "one part",
                       .got = f.to_string(),
                       .fix = "take one part: format.parts[0]"});
}

std::vector<LevelView> levels_of(const Format& f) {
  single_part(f, "the levels");
  std::vector<LevelView> out;
  for (int l = 0; l < f.num_levels(); ++l) {
    const Level& v = f.level(l);
    out.push_back({level_text(f, l, [&](int d) { return std::string(f.dim_name(d)); }), std::string(name_of(v.kind)),
                   v.ordered, v.unique, v.arg, storage::has_pos(v.kind), storage::has_crd(v.kind)});
  }
  return out;
}

/// Structure without properties and arguments: packages tell their layouts apart by it. Sums join their parts with "+".
std::string signature_of(const Format& f) {
  std::string out;
  for (int p = 0; p < f.num_parts(); ++p) {
    const Format part = f.num_parts() == 1 ? f : f.part(p);
    if (p) out += " + ";
    for (int l = 0; l < part.num_levels(); ++l) {
      if (l) out += ", ";
      out += level_text(part, l, [](int d) { return "d" + std::to_string(d); }) + ": " +
             std::string(name_of(part.level(l).kind));
    }
  }
  return out;
}

std::vector<std::int64_t> coordinates(nb::handle h, int expected, const char* what) {
  Shape c;
  for (nb::handle item : h) {
    nb::object index = nb::steal(PyNumber_Index(item.ptr()));
    if (!index.is_valid()) throw nb::python_error();
    int overflow = 0;
    c.push_back(PyLong_AsLongLongAndOverflow(index.ptr(), &overflow));
    if (overflow)
      throw FormatError({.what = std::string("one of the ") + what + " does not fit 64 bits",
                         .expected = "from -2^63 to 2^63 - 1",
                         .got = overflow > 0 ? "more" : "less"});
  }
  if (static_cast<int>(c.size()) != expected)
    throw FormatError({.what = std::string("wrong number of ") + what,
                       .expected = std::to_string(expected),
                       .got = std::to_string(c.size())});
  return c;
}

}  // namespace

Format to_format(nb::handle h, int rank) {
  Format* f = nullptr;
  if (nb::try_cast<Format*>(h, f) && f) return *f;
  if (PyUnicode_Check(h.ptr())) {
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(h.ptr(), &size);
    if (!text) {
      PyErr_Clear();
      throw FormatError({.what = "a format text with characters that are no Unicode", .expected = "ASCII text"});
    }
    return parse_format({text, static_cast<std::size_t>(size)}, rank);
  }
  if (nb::hasattr(h, "__strata_format__")) return to_format(h.attr("__strata_format__")(rank), rank);
  throw FormatError(
      {.what = "this is not a format",
       .expected = "a strata.Format, a text such as \"(i, j) -> (i: dense, j: compressed)\", or a name such as \"CSR\"",
       .got = Py_TYPE(h.ptr())->tp_name});
}

void bind_format(nb::module_& m) {
  nb::class_<LevelView>(m, "Level",
                        "One level of a format: `expr` over the dimensions' names, `kind`, `ordered`, `unique`, `arg` "
                        "(delta: bits; structured: n; padded: k).")
      .def_ro("expr", &LevelView::expr, "What it stores: an expression over the names of dimensions.")
      .def_ro("kind", &LevelView::kind, "Its type, in lower case.")
      .def_ro("ordered", &LevelView::ordered, "Do coordinates ascend below one parent?")
      .def_ro("unique", &LevelView::unique, "Is each coordinate there once below one parent?")
      .def_ro("arg", &LevelView::arg,
              "delta: bits; structured: n; padded: k, where 0 takes the longest row; a registered type's number; "
              "otherwise 0.")
      .def_ro("has_pos", &LevelView::has_pos, "Do tensors have positions for it, t.pos(level)?")
      .def_ro("has_crd", &LevelView::has_crd, "Do tensors have coordinates for it, t.crd(level)?")
      .def("__eq__", [](const LevelView& a, const LevelView& b) { return a == b; })
      .def(
          "__eq__", [](const LevelView&, nb::handle) { return false; }, nb::arg("other").none())
      .def("__hash__",
           [](const LevelView& v) { return static_cast<Py_hash_t>(std::hash<std::string>()(v.expr + v.kind)); })
      .def("__repr__", [](const LevelView& v) { return "<Level " + v.expr + ": " + v.kind + ">"; });

  nb::class_<Format>(m, "Format", nb::is_weak_referenceable(),
                     "How the dimensions of a tensor map to the levels of its storage.\n\n"
                     "    Format('(i, j) -> (i: dense, j: compressed)')    # CSR\n"
                     "    Format('BSR(2, 3)')                              # a name\n"
                     "    Format('COO', rank=3)\n"
                     "    Format('BSR(4, 4) + COO')                        # a sum of parts\n\n"
                     "Immutable. Equality and hash are structural: names of formats and dimensions do not count. "
                     "FormatError (carets show where).")
      .def(
          "__init__",
          [](Format* self, nb::handle text, nb::handle rank, const nb::kwargs& unknown) {
            const char* const call = "Format(text, rank=-1)";
            refuse_unknown(unknown, call);
            require(text, "text", call);
            const Index r = to_index(rank);
            if (!r.is_integer) argument_error("rank is an integer", call, Py_TYPE(rank.ptr())->tp_name);
            new (self) Format(to_format(text, static_cast<int>(std::clamp<std::int64_t>(r.value, -1, 1 << 20))));
          },
          nb::arg("text").none() = nb::ellipsis(), nb::arg("rank") = -1, nb::arg("unknown"),
          nb::sig("def __init__(self, text: object, rank: int = -1) -> None"))
      .def_prop_ro("rank", &Format::rank, "Number of dimensions.")
      .def_prop_ro(
          "num_levels",
          [](const Format& f) {
            single_part(f, "the levels");
            return f.num_levels();
          },
          "Number of levels of a single part.")
      .def_prop_ro("num_parts", &Format::num_parts, "1, unless the format is a sum.")
      .def_prop_ro(
          "parts",
          [](const Format& f) {
            nb::list out;
            for (int k = 0; k < f.num_parts(); ++k) out.append(f.part(k));
            return nb::tuple(out);
          },
          "The parts of a sum as formats of their own.")
      .def_prop_ro(
          "levels",
          [](const Format& f) {
            nb::list out;
            for (auto& v : levels_of(f)) out.append(v);
            return nb::tuple(out);
          },
          "The levels of a single part, outermost first.")
      .def_prop_ro(
          "dims",
          [](const Format& f) {
            nb::list out;
            for (int d = 0; d < f.rank(); ++d) out.append(std::string(f.dim_name(d)));
            return nb::tuple(out);
          },
          "Names of the dimensions.")
      .def_prop_ro("name", &Format::name, "A well-known name of this structure ('CSR', 'BSR(2, 3)', ...), or ''.")
      .def_prop_ro("signature", signature_of, "The structure without properties and arguments.")
      .def_prop_ro("is_all_dense", &Format::is_all_dense, "Are all levels, of every part, dense or batch?")
      .def_prop_ro("is_identity", &Format::is_identity, "Is every level expression a plain dimension?")
      .def_prop_ro("is_ordered", &Format::is_ordered, "Are all levels ordered?")
      .def_prop_ro("is_unique", &Format::is_unique, "Can no element be stored twice?")
      .def_prop_ro("can_hold_fill", &Format::can_hold_fill, "May slots be fill-in (stored by the format's own doing)?")
      .def_prop_ro("num_batch_levels", &Format::num_batch_levels, "Number of batch levels, which lead.")
      .def(
          "dim2lvl",
          [](const Format& f, nb::handle dims) {
            single_part(f, "level coordinates");
            const auto d = coordinates(dims, f.rank(), "coordinates");
            Shape l(static_cast<std::size_t>(f.num_levels()));
            f.dim2lvl(d, l);
            return from_shape(l);
          },
          nb::arg("coords"), "Level coordinates of dimension coordinates.")
      .def(
          "lvl2dim",
          [](const Format& f, nb::handle lvls) {
            single_part(f, "level coordinates");
            const auto l = coordinates(lvls, f.num_levels(), "level coordinates");
            Shape d(static_cast<std::size_t>(f.rank()));
            f.lvl2dim(l, d);
            return from_shape(d);
          },
          nb::arg("coords"), "Dimension coordinates of level coordinates.")
      .def(
          "level_ranges",
          [](const Format& f, nb::handle shape) {
            single_part(f, "level sizes");
            const Shape s = to_shape(shape);
            if (static_cast<int>(s.size()) != f.rank())
              throw FormatError({.what = "the shape has another rank than the format",
                                 .expected = std::to_string(f.rank()) + " extents",
                                 .got = std::to_string(s.size())});
            nb::list out;
            for (const auto& r : f.level_ranges(s)) out.append(nb::make_tuple(r.lo, r.size));
            return nb::tuple(out);
          },
          nb::arg("shape"),
          "(lo, size) of the coordinates that each level ranges over for a tensor of this shape. FormatError beyond 64 "
          "bits.")
      .def(
          "transpose",
          [](const Format& f, nb::handle perm) {
            std::vector<int> p;
            if (perm.is_none())
              for (int d = f.rank(); d-- > 0;) p.push_back(d);
            else
              for (auto d : coordinates(perm, f.rank(), "dimensions"))
                p.push_back(static_cast<int>(d < -max_dims || d > max_dims ? max_dims : d));
            return f.transpose(p);
          },
          nb::arg("perm") = nb::none(),
          "The format of the transposed tensor: dimension d of the result is dimension perm[d] of this.")
      .def(
          "rename",
          [](const Format& f, nb::handle given) {
            std::vector<std::string> names;
            for (nb::handle name : given) {
              if (!PyUnicode_Check(name.ptr()))
                throw FormatError({.what = "the name of a dimension is a text", .got = Py_TYPE(name.ptr())->tp_name});
              names.emplace_back(utf8_of(name));
              if (names.size() > static_cast<std::size_t>(max_dims)) break;  // (__iter__ may never end)
            }
            return f.rename(names);
          },
          nb::arg("names"), "The same format with other names of dimensions.")
      .def(
          "__add__",
          [](const Format& a, nb::handle b) {
            return parse_format(a.to_string() + " + " + to_format(b, a.rank()).to_string(), a.rank());
          },
          nb::arg("other"), "A sum of parts.")
      .def(
          "__radd__",
          [](const Format& b, nb::handle a) {
            return parse_format(to_format(a, b.rank()).to_string() + " + " + b.to_string(), b.rank());
          },
          nb::arg("other"))
      .def("__str__", &Format::to_string)
      .def("__repr__", [](const Format& f) { return "Format('" + f.to_string() + "')"; })
      .def("blog_string", &Format::to_blog_string, "The notation `[i, j] -> (i: <LevelFormat.DENSE>, ...)`.")
      .def(
          "__eq__", [](const Format& a, const Format& b) { return a == b; }, nb::arg("other"))
      .def(
          "__eq__",
          [](const Format& a, const std::string& text) {
            try {
              return a == parse_format(text, a.rank());
            } catch (const FormatError&) { return false; }
          },
          nb::arg("text"), "A text or name stands for its format; what is neither equals none.")
      .def(
          "__eq__", [](const Format&, nb::handle) { return nb::borrow(Py_NotImplemented); }, nb::arg("other").none())
      .def("__hash__",
           [](const Format& f) {
             return static_cast<Py_hash_t>(f.hash() == static_cast<std::size_t>(-1) ? 1 : f.hash());
           })
      .def("__reduce__", [](nb::handle self) { return nb::make_tuple(self.type(), nb::make_tuple(nb::str(self))); });

  m.def(
      "register_format",
      [](const std::string& name, nb::handle text) { register_format(name, to_format(text).to_string()); },
      nb::arg("name"), nb::arg("format"),
      "A name of your own for a format text. Case is ignored; neither a built-in name nor that of a dtype. "
      "FormatError.");
  m.def("format_names", &format_names,
        "Every name that a format text may use, with the text (or its pattern) that it stands for.");
}

}  // namespace strata::bind
