// matmul: the free function, the operator @, and the class whose planning is done once.

#include <array>

#include "bind.h"
#include "evaluate.h"

namespace strata::bind {
namespace {

MatmulOptions options_of(bool transpose_a, bool transpose_b, bool conjugate_a, bool conjugate_b, nb::handle dtype,
                         nb::handle compute_dtype) {
  MatmulOptions o;
  o.transpose_a = transpose_a;
  o.transpose_b = transpose_b;
  o.conjugate_a = conjugate_a;
  o.conjugate_b = conjugate_b;
  o.plan.output_dtype = to_optional_dtype(dtype);
  o.plan.compute_dtype = to_optional_dtype(compute_dtype);
  return o;
}

nb::object product(nb::handle a, nb::handle b, const MatmulOptions& options,
                   const Scalar& alpha = Scalar::of(std::int64_t{1})) {
  const std::array<nb::handle, 2> given{a, b};
  const Tensor ta = to_operand(a), tb = to_operand(b);
  Tensor c;
  {
    NoGil no_gil;
    c = matmul(ta, tb, options, alpha);
  }
  return result_of(c, package_of(given));
}

nb::object matmul_call(nb::handle a, nb::handle b, nb::handle c, nb::handle alpha, nb::handle beta,
                       const MatmulOptions& options) {
  const Scalar sa = to_scalar(alpha);
  if (c.is_none()) {
    if (!beta.is_none() && !to_scalar(beta).is_zero())
      throw PlanError({.what = "beta scales c, and there is no c", .expected = "c=array, or no beta", .fix = "give c"});
    return product(a, b, options, sa);
  }
  const Tensor ta = to_operand(a), tb = to_operand(b), tc = to_output(c);
  const Scalar sb = beta.is_none() ? Scalar::of(1.0) : to_scalar(beta);
  {
    NoGil no_gil;
    matmul_into(ta, tb, tc, sa, sb, options);
  }
  return nb::borrow(c);
}

/// The state of st.Matmul: operands as tensors, and the objects that results come back in. Another thread may call
/// anything while the kernel runs without the GIL: what a call needs it takes along, and changes are made to a copy
/// that then takes the place of the old one.
class PlannedProduct {
 public:
  PlannedProduct(nb::handle a, nb::handle b, nb::handle c, nb::handle alpha, nb::handle beta,
                 const MatmulOptions& options) {
    const std::array<nb::handle, 2> given{a, b};
    package_ = package_of(given);
    std::optional<Tensor> tc;
    if (!c.is_none()) {
      tc = to_output(c);
      c_ = nb::borrow(c);
    }
    const std::optional<Scalar> sb = beta.is_none() ? std::nullopt : std::optional(to_scalar(beta));
    if (!tc && sb && !sb->is_zero())
      throw PlanError({.what = "beta scales c, and there is no c", .expected = "c=array, or no beta", .fix = "give c"});
    product_ = std::make_shared<Matmul>(to_operand(a), to_operand(b), std::move(tc), to_scalar(alpha), sb, options);
  }
  Plan plan() {
    for (;;) {
      const std::shared_ptr<Matmul> before = alive(), planned = std::make_shared<Matmul>(*before);
      Plan plan;
      {
        NoGil no_gil;
        plan = planned->plan();
      }
      if (product_ != before) continue;  // other operands meanwhile, or none
      product_ = planned;
      return plan;
    }
  }
  nb::object execute() {
    const std::shared_ptr<Matmul> m = alive();
    if (released_)
      throw PlanError({.what = "the operands of this Matmul were released",
                       .expected = "operands",
                       .fix = "call reset_operands(a=, b=, ...) first"});
    nb::object c = c_;
    Tensor out;
    {
      NoGil no_gil;
      out = m->execute();
    }
    if (c.is_valid()) return c;
    return result_of(out, package_);
  }
  void reset(nb::handle a, nb::handle b, nb::handle c, nb::handle alpha, nb::handle beta) {
    static_cast<void>(alive());
    auto operand = [](nb::handle h) { return h.is_none() ? std::nullopt : std::optional(to_operand(h)); };
    auto scalar = [](nb::handle h) { return h.is_none() ? std::nullopt : std::optional(to_scalar(h)); };
    if (!c.is_none() && !c_.is_valid())
      throw PlanError({.what = "this Matmul was planned without c", .fix = "make a new Matmul(a, b, c)"});
    if (released_ && (a.is_none() || b.is_none() || (c_.is_valid() && c.is_none())))
      throw PlanError({.what = "the operands were released: all of them are needed again",
                       .expected = c_.is_valid() ? "a, b and c" : "a and b"});
    auto new_a = operand(a), new_b = operand(b);
    std::optional<Tensor> new_c;
    if (!c.is_none()) new_c.emplace(to_output(c));
    auto new_alpha = scalar(alpha), new_beta = scalar(beta);
    // Only now, as all of these may run Python. What goes away goes last, for the same reason.
    std::shared_ptr<Matmul> m = std::make_shared<Matmul>(*alive());
    m->reset_operands(std::move(new_a), std::move(new_b), std::move(new_c), new_alpha, new_beta);
    nb::object other = c.is_none() ? c_ : nb::borrow(c);
    product_.swap(m);
    std::swap(c_, other);
    released_ = false;
  }
  void release() {
    static_cast<void>(alive());
    released_ = true;
  }
  void free() {
    const std::shared_ptr<Matmul> product = std::move(product_);
    const nb::object c = std::move(c_);
    product_.reset();
  }

