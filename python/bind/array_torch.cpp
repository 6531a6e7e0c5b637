// torch tensors come in by their attributes: faster than DLPack, and without its refusals (of gradients, for one).
#include <array>

#include "array.h"
#include "once.h"

namespace strata::bind {
namespace {

/// torch dtypes are singletons: comparing addresses is enough.
std::optional<DType> torch_dtype(nb::handle dtype) {
  static std::array<std::atomic<PyObject*>, dtype_count> known{};
  for (int k = 0; k < dtype_count; ++k) {
    const nb::handle one = once(known[static_cast<std::size_t>(k)], [&] {
      const std::string name(name_of(static_cast<DType>(k)));
      nb::module_ torch = nb::module_::import_("torch");
      return nb::hasattr(torch, name.c_str()) ? nb::object(torch.attr(name.c_str())) : nb::none();
    });
    if (one.is(dtype)) return static_cast<DType>(k);
  }
  return std::nullopt;
}

}  // namespace

Array from_torch_tensor(nb::handle h) {
  nb::object t = nb::borrow(h);
  const auto dtype = torch_dtype(t.attr("dtype"));
  if (!dtype) refuse_dtype(str_of(t.attr("dtype")));
  if (nb::cast<std::string>(t.attr("device").attr("type")) != "cpu")
    throw Unsupported({.what = "this torch tensor lives on " + str_of(t.attr("device")),
                       .expected = "memory of the CPU",
                       .got = str_of(t.attr("device")),
                       .fix = "call .cpu() first; a CUDA back end is not part of this version"});
  const std::string layout = str_of(t.attr("layout"));
  if (layout != "torch.strided")
    throw Unsupported({.what = "a torch tensor of layout " + layout + " is not a dense operand",
                       .expected = "torch.strided",
                       .got = layout,
                       .fix = "use strata.from_torch(tensor)"});
  bool copied = false;
  if (nb::cast<bool>(t.attr("is_conj")()) || nb::cast<bool>(t.attr("is_neg")())) {
    warn_copy("a torch tensor was copied: it is a lazy conjugate or negative");
    t = t.attr("resolve_conj")().attr("resolve_neg")();
    copied = true;
  }
  // An alias of our own: .set_() or .resize_() on the user's tensor then leaves the memory that we look at alone.
  t = t.attr("detach")();
  const nb::object size = t.attr("shape"), stride = t.attr("stride")();
  const std::size_t rank = nb::len(size);
  Shape shape(rank);
  std::vector<std::int64_t> strides(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    shape[d] = nb::cast<std::int64_t>(size[d]);
    strides[d] = nb::cast<std::int64_t>(stride[d]);
  }
  auto* data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(t.attr("data_ptr")()));
  Array array = make_array(*dtype, data, std::move(shape), std::move(strides), false, keep_alive(std::move(t)));
  array.copied = copied;
  return array;
}

bool is_torch_tensor(nb::handle h) {
  static std::atomic<PyObject*> known{nullptr};  // the class itself; subclasses take the slower test
  PyObject* cls = known.load(std::memory_order_acquire);
  if (!cls) {
    const nb::object torch = imported_torch();  // where it is not imported, nothing can be one
    if (!torch.is_valid() || !nb::hasattr(torch, "Tensor")) return false;
    cls = once(known, [&] { return nb::object(torch.attr("Tensor")); }).ptr();
  }
  PyTypeObject *type = Py_TYPE(h.ptr()), *tensor = reinterpret_cast<PyTypeObject*>(cls);
  return type == tensor || PyType_IsSubtype(type, tensor);
}

nb::object imported_torch() {
  static std::atomic<PyObject*> name{nullptr};  // made once: every operand that is no tensor is asked for it
  nb::object torch = nb::steal(PyImport_GetModule(once(name, [] { return nb::object(nb::str("torch")); }).ptr()));
  if (!torch.is_valid() && PyErr_Occurred()) throw nb::python_error();
  return torch;
}

}  // namespace strata::bind
