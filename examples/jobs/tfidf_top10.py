"""Search: words weighted by how rare they are (TF-IDF), and of each query's similar documents the ten most similar."""

import numpy as np
import scipy.sparse as sp
from compare import compare, pick
from sklearn.feature_extraction.text import TfidfTransformer

import strata as st

documents, words, length, queries = pick(small=(800, 800, 20, 50), full=(30_000, 40_000, 80, 1_000))
rng = np.random.default_rng(0)
word = (words * rng.random(documents * length) ** 3).astype(np.int32)  # few words are frequent
document = np.repeat(np.arange(documents, dtype=np.int32), length)
counts = sp.coo_array((np.ones(len(word)), (document, word)), shape=(documents, words)).tocsr()
C = st.from_scipy(counts)


def strata():
    idf = np.log((1 + documents) / (1 + C.count_nonzero(axis=0))) + 1
    W = st.evaluate("W(i,j) = C(i,j) * idf(j)", C=C, idf=idf)
    X = st.evaluate("X(i,j) = W(i,j) / n(i)", W=W, n=st.norm(W, axis=1))
    return (X[:queries] @ X.T).topk(10, axis=1)


def scipy():
    x = TfidfTransformer().fit_transform(counts)
    similar = x[:queries] @ x.T
    rows, columns, values = [], [], []
    for i in range(queries):
        row = slice(similar.indptr[i], similar.indptr[i + 1])
        best = np.argpartition(-similar.data[row], 9)[:10] if row.stop - row.start > 10 else slice(None)
        values.append(similar.data[row][best])
        columns.append(similar.indices[row][best])
        rows.append(np.full(len(values[-1]), i))
    found = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.coo_array(found, shape=similar.shape).tocsr()


compare(f"{documents:,} texts, {counts.nnz:,} counts, {queries:,} queries", strata, scipy, "scikit-learn")
