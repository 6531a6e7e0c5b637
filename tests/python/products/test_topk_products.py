"""st.matmul(a, b, topk=, threshold=): the largest elements of each row of a product, against NumPy."""

import numpy as np
import pytest
from named import array, pairs

import strata as st
from strata import _matmul


def wanted(a, b, k, threshold):
    """(row, column, value) of what stays: of stored elements of the product, those above, the k largest, the first of equals."""
    whole, stored = a @ b, (a != 0).astype(int) @ (b != 0).astype(int) > 0
    found = []
    for i, row in enumerate(whole):
        on = [j for j in np.flatnonzero(stored[i]) if threshold is None or row[j] > threshold]
        best = sorted(on, key=lambda j: (-row[j], j))[: len(on) if k is None else k]
        found += [(i, j, row[j]) for j in sorted(best)]
    return found


def listed(c):
    assert c.format == st.formats.CSR
    c.validate()
    return [(i, j, v) for (i, j), v in c.items()]


@pytest.mark.parametrize("work", [1, 7, 1 << 18])
def test_against_numpy(work, monkeypatch):
    monkeypatch.setattr(_matmul, "_PRODUCTS", work)
    for (A, a), (B, b) in list(zip(pairs(1, (7, 6)), reversed(pairs(2, (6, 5)))))[1:-1]:
        for k, threshold in ((2, None), (None, 0), (3, -4.5), (0, None), (100, None), (1, 1000)):
            assert listed(st.matmul(A, B, topk=k, threshold=threshold)) == wanted(a, b, k, threshold)
    got = st.matmul(A, A, transpose_b=True, alpha=2, topk=2)
    assert listed(got) == [(i, j, 2 * v) for i, j, v in wanted(a, a.T, 2, None)]
    assert listed(st.matmul(A, A, transpose_a=True, topk=1)) == wanted(a.T, a, 1, None)


def test_dtypes_and_packages():
    import scipy.sparse as sp

    a, b = array(1, (7, 6), "int16"), array(2, (6, 5), "int16")
    got = st.matmul(st.from_dense(a, "CSR"), sp.csr_array(b), topk=2)
    assert got.dtype == np.int16 and listed(got) == wanted(a, b, 2, None)
    A = st.from_dense(a.astype(float), "CSR").to("bfloat16")
    got = st.matmul(A, A.T, topk=2)
    assert got.dtype == "bfloat16" and got.nse <= 14
    got = st.matmul(st.zeros((0, 3)), st.zeros((3, 4)), topk=2)
    assert got.shape == (0, 4) and got.nse == 0
    assert st.matmul(st.zeros((5, 0)), st.zeros((0, 4)), topk=2).shape == (5, 4)


def test_a_product_that_no_memory_holds():
    n = 100_000  # 10^10 products, all of them stored
    ones = st.from_coo((np.arange(n), np.zeros(n, int)), np.arange(n, dtype=float), (n, 1), "CSR")
    few = st.from_coo((np.zeros(n, int), np.arange(n)), np.ones(n), (1, n), "CSR")
    got = st.matmul(ones[:60], few, topk=1, threshold=57.5)
    assert listed(got) == [(58, 0, 58), (59, 0, 59)]


def test_refused():
    A = st.eye(3)
    for call, text in (
        (lambda: st.matmul(A, np.eye(3), topk=1), "two sparse matrices"),
        (lambda: st.matmul(A, A + 1, topk=1), "fill 0"),
        (lambda: st.matmul(A, st.eye(4), topk=1), "do not go together"),
        (lambda: st.matmul(A, A, topk=-1), "0 or more"),
        (lambda: st.matmul(A, A, np.eye(3), topk=1), "no c="),
        (lambda: st.matmul(A, A.astype(complex), topk=1), "no order"),
    ):
        with pytest.raises(st.TensorError, match=text):
            call()
