#pragma once
#include "convert/radix_sort.h"

namespace strata::conversion {

/// As radix_sort, on all threads: by the upper bits into buckets first, then each bucket by itself, which a cache holds
/// where coordinates lie evenly. Stable, so that the result does not depend on the number of threads.
void bucket_sort(PodArray<SortItem>& items, PodArray<SortItem>& spare, int from, int bits);

}  // namespace strata::conversion
