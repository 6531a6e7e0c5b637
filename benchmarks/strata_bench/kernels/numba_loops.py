"""What a careful user of numba would write."""

import numpy as np
from numba import prange

from strata._timing.loops import loops, serial, spmm as spmm, spmv as spmv


@loops
def lines(pos, crd, X, first, step):
    """One element of each line of the rows that are chosen: column 0, and those that begin a line (every step-th from `first` on)."""
    out = np.empty(len(pos) - 1, X.dtype)
    zero = X.dtype.type(0)
    if X.shape[1] == 4 * step and first == 0:
        for i in prange(len(out)):
            a, b, c, d = zero, zero, zero, zero
            for p in range(pos[i], pos[i + 1]):
                j = crd[p]
                a += X[j, 0]
                b += X[j, step]
                c += X[j, 2 * step]
                d += X[j, 3 * step]
            out[i] = (a + b) + (c + d)
    elif X.shape[1] == 4 * step:
        for i in prange(len(out)):
            a, b, c, d, e = zero, zero, zero, zero, zero
            for p in range(pos[i], pos[i + 1]):
                j = crd[p]
                a += X[j, 0]
                b += X[j, first]
                c += X[j, first + step]
                d += X[j, first + 2 * step]
                e += X[j, first + 3 * step]
            out[i] = (a + b) + (c + d) + e
    else:
        for i in prange(len(out)):
            s = zero
            for p in range(pos[i], pos[i + 1]):
                s += X[crd[p], 0]
                for k in range(first if first > 0 else step, X.shape[1], step):
                    s += X[crd[p], k]
            out[i] = s
    return out


@loops
def sddmm(pos, crd, values, U, V):
    out = np.empty_like(values)
    for i in prange(len(pos) - 1):
        for p in range(pos[i], pos[i + 1]):
            s, j = values.dtype.type(0), crd[p]
            for k in range(U.shape[1]):
                s += U[i, k] * V[j, k]
            out[p] = values[p] * s
    return out


@loops
def spgemm(apos, acrd, avalues, bpos, bcrd, bvalues, n, threads):
    m = len(apos) - 1
    chunk = (m + threads - 1) // threads
    pos = np.zeros(m + 1, np.int64)
    for t in prange(threads):
        mark = np.full(n, -1, np.int32)
        for i in range(t * chunk, min(m, (t + 1) * chunk)):
            count = 0
            for p in range(apos[i], apos[i + 1]):
                for q in range(bpos[acrd[p]], bpos[acrd[p] + 1]):
                    if mark[bcrd[q]] != i:
                        mark[bcrd[q]] = i
                        count += 1
            pos[i + 1] = count
    for i in range(m):
        pos[i + 1] += pos[i]
    crd, values = np.empty(pos[m], np.int32), np.empty(pos[m], avalues.dtype)
    for t in prange(threads):
        row, mark = np.zeros(n, avalues.dtype), np.full(n, -1, np.int32)
        for i in range(t * chunk, min(m, (t + 1) * chunk)):
            end = pos[i]
            for p in range(apos[i], apos[i + 1]):
                for q in range(bpos[acrd[p]], bpos[acrd[p] + 1]):
                    k = bcrd[q]
                    if mark[k] != i:
                        mark[k] = i
                        row[k] = 0
                        crd[end] = k
                        end += 1
                    row[k] += avalues[p] * bvalues[q]
            crd[pos[i] : end].sort()
            for r in range(pos[i], end):
                values[r] = row[crd[r]]
    return pos, crd, values


@loops
def masked(apos, acrd, avalues, bpos, bcrd, bvalues, n, threads):
    """The mask is A: its row is marked, and only what is marked and met is kept."""
    m = len(apos) - 1
    chunk = (m + threads - 1) // threads
    values, met, pos = np.zeros_like(avalues), np.zeros(len(acrd), np.bool_), np.zeros(m + 1, np.int64)
    for t in prange(threads):
        place = np.full(n, -1, np.int64)
        for i in range(t * chunk, min(m, (t + 1) * chunk)):
            for p in range(apos[i], apos[i + 1]):
                place[acrd[p]] = p
            for p in range(apos[i], apos[i + 1]):
                for q in range(bpos[acrd[p]], bpos[acrd[p] + 1]):
                    r = place[bcrd[q]]
                    if r >= 0:
                        values[r] += avalues[p] * bvalues[q]
                        met[r] = True
            for p in range(apos[i], apos[i + 1]):
                place[acrd[p]] = -1
                pos[i + 1] += met[p]
    for i in range(m):
        pos[i + 1] += pos[i]
    return pos, acrd[met], values[met]


