"""Sampled softmax: with a large vocabulary, logits of a few sampled classes stand for all (Jean et al., 2015).

S says which classes were drawn for which example; frequent ones are drawn more often, and q(j), the logarithm of how often
one expects class j in a sample, puts that right. What a loss needs of the classes is the log of the sum of exp of each row.
"""

import numpy as np
import scipy.sparse as sp

import strata as st

rng = np.random.default_rng(14)
batch, classes, features, drawn = 64, 5000, 32, 200
X, W = rng.standard_normal((batch, features)), rng.standard_normal((classes, features)) / 5
often = 1 / np.arange(10.0, classes + 10)  # Zipf's law
often /= often.sum()
draws = rng.choice(classes, (batch, drawn), p=often)
sample = sp.csr_matrix((np.ones(draws.size), draws.ravel(), np.arange(0, draws.size + 1, drawn)), (batch, classes))
sample.sum_duplicates()  # a class drawn n times weighs n
S, q = st.from_scipy(sample), np.log(drawn * often)

Z = st.evaluate("Z(i,j) = (S(i,j) != 0) * X(i,k) * W(j,k)", S=S, X=X, W=W)  # SDDMM: logits of what was drawn
L = st.evaluate("L(i) = log(sum(j, S(i,j) * exp(Z(i,j) - q(j))))", S=S, Z=Z, q=q)

terms = sample.toarray() * np.exp(X @ W.T - q)
assert Z.nse == S.nse and np.allclose(L, np.log(terms.sum(1)))
whole = np.log(np.exp(X @ W.T).sum(1))
print(f"{S.nse} logits instead of {batch * classes}")
print(f"log of the sum of exp: {L.mean():.3f} from the sample, {whole.mean():.3f} from all")
