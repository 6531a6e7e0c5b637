// Conversions: to(), from_dense, from_coo, to_dense.
#include "bind.h"

namespace strata::bind {
namespace {

Zeros to_zeros(nb::handle h) {
  if (h.is_none()) return Zeros::automatic;
  const std::string text = str_of(nb::borrow(h));
  if (text == "keep") return Zeros::keep;
  if (text == "drop") return Zeros::drop;
  if (text == "auto") return Zeros::automatic;
  throw TensorError({.what = "zeros= says what happens to slots that hold the fill",
                     .expected = "'auto', 'keep' or 'drop'",
                     .got = "'" + text + "'"});
}

/// A tuple ("rows", k), ("band", lo, hi), ("blocks", fill), a tensor (mask), or None.
Split to_split(nb::handle h) {
  Split split;
  if (h.is_none()) return split;
  if (is_tensor(h)) {
    split.kind = Split::mask;
    split.pattern = held<Tensor>(h);
    return split;
  }
  if (nb::hasattr(h, "__strata_split__")) {
    const nb::object parts = h.attr("__strata_split__")();
    const std::size_t n = PyTuple_Check(parts.ptr()) ? nb::len(parts) : 0;
    const nb::object word = n > 0 ? nb::object(parts[0]) : nb::none();
    const std::string_view kind = PyUnicode_Check(word.ptr()) ? utf8_of(word) : "";
    if (kind == "rows" && n == 2 && nb::try_cast(parts[1], split.k)) {
      split.kind = Split::rows;
      return split;
    }
    if (kind == "band" && n == 3 && nb::try_cast(parts[1], split.lo) && nb::try_cast(parts[2], split.hi)) {
      split.kind = Split::band;
      return split;
    }
    if (kind == "blocks" && n == 2 && nb::try_cast(parts[1], split.fill)) {
      split.kind = Split::blocks;
      return split;
    }
  }
  throw TensorError({.what = "split= says which elements go to which part",
                     .expected = "strata.split.rows(k), .band(lo, hi), .blocks(fill), or a tensor as mask",
                     .got = Py_TYPE(h.ptr())->tp_name});
}

/// Python's integers in a list become those of the dtype at once: NumPy would take float64 for 1 beside 2**63.
nb::object in_dtype(nb::object values, nb::handle dtype) {
  const auto to = to_optional_dtype(dtype);
  if (!to || !is_integer(*to) || !(PyList_Check(values.ptr()) || PyTuple_Check(values.ptr()))) return values;
  for (nb::handle x : values)
    if (!PyLong_Check(x.ptr())) return values;
  try {
    return numpy().attr("array")(values, from_dtype(*to));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_OverflowError)) throw;
    throw DTypeError({.what = "a value does not fit " + std::string(name_of(*to)),
                      .expected = "integers that " + std::string(name_of(*to)) + " holds",
                      .got = str_of(nb::borrow(e.value()))});
  }
}

/// Also a NumPy or torch array of no dimensions.
bool is_number(nb::handle h) {
  if (!PyNumber_Check(h.ptr()) || PyObject_Size(h.ptr()) >= 0) return false;
  PyErr_Clear();
  return true;
}

/// NumPy's warning for what NumPy warns of.
void warn_imaginary(DType to) {
  const nb::object home = nb::hasattr(numpy(), "exceptions") ? nb::object(numpy().attr("exceptions")) : numpy();
  const nb::object category = home.attr("ComplexWarning");
  const std::string text = "imaginary parts are dropped: complex values become " + std::string(name_of(to));
  nb::module_::import_("strata.errors").attr("warn")(text, category);
}

}  // namespace

ConvertOptions to_options(nb::handle dtype, nb::handle pos_dtype, nb::handle crd_dtype, nb::handle split,
                          nb::handle zeros) {
  ConvertOptions o;
  o.dtype = to_optional_dtype(dtype);
  o.pos_dtype = to_optional_dtype(pos_dtype);
  o.crd_dtype = to_optional_dtype(crd_dtype);
  for (const auto& index : {o.pos_dtype, o.crd_dtype})
    if (index && !is_index(*index))
      throw DTypeError({.what = std::string(name_of(*index)) + " is no dtype of indices",
                        .expected = "int8..int64 or uint8..uint64",
                        .got = std::string(name_of(*index))});
  o.split = to_split(split);
  o.zeros = to_zeros(zeros);
  return o;
}

