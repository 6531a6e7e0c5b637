"""Dense factors that lie in memory by columns, backwards or with gaps, on either side of a sparse one."""

import numpy as np
import pytest

import strata as st

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 3)", "DIA", "DCSR", "ELL", "delta(3)", "bitmap", "BSR(2, 2) + COO"]
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "gaps": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backwards": lambda x: np.asfortranarray(x[::-1])[::-1],
    "one row for all": lambda x: np.broadcast_to(x[:1], x.shape),
    "one column for all": lambda x: np.broadcast_to(x[:, :1], x.shape),
}


@pytest.mark.parametrize("text", FORMATS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("wide", [1, 3, 4, 9])
def test_products(text, layout, wide):
    rng = np.random.default_rng(wide)
    dense = rng.integers(1, 9, (7, 6)) * (rng.random((7, 6)) < 0.5)
    for dtype in ("float64", "float32", "int16", "complex64", "float16"):
        A = st.from_dense(dense.astype(dtype), text)
        right = LAYOUTS[layout](rng.integers(-4, 5, (6, wide)).astype(dtype))
        left = LAYOUTS[layout](rng.integers(-4, 5, (wide, 7)).astype(dtype))
        for got, want in ((A @ right, dense @ right), (left @ A, left @ dense), (left @ A.T.T, left @ dense)):
            assert got.dtype == dtype and np.array_equal(got, want.astype(dtype))
        assert np.array_equal(st.matmul(right.T, A.T), right.T @ dense.T)


def test_shapes_that_do_not_fit():
    A = st.from_dense(np.eye(3), "CSR")
    for a, b in ((np.ones((5, 4)), A), (A, np.asfortranarray(np.ones((4, 5)))), (np.ones((5, 1)), A)):
        with pytest.raises(st.ExpressionError, match="inner extents"):
            st.matmul(a, b)
