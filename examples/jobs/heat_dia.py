"""The heat equation on a plate of changing conductivity: a matrix of five diagonals, multiplied once a time step."""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick

import strata as st

n, steps = pick(small=(40, 5), full=(1_000, 50))
size = n * n
rng = np.random.default_rng(0)
right, down = rng.uniform(0.05, 0.2, (2, n, n))  # what flows to the neighbours in a time step
right[:, -1] = down[-1] = 0
right, down = right.ravel(), down.ravel()
loss = right + down + np.roll(right, 1) + np.roll(down, n)
diagonals = [down[: size - n], right[: size - 1], 1 - loss, right[: size - 1], down[: size - n]]
offsets = [-n, -1, 0, 1, n]
warm = rng.random(size)

A = st.diags(diagonals, offsets)
a = sp.diags_array(diagonals, offsets=offsets)


def strata():
    u = warm
    for _ in range(steps):
        u = A @ u
    return u


def scipy():
    u = warm
    for _ in range(steps):
        u = a @ u
    return u


compare(f"{n} x {n} points, {steps} steps", strata, scipy, "SciPy")
