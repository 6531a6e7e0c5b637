#pragma once
// What the files that borrow arrays share: array.cpp (the buffer protocol, and which way an object comes),
// array_torch.cpp, array_dlpack.cpp.
#include "bind.h"
#include "dlpack.h"

namespace strata::bind {

/// Shapes, strides (elements) and the address of the element at all-zero coordinates become an Array whose buffer
/// covers exactly what the strides touch.
Array make_array(DType dtype, void* origin, Shape shape, std::vector<std::int64_t> strides, bool read_only,
                 std::shared_ptr<void> owner);
/// Nothing for what no dtype of ours is.
std::optional<DType> dlpack_dtype(dlpack::DataType t);
/// DTypeError for a dtype that has no values Strata computes with.
[[noreturn]] void refuse_dtype(const std::string& dtype);

/// h.name, or null where it has none; what looking for it raises otherwise is the caller's to hear.
nb::object attribute(nb::handle h, const char* name);
nb::object attribute(nb::handle h, nb::handle name);

/// Unsupported where a torch tensor requires gradients: what is computed here is not recorded.
void refuse_gradient(nb::handle h);
Array from_torch_tensor(nb::handle h);
/// The tensor itself, where a subclass may answer for it as it likes.
nb::object plain_torch(nb::handle h);
/// Through __dlpack__ and __dlpack_device__; nothing where the object has none.
std::optional<Array> from_dlpack_object(nb::handle h);

}  // namespace strata::bind
