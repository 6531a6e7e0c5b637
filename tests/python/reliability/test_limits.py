"""Expressions of any size on stacks of any size: computed, or refused by a typed error."""

import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import strata as st

D = np.array([[1.0, 0, 2], [0, 0.5, 1], [1, 0, 0]])
A = st.from_dense(D, "CSR")


@pytest.mark.parametrize("operand", [A, D], ids=["sparse", "dense"])
def test_too_many_operands(operand):
    for n in (300, 16_000):
        for call in (st.einsum, st.plan):
            with pytest.raises(st.ExpressionError, match="operands"):
                call(",".join(["ij"] * n) + "->ij", *[operand] * n)


@pytest.mark.parametrize("operand", [A, D], ids=["sparse", "dense"])
def test_many_operands(operand):
    """Time goes with the square of their number: 60 took a second once, and 250 half a minute."""
    start = time.process_time()
    found = st.einsum(",".join(["ij"] * 120) + "->ij", *[operand] * 120)
    assert time.process_time() - start < 10
    found = found if isinstance(found, np.ndarray) else found.to_dense()
    assert np.array_equal(found, D**120)


SMALL = """
import sys, threading
import numpy as np
import strata as st
D = np.array([[1.0, 0, 2], [0, 0.5, 1], [1, 0, 0]])
A = st.from_dense(D, "CSR")
deep = {
    "abs": ("abs(" * 50 + "A(i,j)" + ")" * 50, D),
    "parentheses": ("(" * 90 + "A(i,j)" + ")" * 90, D),
    "signs": ("-" * 90 + "A(i,j)", D),
    "sum": ("A(i,j) + " * 500 + "A(i,j)", 501 * D),
    "product": ("A(i,j) * " * 500 + "1", D ** 500),
}
failures = []
def work():
    try:
        for name, (text, expected) in deep.items():
            for operand in (A, D):
                try:
                    found = st.evaluate("R(i,j) = " + text, A=operand)
                except st.Error:
                    continue  # refused is as good
                found = found if isinstance(found, np.ndarray) else found.to_dense()
                assert np.array_equal(found, expected), name
            st.explain("R(i,j) = " + text, A=A)
            st._core.print_assignment("R(i,j) = " + text)
        st.show("R(i,j) = " + deep["abs"][0], A=A)
        st.einsum(",".join(["ij"] * 60) + "->ij", *[A] * 60)
        st.Semiring("abs(" * 50 + "a + b" + ")" * 50, "a * b", 0)
        assert np.array_equal(st.einsum("ij,jk->ik", A, A).to_dense(), D @ D)
    except BaseException as e:
        failures.append(repr(e))
        raise
threading.stack_size(%d * 1024)
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert not failures, failures
"""


@pytest.mark.parametrize("cache", ["auto", "off"])
@pytest.mark.parametrize("kb", [256, 192])
def test_threads_with_small_stacks(kb, cache):
    p = subprocess.run(
        [sys.executable, "-c", SMALL % kb],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "STRATA_CACHE": cache},
    )
    assert p.returncode == 0, p.stderr[-2000:]


def test_long_chains_are_released_anywhere():
    """Made by one thread, let go by another that has little stack."""
    code = """
    import threading
    import strata as st
    held = [st.Schedule(), st._core.print_assignment("R(i) = " + "a(i) + " * 900 + "a(i)")]
    def work():
        for k in range(20):  # the last few texts are remembered: older ones go
            st._core.print_assignment(f"R{k}(i) = " + "a(i) + " * 900 + "a(i)")
    threading.stack_size(192 * 1024)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    """
    p = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=60)
    assert p.returncode == 0, p.stderr[-2000:]


def test_the_largest_extent():
    n = 2**63 - 1
    t = st.from_coo([[0, 5, n - 1]], [1.0, 2.0, 3.0], (n,), "COO(1)")
    assert t[1:].shape == (n - 1,) and t[1:][4] == 2 and t[1:][n - 2] == 3 and t[1:].nse == 2
    assert t[: n - 1].nse == 2 and t[5:][0] == 2 and t[::2][0] == 1 and t[n - 1 :].nse == 1
    assert t[::-1][0] == 3 and t[::-1][n - 1] == 1