@serial
def add(apos, acrd, avalues, bpos, bcrd, bvalues):
    m, room = len(apos) - 1, len(acrd) + len(bcrd)
    pos, crd, values, end = np.zeros(m + 1, np.int64), np.empty(room, np.int32), np.empty(room, avalues.dtype), 0
    for i in range(m):
        p, q = apos[i], bpos[i]
        while p < apos[i + 1] or q < bpos[i + 1]:
            j = acrd[p] if p < apos[i + 1] else np.int32(2147483647)
            k = bcrd[q] if q < bpos[i + 1] else np.int32(2147483647)
            v, at = avalues.dtype.type(0), min(j, k)
            if j == at:
                v += avalues[p]
                p += 1
            if k == at:
                v += bvalues[q]
                q += 1
            crd[end] = at
            values[end] = v
            end += 1
        pos[i + 1] = end
    return pos, crd[:end], values[:end]


@serial
def add3(apos, acrd, avalues, bpos, bcrd, bvalues, cpos, ccrd, cvalues):
    m, room, none = len(apos) - 1, len(acrd) + len(bcrd) + len(ccrd), np.int32(2147483647)
    pos, crd, values, end = np.zeros(m + 1, np.int64), np.empty(room, np.int32), np.empty(room, avalues.dtype), 0
    for i in range(m):
        p, q, r = apos[i], bpos[i], cpos[i]
        while True:
            j = acrd[p] if p < apos[i + 1] else none
            k = bcrd[q] if q < bpos[i + 1] else none
            n = ccrd[r] if r < cpos[i + 1] else none
            v, at = avalues.dtype.type(0), min(j, k, n)
            if at == none:
                break
            if j == at:
                v += avalues[p]
                p += 1
            if k == at:
                v += bvalues[q]
                q += 1
            if n == at:
                v += cvalues[r]
                r += 1
            crd[end] = at
            values[end] = v
            end += 1
        pos[i + 1] = end
    return pos, crd[:end], values[:end]


@loops
def mttkrp3(pos, j, k, values, B, C):
    M = np.zeros((len(pos) - 1, B.shape[1]), values.dtype)
    for i in prange(len(M)):
        for p in range(pos[i], pos[i + 1]):
            for r in range(B.shape[1]):
                M[i, r] += values[p] * B[j[p], r] * C[k[p], r]
    return M


@loops
def mttkrp4(pos, j, k, m, values, B, C, D):
    M = np.zeros((len(pos) - 1, B.shape[1]), values.dtype)
    for i in prange(len(M)):
        for p in range(pos[i], pos[i + 1]):
            for r in range(B.shape[1]):
                M[i, r] += values[p] * B[j[p], r] * C[k[p], r] * D[m[p], r]
    return M


@serial
def fibres(i, j):
    start, end = np.empty(len(i) + 1, np.int64), 0
    for p in range(len(i)):
        if p == 0 or i[p] != i[p - 1] or j[p] != j[p - 1]:
            start[end] = p
            end += 1
    start[end] = len(i)
    return start[: end + 1]


@loops
def ttm(i, j, k, values, U):
    start = fibres(i, j)
    Y = np.zeros((len(start) - 1, U.shape[1]), values.dtype)
    for f in prange(len(Y)):
        for p in range(start[f], start[f + 1]):
            for r in range(U.shape[1]):
                Y[f, r] += values[p] * U[k[p], r]
    return start[:-1], Y


@loops
def ttv(i, j, k, values, x):
    start = fibres(i, j)
    y = np.zeros(len(start) - 1, values.dtype)
    for f in prange(len(y)):
        for p in range(start[f], start[f + 1]):
            y[f] += values[p] * x[k[p]]
    return start[:-1], y


@serial
def inner(i, j, k, values, a, b, c, others):
    p = q = 0
    s = values.dtype.type(0)
    while p < len(i) and q < len(a):
        x, y = (i[p], j[p], k[p]), (a[q], b[q], c[q])
        if x == y:
            s += values[p] * others[q]
            p += 1
            q += 1
        elif x < y:
            p += 1
        else:
            q += 1
    return s


