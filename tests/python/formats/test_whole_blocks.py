"""Blocks that are full become rows in one walk; one that is not, wherever it lies, is found."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128, np.int8])
@pytest.mark.parametrize("text", ["BSR(3, 3)", "BSR(2, 5)", "BSC(3, 2)"])
def test_blocks_to_rows(text, dtype):
    rng = np.random.default_rng(0)
    pattern = sp.random_array((40, 30), density=0.3, rng=rng, format="csr")
    blocks = np.kron(pattern.toarray() != 0, np.ones((6, 10), bool))
    full = np.where(blocks, rng.integers(1, 100, blocks.shape), 0).astype(dtype)
    holes = [np.argwhere(blocks)[k] for k in (1, 1000, -2)]
    for hole in (None, *holes):
        x = full.copy()
        if hole is not None:
            x[tuple(hole)] = 0
        a = st.from_dense(x, text)
        rows = a.to("CSC" if text.startswith("BSC") else "CSR")
        rows.validate()
        assert rows.nse == np.count_nonzero(x)  # what fills blocks up is no element
        assert np.array_equal(rows.to_dense(), x)
        kept = a.to(rows.format, zeros="keep")
        assert kept.nse == a.nse and np.array_equal(kept.to_dense(), x)
