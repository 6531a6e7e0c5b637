#pragma once
#include "plan/product.h"

namespace strata::planning {

/// A product in the pattern of an operand, as compile_product makes it; and, where the order of its rows decides,
/// further kernels, each compiled when it is first needed: one that computes rows with the same coordinates together,
/// where they come in blocks (pruned weights), and those that ask for rows of dense operands as the order wants it.
/// Which one runs, a sample of rows tells at each run. Null where the lowering refuses; `why` then says why.
RunnerPtr compile_in_pattern(const Product& product, std::string& why);

/// Do the rows of this operand mostly come in blocks of four or more with the same coordinates? Of products that know
/// what to do with that; otherwise false.
bool identical_rows(const Product& product, const Part& part);

/// How far behind a row's own number lies the row to ask for, in a matrix whose rows follow a diagonal.
std::int64_t lead_of(const Part& part);

}  // namespace strata::planning
