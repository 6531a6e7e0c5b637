#pragma once
// What a table of loops points to. Each family is compiled in a file of its own, for these types.
#include "kernels/isa/isa.h"

#define STRATA_EACH_INDEX(X, V) X(V, i32, i32) X(V, i64, i64) X(V, i64, i32) X(V, i32, u16)
#define STRATA_EACH_TILED_INDEX(X, V) X(V, i32, u8) X(V, i32, u16) X(V, i32, i32) X(V, i64, i64)
#if (defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)) || \
    (!defined(__AVX512F__) && defined(__AVX2__) && defined(__BMI2__))
#define STRATA_CAN_UNITE
#define STRATA_CSR_ADDS(V, P) {csr_add_rows<V, P>},
#else
#define STRATA_CSR_ADDS(V, P) {nullptr},
#endif
#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512BW__)
#define STRATA_HAS_ROW_SUMS
#define STRATA_ROW_SUMS(V, P) row_sums<V, P>
#else
#define STRATA_ROW_SUMS(V, P) nullptr
#endif
#if defined(__AVX512F__)
#define STRATA_BLOCKS(V, P, C) bsr_3x3_vector<V, P, C>, bsr_few_columns<V, P, C>
#elif defined(__AVX2__)
#define STRATA_BLOCKS(V, P, C) bsr_3x3_vector<V, P, C>, nullptr
#else
#define STRATA_BLOCKS(V, P, C) nullptr, nullptr
#endif

namespace strata::kernels::STRATA_ISA {

template <class V, class P, class C> void csr(i64 begin, i64 end, const P* pos, const C* crd, const V* values,
                                              const Dense<V>& d);
template <class V, class P, class C> void complex_csr(i64 begin, i64 end, const P* pos, const C* crd, const V* values,
                                                      const Dense<V>& d);
template <class V, class P> void row_sums(i64 begin, i64 end, const P* pos, const V* values, const Dense<V>& d);
template <class V, class P>
void bitmap_vector(i64 begin, i64 end, const u64* words, i64 words_per_row, const P* pos, const V* values, i64 limit,
                   i64 cols, const Dense<V>& d);
template <class V, class P, class J>
void bsr_3x3_vector(i64 begin, i64 end, const P* pos, const J* crd, const V* values, const Dense<V>& d);
template <class V, class P, class J>
void bsr_few_columns(i64 begin, i64 end, const P* pos, const J* crd, const V* values, i64 br, i64 bc,
                     const Dense<V>& d);
template <class V, class P, class C>
void tiled(i64 begin, i64 end, const P* pos, const C* crd, const V* values, const Tiling& t, const Dense<V>& whole);
template <class V>
void dia(i64 begin, i64 end, const i64* offsets, i64 diagonals, const V* values, i64 stride, bool by_row, i64 cols,
         const Dense<V>& d);
template <class V, class P>
i64 csr_add_rows(i64 begin, i64 end, i64 columns, const P* apos, const i32* acrd, const V* avalues, const P* bpos,
                 const i32* bcrd, const V* bvalues, bool minus, i32* crd, V* values, i64* ends);
template <class V> void fibres(i64 count, const V* const* x, V* const* out, i64 depth, const V* w, i64 ldw,
                               i64 columns);
template <class V> void attend(i64 begin, i64 end, const i64* pos, const i32* crd, const Attention<V>& a);

}  // namespace strata::kernels::STRATA_ISA
