#pragma once
// What the files of the extension share. Nothing here decides anything about tensors: it turns Python values into the
// core's and back.
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "strata/draw.h"
#include "strata/io.h"
#include "strata/ops.h"
#include "strata/settings.h"
#include "text.h"

namespace nb = nanobind;

namespace strata::bind {

// One per front door; called in this order by module.cpp.
void bind_errors(nb::module_& m);
void bind_dtype(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_format(nb::module_& m);
void bind_level(nb::module_& m);
void bind_tensor(nb::module_& m);
void bind_storage(nb::module_& m, nb::class_<Tensor>& tensor);   ///< called by bind_tensor
void bind_elements(nb::module_& m, nb::class_<Tensor>& tensor);  ///< called by bind_tensor
void bind_border(nb::module_& m);
void bind_convert(nb::module_& m);
void bind_build(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_matmul(nb::module_& m);
void bind_io(nb::module_& m);
void bind_draw(nb::module_& m);
void bind_structure(nb::module_& m);
void bind_solve(nb::module_& m);
void bind_settings(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_torch_calls(nb::module_& m);

/// What an object of one of our classes holds. TensorError where its constructor never ran: a class whose __init__ does
/// not call ours, or __new__ alone.
[[noreturn]] void refuse_unmade(nb::handle h);
template <class T> const T& held(nb::handle h) {
  if (!nb::inst_ready(h)) refuse_unmade(h);
  return *nb::inst_ptr<T>(h);
}

/// What os.fspath gives, in the file system's bytes. TypeError; FileError for one with a NUL character.
std::string path_of(nb::handle h);

/// str(object). (nb::str of an attribute takes the attribute as it is, so that a cast of it fails.)
inline std::string str_of(const nb::object& object) { return nb::cast<std::string>(nb::str(nb::handle(object))); }

/// Lets go of the GIL for as long as it lives. A daemon thread that comes back while the interpreter shuts down is
/// ended by pthread_exit, whose unwinding must not meet a destructor (std::terminate): such a thread sleeps until the
/// process is gone.
class NoGil {
 public:
  NoGil() : state_(PyEval_SaveThread()) {}
  ~NoGil();
  NoGil(const NoGil&) = delete;
  NoGil& operator=(const NoGil&) = delete;

 private:
  PyThreadState* state_;
};

/// Holds the GIL for as long as it lives, on any thread; false where the interpreter is gone or on its way out.
class Gil {
 public:
  Gil();
  ~Gil();
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;
  explicit operator bool() const { return held_; }

 private:
  PyGILState_STATE state_{};
  bool held_ = false;
};

/// Keeps a Python object alive from C++. The last user may be any thread: the GIL is taken to let go, and an
/// interpreter that is gone is left alone.
std::shared_ptr<void> keep_alive(nb::object object);
/// What the owner of a buffer keeps alive of Python's, where nobody else shares it: for the garbage collector, which
/// may count it only once. Null otherwise.
PyObject* kept_alive(const Buffer& b);

// --- dtype.cpp ---
/// A NumPy dtype, a torch dtype, a Python type, a name, or st.DType. DTypeError.
DType to_dtype(nb::handle h);
std::optional<DType> to_optional_dtype(nb::handle h);
/// A NumPy dtype, or st.DType for those that NumPy lacks (bfloat16, float8).
nb::object from_dtype(DType t);
/// Does NumPy have this dtype?
bool numpy_has(DType t);
nb::object numpy();    ///< the module, imported once
nb::handle ndarray();  ///< numpy.ndarray
/// A Python or NumPy number (or array of no dimensions) in its own dtype. DTypeError.
Scalar to_scalar(nb::handle h);
/// The same in `dtype`; DTypeError where the value does not survive (1.5 as int32, 300 as uint8).
Scalar to_scalar(nb::handle h, DType dtype, const char* what);
/// A NumPy scalar; a Python float for the dtypes that NumPy lacks.
nb::object from_scalar(const Scalar& s);

// --- array.cpp ---
/// Strided memory that someone else owns, as it came over the border.
struct Array {
  Buffer data;              ///< the whole range that the strides touch; lowest address first
  std::int64_t offset = 0;  ///< of the element at all-zero coordinates, in elements
  Shape shape;
  std::vector<std::int64_t> strides;  ///< in elements
  bool copied = false;                ///< memory of ours: what is written there does not reach the object
  bool contiguous() const;            ///< row-major without holes
};
/// Any array: the buffer protocol (NumPy), torch, DLPack, a DLPack capsule; sequences go through NumPy. Never copies
/// what is an array already, except what no dtype of ours can name in place (foreign byte order, unaligned), which it
/// says (CopyWarning). DTypeError, Unsupported (memory of a device, torch layouts).
Array to_array(nb::handle h);
/// One dimension, contiguous (anything else is copied, with a CopyWarning that names `what`).
Buffer to_buffer(nb::handle h, const char* what);
/// The same for positions and coordinates: DTypeError unless an integer dtype.
Buffer to_index_buffer(nb::handle h, const char* what);
bool is_torch_tensor(nb::handle h);
nb::object imported_torch();  ///< the module, invalid where nobody has imported it
/// A copy without holes, row-major.
Buffer packed_copy(const Array& a);
/// A DLPack capsule's memory, whose deleter runs when the last user is gone. The capsule is marked as used.
Array from_dlpack_capsule(PyObject* capsule);
/// A new capsule over the array; `versioned` for consumers of DLPack 1.x.
nb::object to_dlpack_capsule(const Array& array, bool versioned);

// --- memory.cpp ---
/// A NumPy array over the memory (strides in elements; empty: row-major). Unsupported for dtypes that NumPy lacks.
nb::object to_numpy(const Buffer& data, const Shape& shape, std::span<const std::int64_t> strides = {},
                    std::int64_t offset = 0);
/// A torch tensor over the memory; read-only memory is copied (torch has none), with a CopyWarning.
nb::object to_torch(const Buffer& data, const Shape& shape, std::span<const std::int64_t> strides = {},
                    std::int64_t offset = 0);
/// One-dimensional: NumPy where it has the dtype, otherwise torch.
nb::object to_package_array(const Buffer& data);
void warn_copy(const std::string& text);  ///< strata.CopyWarning

// --- errors.cpp ---
/// Sets the Python error that a C++ exception stands for; for slots of types, which nanobind does not guard.
void set_python_error(const std::exception_ptr& caught);

// --- matmul.cpp ---
/// a @ b with the tensor on either side.
PyObject* at_operator(PyObject* a, PyObject* b);

// --- convert.cpp ---
/// What conversions are asked for by name. DTypeError, TensorError.
ConvertOptions to_options(nb::handle dtype, nb::handle pos_dtype, nb::handle crd_dtype, nb::handle split,
                          nb::handle zeros);

// --- format.cpp ---
/// A Format, a text or name, or an object with a `.format`; `rank` decides what COO, CSF and dense mean.
Format to_format(nb::handle h, int rank = -1);

// --- shape.cpp ---
/// What an object stands for through __index__; one that does not fit is cut off at the end of the range. What
/// __index__ raises passes on.
struct Index {
  bool is_integer = false;
  int overflow = 0;  ///< -1, 0, 1
  std::int64_t value = 0;
};
Index to_index(nb::handle h);
Shape to_shape(nb::handle h);
nb::tuple from_shape(std::span<const std::int64_t> shape);

// --- border.cpp ---
bool is_tensor(nb::handle h);
/// An operand: a Tensor as it is, arrays borrowed as dense tensors, sparse objects of packages through from_package.
Tensor to_operand(nb::handle h);
/// A tensor to write into: an array or an all-dense Tensor. TensorError where its memory is read-only.
Tensor to_output(nb::handle h);
Tensor dense_tensor(const Array& array);
/// A dense row-major tensor as an array of a package.
enum class Package { numpy, torch };
nb::object dense_result(const Tensor& t, Package package);
/// The package that a dense result returns to: torch if an operand is a torch tensor, otherwise NumPy.
Package package_of(std::span<const nb::handle> operands);

}  // namespace strata::bind
