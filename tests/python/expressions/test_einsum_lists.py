"""einsum with lists of indices instead of a text, as NumPy's."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(4)
DENSE = np.where(rng.random((6, 5)) < 0.4, rng.standard_normal((6, 5)), 0)
A = st.from_scipy(sp.csr_array(DENSE))
X, V = rng.standard_normal((5, 3)), rng.standard_normal((2, 5))


@pytest.mark.parametrize(
    "lists",
    [
        lambda a: (a, [0, 1], X, [1, 2], [0, 2]),
        lambda a: (a, [0, 1], X, [1, 2]),
        lambda a: (a, [7, 3], X, [3, 1]),  # NumPy orders the result by index
        lambda a: (a, [0, 1], X, [1, 2], []),
        lambda a: (V, [..., 1], a, [0, 1], [..., 0]),
        lambda a: (a, (0, 1), (1, 0)),
        lambda a: (a, [np.int64(0), np.int32(51)], [51]),
    ],
)
def test_as_numpy(lists):
    got = st.einsum(*lists(A))
    np.testing.assert_allclose(got.to_numpy() if isinstance(got, st.Tensor) else got, np.einsum(*lists(DENSE)))


@pytest.mark.parametrize(
    "lists", [(A, X), (A, [0, 1], X, 1), (A, [0, 52], [0]), (A, [0, -1], [0]), (A,), (A, ["i", "j"])]
)
def test_what_is_no_list_is_told(lists):
    with pytest.raises(st.Error, match="einsum|index|operand|dimension"):
        st.einsum(*lists)
