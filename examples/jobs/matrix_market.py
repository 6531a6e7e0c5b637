"""A Matrix Market file of 200 MB is read, and its rows are added up."""

import os
import tempfile

import numpy as np
from compare import compare, pick
from scipy.io import mmread

import strata as st

n, count = pick(small=(1_000, 10_000), full=(1_000_000, 6_500_000))
rng = np.random.default_rng(0)
A = st.from_coo(rng.integers(0, n, (2, count), np.int32), rng.standard_normal(count), (n, n), "CSR")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "large.mtx")
    st.write(path, A)

    def strata():
        return st.read(path).sum(axis=1)

    def scipy():
        return mmread(path, spmatrix=False).sum(axis=1)

    compare(f"{os.path.getsize(path) / 1e6:,.1f} MB, {A.nse:,} elements", strata, scipy, "SciPy")