 private:
  const std::shared_ptr<Matmul>& alive() {
    if (!product_) throw PlanError({.what = "this Matmul was freed", .fix = "make a new one"});
    return product_;
  }
  std::shared_ptr<Matmul> product_;
  nb::object c_;
  Package package_ = Package::numpy;
  bool released_ = false;
};

}  // namespace

PyObject* at_operator(PyObject* a, PyObject* b) {
  try {
    static const MatmulOptions plain;
    return product(a, b, plain).release().ptr();
  } catch (...) {
    set_python_error(std::current_exception());
    return nullptr;
  }
}

void bind_matmul(nb::module_& m) {
  m.def(
      "matmul",
      [](nb::handle a, nb::handle b, nb::handle c, nb::handle alpha, nb::handle beta, bool transpose_a,
         bool transpose_b, bool conjugate_a, bool conjugate_b, nb::handle dtype, nb::handle compute_dtype) {
        return matmul_call(a, b, c, alpha, beta,
                           options_of(transpose_a, transpose_b, conjugate_a, conjugate_b, dtype, compute_dtype));
      },
      nb::arg("a"), nb::arg("b"), nb::arg("c") = nb::none(), nb::kw_only(), nb::arg("alpha") = 1,
      nb::arg("beta") = nb::none(), nb::arg("transpose_a") = false, nb::arg("transpose_b") = false,
      nb::arg("conjugate_a") = false, nb::arg("conjugate_b") = false, nb::arg("dtype") = nb::none(),
      nb::arg("compute_dtype") = nb::none(),
      "alpha * op(a) @ op(b) + beta * c, with NumPy's rules for ranks.\n\n"
      "a, b : sparse tensors, NumPy arrays, torch tensors\nc : array to write into (then beta = 1 unless given), "
      "returned; otherwise a fresh array of the package of the "
      "dense operand\ntranspose_*, conjugate_* : what op() does\ndtype : of the fresh result; compute_dtype: to "
      "accumulate in\n\nTensorError, DTypeError, Unsupported.");

  nb::class_<PlannedProduct>(m, "PlannedProduct", "The state of strata.Matmul.")
      .def(
          "__init__",
          [](PlannedProduct* self, nb::handle a, nb::handle b, nb::handle c, nb::handle alpha, nb::handle beta, bool ta,
             bool tb, bool ca, bool cb, nb::handle dtype, nb::handle compute) {
            new (self) PlannedProduct(a, b, c, alpha, beta, options_of(ta, tb, ca, cb, dtype, compute));
          },
          nb::arg("a"), nb::arg("b"), nb::arg("c").none(), nb::arg("alpha"), nb::arg("beta").none(),
          nb::arg("transpose_a"), nb::arg("transpose_b"), nb::arg("conjugate_a"), nb::arg("conjugate_b"),
          nb::arg("dtype").none(), nb::arg("compute_dtype").none())
      .def("plan", &PlannedProduct::plan, nb::lock_self())
      .def("execute", &PlannedProduct::execute, nb::lock_self())
      .def("reset_operands", &PlannedProduct::reset, nb::arg("a").none(), nb::arg("b").none(), nb::arg("c").none(),
           nb::arg("alpha").none(), nb::arg("beta").none(), nb::lock_self())
      .def("release_operands", &PlannedProduct::release, nb::lock_self())
      .def("free", &PlannedProduct::free, nb::lock_self());
}

}  // namespace strata::bind
