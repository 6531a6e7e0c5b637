"""strata bench --torch: linear layers with sparse weights, beside dense ones and other libraries of sparse training."""
