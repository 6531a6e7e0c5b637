"""Inner product of sparse tensors: only where both have something. Similarity of two documents, norm of a tensor.

s = X(i,j,k) * Y(i,j,k). The two walk together; a format that cannot be walked in the order of the
other is converted first.
"""

import numpy as np

import strata as st

rng = np.random.default_rng(9)


def sample(seed):
    r = np.random.default_rng(seed)
    return np.where(r.random((60, 50, 40)) < 0.02, r.standard_normal((60, 50, 40)), 0)


x = sample(1)
y = x + 0.5 * sample(2)
want = np.sum(x * y) / np.sqrt(np.sum(x * x) * np.sum(y * y))

text = "s = X(i,j,k) * Y(i,j,k)"
for fx, fy in (("CSF", "CSF"), ("CSF", "COO"), ("COO", "(i, j, k) -> (i : dense, j : dense, k : bitmap)")):
    X, Y = st.from_dense(x, fx), st.from_dense(y, fy)
    xy, xx, yy = (float(st.evaluate(text, X=p, Y=q)) for p, q in ((X, Y), (X, X), (Y, Y)))
    cosine = xy / np.sqrt(xx * yy)
    assert np.isclose(cosine, want)
    print(f"{X.nse} and {Y.nse} elements in {fx} and {fy.split(' -> ')[-1]}: cosine {cosine:.6f}")
