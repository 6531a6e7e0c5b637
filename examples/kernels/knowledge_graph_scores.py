"""Scores of knowledge graphs: DistMult (Yang et al., 2015) and RESCAL (Nickel et al., 2011), for stored triples only.

T(h,r,t) is 1 where "h r t" is claimed. DistMult: sum over k of E(h,k) R(r,k) E(t,k). RESCAL: E(h,a) R(r,a,b) E(t,b).
"""

import numpy as np

import strata as st

rng = np.random.default_rng(15)
entities, relations, k, triples = 500, 12, 16, 2000
h, r, t = (rng.integers(0, n, triples) for n in (entities, relations, entities))
E, R = rng.standard_normal((entities, k)), rng.standard_normal((relations, k))
M = rng.standard_normal((relations, k, k))
T = st.from_coo([h, r, t], np.ones(triples), (entities, relations, entities), "COO")

distmult = st.evaluate("S(h,r,t) = T(h,r,t) * E(h,k) * R(r,k) * F(t,k)", T=T, E=E, R=R, F=E)
rescal = st.evaluate("S(h,r,t) = T(h,r,t) * E(h,a) * M(r,a,b) * F(t,b)", T=T, E=E, M=M, F=E)

h, r, t = (T.crd(level) for level in range(3))  # sorted now, and what was drawn twice stands once
assert np.allclose(distmult.values, T.values * np.einsum("nk,nk,nk->n", E[h], R[r], E[t]))
assert np.allclose(rescal.values, T.values * np.einsum("na,nab,nb->n", E[h], M[r], E[t]))
print(f"{T.nse} triples of {entities * relations * entities} scored")
for name, scores in (("DistMult", distmult), ("RESCAL", rescal)):
    n = int(np.argmax(scores.values))
    print(f"{name:8} likes best: {h[n]} -{r[n]}-> {t[n]} with {scores.values[n]:.1f}")
