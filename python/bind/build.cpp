// Builder and Assembly: what strata/_build.py hands on.
#include "strata/build.h"

#include "bind.h"

namespace strata::bind {
namespace {

std::vector<Buffer> to_lists(nb::handle coords, std::size_t rank, const char* whose) {
  std::vector<Buffer> lists;
  for (nb::handle c : coords) {
    lists.push_back(to_index_buffer(c, "coords"));
    if (lists.size() > static_cast<std::size_t>(max_dims)) break;
  }
  if (lists.size() != rank)
    throw TensorError({.what = std::string(whose) + " needs one list of coordinates per dimension",
                       .expected = std::to_string(rank) + " lists",
                       .got = std::to_string(lists.size())});
  return lists;
}

std::optional<Scalar> to_fill(nb::handle fill, DType dtype) {
  return fill.is_none() ? std::nullopt : std::optional(to_scalar(fill, dtype, "fill"));
}

}  // namespace

void bind_build(nb::module_& m) {
  nb::class_<Builder>(m, "Builder", "The state of strata.Builder.")
      .def(
          "__init__",
          [](Builder* self, nb::handle shape, nb::handle dtype) {
            new (self) Builder(to_shape(shape), to_dtype(dtype));
          },
          nb::arg("shape"), nb::arg("dtype"))
      .def(
          "add",
          [](Builder& b, nb::handle coords, nb::handle values, std::int64_t order) {
            const std::vector<Buffer> lists = to_lists(coords, b.shape().size(), "Builder.add");
            const Buffer v = to_buffer(values, "values");
            NoGil no_gil;
            b.add(lists, v, order);
          },
          nb::arg("coords"), nb::arg("values"), nb::arg("order"))
      .def(
          "build",
          [](const Builder& b, nb::handle format, nb::handle pos_dtype, nb::handle crd_dtype, nb::handle split,
             nb::handle fill) {
            const Format f = to_format(format, static_cast<int>(b.shape().size()));
            const ConvertOptions o = to_options(nb::none(), pos_dtype, crd_dtype, split, nb::none());
            const auto absent = to_fill(fill, b.dtype());
            NoGil no_gil;
            return b.build(f, o, absent);
          },
          nb::arg("format"), nb::arg("pos_dtype").none(), nb::arg("crd_dtype").none(), nb::arg("split").none(),
          nb::arg("fill").none())
      .def("clear", &Builder::clear)
      .def_prop_ro("size", &Builder::size)
      .def_prop_ro("shape", [](const Builder& b) { return from_shape(b.shape()); })
      .def_prop_ro("dtype", [](const Builder& b) { return from_dtype(b.dtype()); });

  nb::class_<Assembly>(m, "Assembly", "The state of strata.Assembly.")
      .def(
          "__init__",
          [](Assembly* self, nb::handle coords, nb::handle shape, nb::handle format, nb::handle dtype,
             nb::handle pos_dtype, nb::handle crd_dtype, nb::handle split) {
            const Shape s = to_shape(shape);
            const std::vector<Buffer> lists = to_lists(coords, s.size(), "Assembly");
            const Format f = to_format(format, static_cast<int>(s.size()));
            const ConvertOptions o = to_options(dtype, pos_dtype, crd_dtype, split, nb::none());
            std::optional<Assembly> made;
            {
              NoGil no_gil;
              made.emplace(lists, s, f, o);
            }
            new (self) Assembly(std::move(*made));
          },
          nb::arg("coords"), nb::arg("shape"), nb::arg("format"), nb::arg("dtype").none(), nb::arg("pos_dtype").none(),
          nb::arg("crd_dtype").none(), nb::arg("split").none())
      .def(
          "assemble",
          [](const Assembly& a, nb::handle values, nb::handle fill) {
            const Buffer v = to_buffer(values, "values");
            const auto absent = to_fill(fill, a.dtype().value_or(v.dtype));
            NoGil no_gil;
            return a.assemble(v, absent);
          },
          nb::arg("values"), nb::arg("fill").none())
      .def_prop_ro("size", &Assembly::size)
      .def_prop_ro("nse", &Assembly::nse)
      .def_prop_ro("shape", [](const Assembly& a) { return from_shape(a.shape()); })
      .def_prop_ro("format", &Assembly::format);
}

}  // namespace strata::bind
