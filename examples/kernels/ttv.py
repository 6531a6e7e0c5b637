"""TTV: a sparse tensor times a vector along one dimension: what remains is a tensor of one dimension less.

Weights of days turn (sender, receiver, day) into one graph of (sender, receiver); recent mails count more.
"""

import numpy as np

import strata as st

rng = np.random.default_rng(8)
people, days, mails = 800, 365, 20_000
at = [rng.integers(0, people, mails), rng.integers(0, people, mails), rng.integers(0, days, mails)]
X = st.from_coo(at, np.ones(mails), (people, people, days), "CSF")  # several mails on one day are added
recent = 0.5 ** ((days - 1 - np.arange(days)) / 30)  # half as much a month earlier

G = st.evaluate("G(i,j) = X(i,j,d) * w(d)", X=X, w=recent, format="CSR")

want = np.zeros((people, people))
np.add.at(want, (at[0], at[1]), recent[at[2]])
assert np.allclose(G.to_dense(), want)
i, j = np.unravel_index(np.argmax(want), want.shape)
print(f"{X.nse} mails -> a graph of {G.nse} edges; the liveliest: {i} to {j} with {G[int(i), int(j)]:.2f}")