@loops
def moe(expert, X, W):
    Y = np.zeros((len(expert), W.shape[2]), X.dtype)
    for p in prange(len(expert)):
        for a in range(X.shape[1]):
            for h in range(W.shape[2]):
                Y[p, h] += X[p, a] * W[expert[p], a, h]
    return Y


@loops
def attention(pos, crd, left, right, H):
    Y = np.zeros((len(pos) - 1, H.shape[1]), H.dtype)
    for i in prange(len(Y)):
        largest = H.dtype.type(-np.inf)
        for p in range(pos[i], pos[i + 1]):
            e = left[i] + right[crd[p]]
            largest = max(largest, max(e, e * H.dtype.type(0.2)))
        s = H.dtype.type(0)
        for p in range(pos[i], pos[i + 1]):
            e = left[i] + right[crd[p]]
            w = np.exp(max(e, e * H.dtype.type(0.2)) - largest)
            s += w
            for k in range(H.shape[1]):
                Y[i, k] += w * H[crd[p], k]
        if s > 0:
            for k in range(H.shape[1]):
                Y[i, k] /= s
    return Y


@loops
def triangles(pos, crd):
    """Rows i and j of each edge walk together."""
    count = 0
    for i in prange(len(pos) - 1):
        for p in range(pos[i], pos[i + 1]):
            a, b, j = pos[i], pos[crd[p]], crd[p]
            while a < pos[i + 1] and b < pos[j + 1]:
                if crd[a] == crd[b]:
                    count += 1
                    a += 1
                    b += 1
                elif crd[a] < crd[b]:
                    a += 1
                else:
                    b += 1
    return count


@serial
def bfs(pos, crd, front):
    out = np.zeros(len(front), np.bool_)
    for i in range(len(front)):
        if front[i]:
            for p in range(pos[i], pos[i + 1]):
                if not front[crd[p]]:
                    out[crd[p]] = True
    return out


@serial
def sssp(pos, crd, values, d):
    e = d.copy()
    for i in range(len(d)):
        if np.isfinite(d[i]):
            for p in range(pos[i], pos[i + 1]):
                e[crd[p]] = min(e[crd[p]], d[i] + values[p])
    return e


@loops
def softmax(pos, crd, values, U, V):
    out = np.zeros(len(pos) - 1, values.dtype)
    for i in prange(len(out)):
        for p in range(pos[i], pos[i + 1]):
            z = values.dtype.type(0)
            for k in range(U.shape[1]):
                z += U[i, k] * V[crd[p], k]
            out[i] += np.exp(values[p] * z)
    return out


@loops
def distmult(h, r, t, values, E, R, F):
    out = np.empty_like(values)
    for p in prange(len(values)):
        s = values.dtype.type(0)
        for k in range(E.shape[1]):
            s += E[h[p], k] * R[r[p], k] * F[t[p], k]
        out[p] = values[p] * s
    return out


@loops
def rescal(h, r, t, values, E, M, F):
    out = np.empty_like(values)
    for p in prange(len(values)):
        s = values.dtype.type(0)
        for a in range(E.shape[1]):
            z = values.dtype.type(0)
            for b in range(F.shape[1]):
                z += M[r[p], a, b] * F[t[p], b]
            s += E[h[p], a] * z
        out[p] = values[p] * s
    return out


@serial
def convolution(apos, acrd, avalues, n, K):
    """Row by row of the result, over the three rows of A that it sees."""
    m = len(apos) - 1 - 2
    room = 9 * len(acrd)
    pos, crd, values, end = np.zeros(m + 1, np.int64), np.empty(room, np.int32), np.empty(room, avalues.dtype), 0
    row, mark = np.zeros(n, avalues.dtype), np.full(n, -1, np.int32)
    for i in range(m):
        first = end
        for r in range(3):
            for p in range(apos[i + r], apos[i + r + 1]):
                for s in range(3):
                    j = acrd[p] - s
                    if 0 <= j < n - 2:
                        if mark[j] != i:
                            mark[j] = i
                            row[j] = 0
                            crd[end] = j
                            end += 1
                        row[j] += avalues[p] * K[r, s]
        crd[first:end].sort()
        for p in range(first, end):
            values[p] = row[crd[p]]
        pos[i + 1] = end
    return pos, crd[:end], values[:end]
