"""Where memory does not suffice, the message names the level that takes it, and why."""

import numpy as np
import pytest

import strata as st


@pytest.mark.parametrize(
    ("format", "words"),
    [
        ("(i, j) -> (i : dense, j : bitmap)", r"cannot allocate .* a bitmap has a bit for each of 1.76e\+13 places"),
        ("(i, j) -> (i : dense, j : delta(1))", r"delta\(1\) crosses gaps by a slot for every 2 coordinates"),
        ("DIA", "each diagonal that holds an element is stored whole"),
    ],
)
def test_level_is_named(format, words):
    n = 1 << 22
    rng = np.random.default_rng(0)
    coords = rng.integers(0, n, (2, 300_000))
    A = st.from_coo(coords, np.ones(coords.shape[1]), (n, n), "COO")
    with pytest.raises(MemoryError, match=words):
        A.to(format)


def test_others_are_not():
    A = st.from_coo(np.array([[0], [5]]), np.ones(1), (1 << 30, 1 << 30), "COO")
    with pytest.raises(MemoryError) as caught:
        A.to("dense")
    assert "bitmap" not in str(caught.value)
