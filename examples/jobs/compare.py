"""Runs a job in two ways, by turns: their results must agree, and the best time of each counts."""

import math
import pathlib
import sys
import time

import numpy as np
import scipy.sparse as sp

import strata as st

SMALL = "--small" in sys.argv[1:]


def pick(small, full):
    """The size of the input: small for tests, full for timing."""
    return small if SMALL else full


def network(nodes, edges, seed=0):
    """The CSR array of a random graph without loops, in which few nodes have many edges: ones, float64."""
    rng = np.random.default_rng(seed)
    i, j = (nodes * rng.random((2, edges)) ** 2).astype(np.int32)
    labels = rng.permutation(nodes).astype(np.int32)
    graph = sp.coo_array((np.ones(edges), (labels[i], labels[j])), shape=(nodes, nodes)).tocsr()
    graph.setdiag(0)
    graph.eliminate_zeros()
    graph.data[:] = 1
    return graph


def check(ours, theirs, rtol=1e-9):
    """AssertionError unless both are the same numbers, up to rtol of the largest: arrays, sparse ones, or tuples."""
    if isinstance(theirs, tuple):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            check(a, b, rtol)
        return
    if sp.issparse(theirs):
        ours, theirs = ours.to("CSR").to_scipy(), theirs.tocsr()
        assert ours.shape == theirs.shape
        difference = abs(ours - theirs).max()
        largest = abs(theirs).max()
    else:
        ours = ours.to_dense() if isinstance(ours, st.Tensor) else ours
        ours, theirs = np.asarray(ours, np.float64), np.asarray(theirs, np.float64)
        assert ours.shape == theirs.shape and np.array_equal(np.isfinite(ours), np.isfinite(theirs))
        finite = np.isfinite(theirs)
        difference = np.abs(ours[finite] - theirs[finite]).max(initial=0)
        largest = np.abs(theirs[finite]).max(initial=0)
    assert difference <= rtol * largest, f"differs by {difference}, the largest is {largest}"


def compare(size, strata, peer, name, rtol=1e-9, seconds=6):
    """Checks and times the functions strata() and peer(), and prints a line: job, size, seconds of each, their ratio.

    Both are called in turn for so many seconds (with --small once). The first call, which may compile, does not count.
    """
    ours = strata()
    if isinstance(ours, st.Tensor):
        ours.validate()
    check(ours, peer(), rtol)
    best, calls, begin = [math.inf, math.inf], 0, time.perf_counter()
    while calls < (1 if SMALL else 3) or (not SMALL and time.perf_counter() - begin < seconds):
        for k, run in enumerate((strata, peer)):
            start = time.perf_counter()
            run()
            best[k] = min(best[k], time.perf_counter() - start)
        calls += 1
    job = pathlib.Path(sys.argv[0]).stem
    print(
        f"{job:18} {size:48} Strata {best[0]:8.4f} s   {name} {best[1]:8.4f} s   "
        f"{best[1] / best[0]:5.2f} times as long; same result"
    )
