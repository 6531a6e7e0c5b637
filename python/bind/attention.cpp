// Attention over the keys that a pattern stores, for strata.torch; gradients are its business.
#include "kernels/attention.h"
#include "bind.h"

namespace strata::bind {
namespace {

/// The address of as many elements of this dtype, which follow each other.
void* elements(const Array& a, DType dtype, std::int64_t count, const char* name) {
  std::int64_t have = 1;
  for (auto n : a.shape) have *= n;
  if (a.data.dtype != dtype || have != count || !a.contiguous())
    throw TensorError({.what = std::string(name) + " does not fit",
                       .expected = std::to_string(count) + " of " + std::string(name_of(dtype)) + ", contiguous",
                       .got = std::to_string(have) + " of " + std::string(name_of(a.data.dtype))});
  return static_cast<char*>(a.data.data) + a.offset * static_cast<std::int64_t>(size_of(dtype));
}

void check_shape(const Array& a, std::size_t rank, const char* name) {
  if (a.shape.size() != rank)
    throw TensorError({.what = std::string(name) + " does not fit",
                       .expected = std::to_string(rank) + " dimensions",
                       .got = std::to_string(a.shape.size())});
}

}  // namespace

void bind_attention(nb::module_& m) {
  m.def(
      "attention",
      [](nb::handle pos, nb::handle crd, const std::vector<std::int64_t>& which, nb::handle q, nb::handle k,
         nb::handle v, double scale, nb::handle bias, const std::vector<std::int64_t>& bias_at, nb::handle hidden,
         nb::handle out, nb::handle one, nb::handle top) {
        const Array of_q = to_array(q), of_k = to_array(k), of_v = to_array(v);
        for (const auto& [a, name] : {std::pair{&of_q, "q"}, {&of_k, "k"}, {&of_v, "v"}}) check_shape(*a, 3, name);
        const DType dtype = of_q.data.dtype;
        if (dtype != DType::f32 && dtype != DType::f64)
          throw DTypeError({.what = "attention is computed in float32 or float64",
                            .expected = "float32 or float64",
                            .got = std::string(name_of(dtype))});
        const std::int64_t n = of_q.shape[0], queries = of_q.shape[1], keys = of_k.shape[1];
        kernels::AttentionOperands o{.q = elements(of_q, dtype, n * queries * of_q.shape[2], "q"),
                                     .k = elements(of_k, dtype, n * keys * of_q.shape[2], "k"),
                                     .v = elements(of_v, dtype, n * keys * of_v.shape[2], "v"),
                                     .queries = queries,
                                     .keys = keys,
                                     .features = of_q.shape[2],
                                     .columns = of_v.shape[2],
                                     .scale = scale,
                                     .bias = nullptr,
                                     .bias_at = bias_at,
                                     .hidden = nullptr};
        const Array of_pos = to_array(pos), of_crd = to_array(crd);
        check_shape(of_pos, 1, "pos");
        check_shape(of_crd, 1, "crd");
        const auto* ends = static_cast<const std::int64_t*>(elements(of_pos, DType::i64, of_pos.shape[0], "pos"));
        const auto* columns = static_cast<const std::int32_t*>(elements(of_crd, DType::i32, of_crd.shape[0], "crd"));
        const Array of_out = to_array(out), of_one = to_array(one), of_top = to_array(top);
        void *y = elements(of_out, dtype, n * queries * of_v.shape[2], "out"),
             *sums = elements(of_one, dtype, n * queries, "one"),
             *largest = elements(of_top, dtype, n * queries, "top");
        std::optional<Array> of_bias, of_hidden;
        if (!bias.is_none()) {
          of_bias = to_array(bias);
          check_shape(*of_bias, 1, "bias");
          o.bias = elements(*of_bias, dtype, of_bias->shape[0], "bias");
        }
        if (!hidden.is_none()) {
          of_hidden = to_array(hidden);
          o.hidden = elements(*of_hidden, dtype, n * keys, "hidden");
        }
        const NoGil no_gil;
        kernels::attention(dtype, {.pos = ends, .crd = columns, .which = which}, o, y, sums, largest);
      },
      nb::arg("pos"), nb::arg("crd"), nb::arg("which"), nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("scale"),
      nb::arg("bias").none(), nb::arg("bias_at"), nb::arg("hidden").none(), nb::arg("out"), nb::arg("one"),
      nb::arg("top"),
      "softmax(scale * q @ k.T + bias) @ v over what CSR patterns store, one after another; which[n]: the pattern of "
      "the n-th matrix. q: (n, L, E), k: (n, S, E), v: (n, S, D), f32 or f64, contiguous. bias: for the elements of "
      "patterns, those of the n-th matrix from bias_at[n] on; hidden: (n, S), added to the scores of each key. "
      "Written: "
      "out (n, L, D); one and top (n, L): 1 / the sum of exp(score - top), and the largest score. TensorError.");
}

}  // namespace strata::bind
