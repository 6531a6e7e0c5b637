"""Timing products beside other libraries: one process per library and number of threads, visited in turn. `strata demo` uses it,
and so do the benchmarks in a checkout."""
