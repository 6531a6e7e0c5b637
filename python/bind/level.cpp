// Level types of Python users: texts, and a function that makes the arrays with NumPy.
#include "strata/level.h"

#include <nanobind/stl/vector.h>

#include "bind.h"
#include "text.h"

namespace strata::bind {
namespace {

std::string text_of(const nb::object& o) { return std::string(utf8_of(nb::steal(PyObject_Str(o.ptr())))); }

nb::object integers(std::span<const std::int64_t> from) {
  Buffer copy = Buffer::allocate(DType::i64, std::ssize(from));
  std::copy(from.begin(), from.end(), static_cast<std::int64_t*>(copy.data));
  return to_numpy(copy, {copy.size});
}

std::vector<std::int64_t> integers(nb::handle given, const char* what) {
  if (given.is_none()) return {};
  const nb::object array = nb::module_::import_("numpy").attr("asarray")(given);
  const std::string kind = text_of(array.attr("dtype").attr("kind"));
  const bool none = nb::cast<std::int64_t>(array.attr("size")) == 0;
  if (nb::cast<int>(array.attr("ndim")) != 1 || (!none && kind != "i" && kind != "u"))
    throw TensorError({.what = std::string("`build` of a level type gave a wrong ") + what,
                       .expected = "a list or an array of integers, of one dimension",
                       .got = text_of(array.attr("dtype")) + " of shape " + text_of(array.attr("shape"))});
  const nb::object list = array.attr("astype")("int64").attr("tolist")();
  return nb::cast<std::vector<std::int64_t>>(list);
}

std::function<LevelBuilt(const LevelElements&)> builder(nb::object function) {
  if (function.is_none()) return {};
  if (!PyCallable_Check(function.ptr()))
    throw FormatError({.what = "`build` of a level type must be callable",
                       .expected = "build(parent, coordinate, parents, lo, size, n)",
                       .got = Py_TYPE(function.ptr())->tp_name});
  const std::shared_ptr<void> held = keep_alive(std::move(function));
  return [held](const LevelElements& e) {
    Gil gil;
    const nb::object made = nb::handle(static_cast<PyObject*>(held.get()))(integers(e.parent), integers(e.coordinate),
                                                                           e.parents, e.lo, e.size, e.number);
    if (!PyTuple_Check(made.ptr()) || PyTuple_Size(made.ptr()) != 3)
      throw TensorError({.what = "`build` of a level type gave something else than its arrays",
                         .expected = "a tuple (pos, crd, position); None for an array that the level does not have",
                         .got = text_of(made).substr(0, 100)});
    return LevelBuilt{integers(made[0], "pos"), integers(made[1], "crd"), integers(made[2], "position")};
  };
}

}  // namespace

void bind_level(nb::module_& m) {
  m.def(
      "register_level",
      [](const std::string& name, const std::string& coordinate, const std::string& slots,
         const std::string& crd_entries, bool fills, nb::object build) {
        LevelType type{.name = name,
                       .coordinate = coordinate,
                       .slots = slots,
                       .crd_entries = crd_entries,
                       .fills = fills,
                       .build = builder(std::move(build))};
        NoGil no_gil;
        register_level(std::move(type));
      },
      nb::arg("name"), nb::arg("coordinate"), nb::kw_only(), nb::arg("slots") = "",
      nb::arg("crd_entries") = "positions", nb::arg("fills") = false, nb::arg("build") = nb::none(),
      "A level type of your own: format texts then use its name as they use `compressed`.\n\n"
      "`coordinate`: of child `p`, in whole-number arithmetic over parent, first (the parent's first child), p, "
      "previous (the coordinate before; lo - 1 for the first), lo, size, n (the number in the format text) and "
      "crd[...]. `slots`: children below each parent, over lo, size and n; \"\": the level has pos, and children "
      "pos[parent] to pos[parent + 1] - 1. `crd_entries`: length of crd, over parents, positions, lo, size and n. "
      "`fills`: it has slots that no element asked for. `build(parent, coordinate, parents, lo, size, n)`: makes "
      "(pos, crd, position) of elements in order, each an array of integers or None; without it nothing is converted "
      "to the level.\n\n"
      "    def whole(parent, coordinate, parents, lo, size, n): return None, None, parent * size + coordinate - lo\n"
      "    register_level('every_place', 'lo + p - first', slots='size', fills=True, build=whole)\n\n"
      "FormatError: a text has no meaning, the name is taken by other texts, or `build` is wrong on a small sample.");
  m.def("level_types", &level_types, "Every type of level that a format text may use: built-in ones first.");
}

}  // namespace strata::bind
