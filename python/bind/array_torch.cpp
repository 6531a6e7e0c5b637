// torch tensors come in by their attributes: faster than DLPack, and without its refusals (of gradients, for one).
#include <array>
#include <new>

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

/// What torch answers; its own errors mean that this tensor has no memory to look into.
template <class F> auto answer(const F& ask) {
  try {
    return ask();
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_RuntimeError)) throw;
    const std::string message = str_of(nb::borrow(e.value()));
    if (message.find("memory") != std::string::npos && message.find("alloc") != std::string::npos)
      throw std::bad_alloc();
    throw Unsupported({.what = "this torch tensor has no memory of its own",
                       .expected = "a plain tensor of the CPU (not one of torch.func, of a trace, or a fake)",
                       .got = message.substr(0, message.find('\n'))});
  }
}

/// What lies behind the tensor must be as large as it says: storages are resized behind their backs.
void check_storage(nb::handle t, const Array& array) {
  const nb::object storage = t.attr("untyped_storage")();
  const auto bytes = nb::cast<std::int64_t>(storage.attr("nbytes")()),
             origin = nb::cast<std::int64_t>(t.attr("storage_offset")());
  const auto width = static_cast<std::int64_t>(size_of(array.data.dtype));
  const std::int64_t first = origin - array.offset;
  if (array.data.size > 0 && (first < 0 || array.data.size > bytes / width - first))
    throw TensorError({.what = "the storage of this torch tensor ends before the tensor does",
                       .expected = std::to_string(first + array.data.size) + " elements",
                       .got = std::to_string(bytes / width)});
}

}  // namespace

nb::object plain_torch(nb::handle h) {
  const nb::object torch = imported_torch(), tensor = torch.attr("Tensor");
  if (reinterpret_cast<PyObject*>(Py_TYPE(h.ptr())) == tensor.ptr()) return nb::borrow(h);
  return answer([&] {
    const nb::object alone = torch.attr("_C").attr("DisableTorchFunctionSubclass")();
    alone.attr("__enter__")();
    struct Leave {
      nb::handle alone;
      ~Leave() {
        nb::error_scope keep;
        try {
          alone.attr("__exit__")(nb::none(), nb::none(), nb::none());
        } catch (nb::python_error&) {}
      }
    } leave{alone};
    return nb::object(tensor.attr("as_subclass")(tensor.attr("detach")(h), tensor));
  });
}

void refuse_gradient(nb::handle t) {
  if (!nb::cast<bool>(t.attr("requires_grad"))) return;
  if (!nb::cast<bool>(imported_torch().attr("is_grad_enabled")())) return;  // torch itself would record nothing
  throw Unsupported({.what = "a torch tensor that requires gradients would lose them here",
                     .expected = "a tensor that requires none, or torch.no_grad()",
                     .got = "requires_grad=True",
                     .fix = "write x.detach() where they are not wanted"});
}

Array from_torch_tensor(nb::handle h) {
  refuse_gradient(h);
  nb::object t = plain_torch(h);
  const auto dtype = torch_dtype(t.attr("dtype"));
  if (!dtype) refuse_dtype(str_of(t.attr("dtype")));
  if (str_of(t.attr("device").attr("type")) != "cpu")
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
  return answer([&] {
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
    Array array = make_array(*dtype, data, std::move(shape), std::move(strides), false, keep_alive(t));
    check_storage(t, array);
    array.copied = copied;
    return array;
  });
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
