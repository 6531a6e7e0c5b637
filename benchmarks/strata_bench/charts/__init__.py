"""Charts: what figures 4 and 5 of the blog on the universal sparse tensor compare, on a CPU. benchmarks/charts.py runs it."""
