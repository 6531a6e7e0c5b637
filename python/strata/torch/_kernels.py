"""The arithmetic, on ordinary CPU tensors that carry no gradient: what operators and autograd call in the end."""

import torch

import strata as st


def mm(pattern, values, x, transpose, left):
    """op(A) @ x, or x @ op(A) with `left`, where op transposes or does not. A: a matrix of these values; x: a dense vector or
    matrix of the same dtype. The result is dense."""
    a = pattern.with_values(values)
    if transpose:
        a = a.T
    if not left:
        return st.matmul(a, x)
    if x.dim() == 1 or x.shape[0] < 4:
        return st.matmul(x, a)
    # Loops over a sparse matrix want rows of the dense one side by side, and torch turns matrices faster than we do.
    return st.matmul(a.T, x.t().contiguous()).t().contiguous()


def sampled(pattern, a, b):
    """sum over k of a[i, k] * b[j, k] for each slot (i, j) of a matrix: the gradient of its values. a: (m, k), b: (n, k), or
    vectors. 1-D; slots beyond the edge get 0."""
    text = "R(i,j) = P(i,j) * a(i,k) * b(j,k)" if a.dim() == 2 else "R(i,j) = P(i,j) * a(i) * b(j)"
    ones = pattern.ones_of(a.dtype)
    out = st.evaluate(text, P=ones, a=a, b=b)
    return pattern.gather(out) if isinstance(out, torch.Tensor) else pattern.values_of(out)
