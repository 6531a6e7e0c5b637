"""strata bench --kernels: the named kernels of the sparse compiler beside what users would take instead."""