void bind_convert(nb::module_& m) {
  m.def(
      "convert",
      [](const Tensor& t, nb::handle format, nb::handle dtype, nb::handle pos_dtype, nb::handle crd_dtype,
         nb::handle split, nb::handle zeros, bool general) {
        const Format f = format.is_none() ? t.format() : to_format(format, t.rank());
        const ConvertOptions o = to_options(dtype, pos_dtype, crd_dtype, split, zeros);
        if (o.dtype && is_complex(t.dtype()) && !is_complex(*o.dtype)) warn_imaginary(*o.dtype);
        NoGil no_gil;
        return general ? convert_general(t, f, o) : convert(t, f, o);
      },
      nb::arg("t"), nb::arg("format") = nb::none(), nb::arg("dtype") = nb::none(), nb::arg("pos_dtype") = nb::none(),
      nb::arg("crd_dtype") = nb::none(), nb::arg("split") = nb::none(), nb::arg("zeros") = nb::none(),
      nb::arg("general") = false,
      "The same tensor in another format, value dtype or index dtypes. `general` takes the slow path that checks all "
      "others. TensorError where the format "
      "cannot hold the tensor.");
  m.def(
      "pad",
      [](const Tensor& t, nb::handle before, nb::handle after) {
        const auto widths = [](nb::handle h) {
          std::vector<std::int64_t> out;
          for (nb::handle width : h) {
            const Index i = to_index(width);
            if (!i.is_integer)
              throw TensorError({.what = "a width is no integer",
                                 .expected = "0 or more",
                                 .got = nb::cast<std::string>(nb::repr(width))});
            out.push_back(i.value);
          }
          return out;
        };
        const auto front = widths(before), back = widths(after);
        NoGil no_gil;
        return pad(t, front, back);
      },
      nb::arg("t"), nb::arg("before"), nb::arg("after"),
      "The tensor between so many coordinates in front and behind, by dimension, all of which hold its fill.");
  m.def(
      "from_dense",
      [](nb::handle array, nb::handle format, nb::handle threshold, nb::handle fill) {
        const Tensor dense = to_operand(array);
        const Format f = to_format(format, dense.rank());
        std::optional<Scalar> filler;
        if (!fill.is_none()) filler = to_scalar(fill, dense.dtype(), "fill");
        std::optional<double> least;
        if (!threshold.is_none()) least = to_scalar(threshold, DType::f64, "threshold").to_complex().real();
        NoGil no_gil;
        return from_dense(dense, f, least, filler);
      },
      nb::arg("array"), nb::arg("format"), nb::arg("threshold").none() = 0.0, nb::arg("fill") = nb::none(),
      "From a dense array of any package. Elements with |x - fill| <= threshold are dropped: with 0 all that equal the "
      "fill, -0.0 too, as in NumPy and SciPy. None drops only those with the very bits of the fill. NaN stays.");
  m.def(
      "from_coo",
      [](nb::handle coords, nb::handle values, nb::handle shape, nb::handle format, nb::handle dtype,
         nb::handle pos_dtype, nb::handle crd_dtype, nb::handle split, nb::handle fill) {
        std::vector<Buffer> lists;
        for (nb::handle c : coords) {
          if (is_number(c))  // from_coo(rows, columns, values), or SciPy's order
            throw TensorError({.what = "the coordinates are one list, not one per dimension",
                               .expected = "a tuple of lists: from_coo((rows, columns), values, shape)",
                               .got = nb::cast<std::string>(nb::repr(coords.type())) + " of numbers",
                               .fix = "put the lists of rows and columns into one tuple, in front of the values"});
          lists.push_back(to_index_buffer(c, "coords"));
          if (lists.size() > static_cast<std::size_t>(max_dims)) break;
        }
        const Shape s = to_shape(shape);
        if (lists.size() != s.size())
          throw TensorError({.what = "from_coo needs one list of coordinates per dimension",
                             .expected = std::to_string(s.size()) + " lists",
                             .got = std::to_string(lists.size()),
                             .fix = !lists.empty() && lists[0].size == static_cast<std::int64_t>(s.size())
                                        ? "a list for each dimension, not for each element: coords.T"
                                        : ""});
        const Buffer v = to_buffer(in_dtype(nb::borrow(values), dtype), "values");
        const Format f = to_format(format, static_cast<int>(s.size()));
        const ConvertOptions o = to_options(dtype, pos_dtype, crd_dtype, split, nb::none());
        std::optional<Scalar> absent;
        if (!fill.is_none()) absent = to_scalar(fill, o.dtype.value_or(v.dtype), "fill");
        NoGil no_gil;
        return from_coo(lists, v, s, f, o, absent);
      },
      nb::arg("coords"), nb::arg("values"), nb::arg("shape"), nb::arg("format") = "COO", nb::arg("dtype") = nb::none(),
      nb::arg("pos_dtype") = nb::none(), nb::arg("crd_dtype") = nb::none(), nb::arg("split") = nb::none(),
      nb::arg("fill") = nb::none(),
      "From coordinates: coords[d][k] is the d-th coordinate of element k (integer arrays), values[k] its value; any "
      "order, duplicates are added. fill : of what is absent, 0 unless told.");
  m.def(
      "to_dense_tensor",
      [](const Tensor& t) {
        NoGil no_gil;
        return to_dense(t);
      },
      nb::arg("t"), "Row-major dense; the fill where absent.");
}

}  // namespace strata::bind
