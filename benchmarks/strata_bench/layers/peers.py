"""The libraries that linear layers are timed with. Each makes layers of a weight, variant by variant; what is timed of a layer is
the same for all, and told once."""

import os
import warnings

import numpy as np

from strata._timing.peers import latest


class Layer:
    """`call(x)` is x W^T; `parameter` is what it learns, and `stored(gradient)` the gradient's values in the order of CSR."""

    def __init__(self, call, parameter, stored):
        self.call, self.parameter, self.stored = call, parameter, stored


class Peer:
    def __init__(self, threads):
        import torch

        warnings.filterwarnings("ignore")
        torch.set_num_threads(threads)
        self.torch = torch

    def variants(self, case, a):
        return self.of_input if case.op == "input" else self.of_weight(a)

    of_input = ("-",)

    def of_weight(self, a):
        return ["-"]

    def tensor(self, x):
        """In memory of torch's own, as a user's is."""
        return self.torch.from_numpy(x).clone()

    def prepare(self, case, a, operands, variant):
        if case.op == "input":
            return plain(self.input(a, self.tensor(operands[0]), variant))
        return getattr(self, case.op)(a, *map(self.tensor, operands), variant)

    def input(self, a, w, variant):
        raise LookupError("takes no sparse input")

    def forward(self, a, x, g, variant):
        layer = self.layer(a, variant)

        def run():
            with self.torch.no_grad():
                return layer.call(x)

        return plain(run)

    def dx(self, a, x, g, variant):
        layer = self.layer(a, variant)
        layer.parameter.requires_grad_(False)
        return plain(self.gradient(layer, x.requires_grad_(), x, g))

    def dw(self, a, x, g, variant):
        layer = self.layer(a, variant)
        return plain(self.gradient(layer, x, layer.parameter, g), layer.stored)

    def gradient(self, layer, x, of, g):
        y = layer.call(x)
        return lambda: self.torch.autograd.grad(y, of, g.to(y.dtype), retain_graph=True)[0]

    def step(self, a, x, g, variant):
        layer = self.layer(a, variant)
        x.requires_grad_()
        optimizer = self.torch.optim.SGD([layer.parameter], lr=0.0)  # the same work, and gradients that can be compared

        def run():
            x.grad = None
            optimizer.zero_grad()
            y = layer.call(x)
            y.backward(g.to(y.dtype))
            optimizer.step()
            return layer.parameter.grad

        return plain(run, layer.stored)


def plain(run, of=lambda result: result.detach().numpy()):
    p = latest(run)
    result = p.result
    p.result = lambda: of(result())
    return p


def coordinates(a):
    return np.repeat(np.arange(a.shape[0]), np.diff(a.indptr)), a.indices


def at(a):
    """The elements of a dense gradient where `a` stores some."""
    place = coordinates(a)
    return lambda dense: dense.detach().float().numpy()[place]


class Strata(Peer):
    """stt.sparsify_ made this weight; own kernels alone."""

    of_input = ("CSR",)

    def __init__(self, threads):
        super().__init__(threads)
        import strata as st
        import strata.torch as stt

        st.settings.threads = threads
        st.settings.vendor = False
        self.st, self.stt = st, stt

    def of_weight(self, a):
        block = block_of(a)
        return [f"BSR({block}, {block})", "CSR"] if block else ["CSR", "CSR uint16"]

    def weight(self, a, variant):
        name, _, crd = variant.partition(" uint")
        w = self.stt.from_strata(self.st.from_scipy(a).to(name, crd_dtype=f"uint{crd}" if crd else None))
        return self.stt.Tensor(w.values().clone(), w.pattern)

    def layer(self, a, variant):
        nn = self.torch.nn
        with self.torch.device("meta"):  # its dense weight is never made
            linear = nn.Linear(a.shape[1], a.shape[0], bias=False)
        self.stt.set_weight(linear, "weight", self.weight(a, variant))
        linear.weight_values.requires_grad_()
        pattern, place = linear.weight.pattern, at(a)
        return Layer(linear, linear.weight_values, lambda gradient: place(pattern.scatter(gradient)))

    def input(self, a, w, variant):
        x, linear = self.weight(a, variant), self.torch.nn.functional.linear
        return lambda: linear(x, w)


class Dense(Peer):
    """nn.Linear with zeros among its weights."""

    def layer(self, a, variant):
        weight = self.tensor(a.toarray()).requires_grad_()
        return Layer(lambda x: self.torch.nn.functional.linear(x, weight), weight, at(a))

    def input(self, a, w, variant):
        x = self.tensor(a.toarray())
        return lambda: self.torch.nn.functional.linear(x, w)


class BFloat16(Dense):
    """The same in bfloat16: its results are coarser, and not compared."""

    def tensor(self, x):
        return super().tensor(x).bfloat16()

    def prepare(self, *args):
        p = super().prepare(*args)
        p.result = lambda: None
        return p


class Torch(Peer):
    """torch.sparse. A weight that learns goes by torch.sparse.mm, whose gradient alone is sparse."""

    index = "int64"
    of_input = ("csr",)

    def of_weight(self, a):
        block = block_of(a)
        return ["csr", "linear", *([f"bsr{block}"] if block else [])]

    def sparse(self, a, variant="csr"):
        t, index = self.torch, getattr(self.torch, self.index)
        if variant.startswith("bsr"):
            b = a.tobsr((int(variant[3:]),) * 2)
            make, a = t.sparse_bsr_tensor, b
        else:
            make = t.sparse_csr_tensor
        return make(t.from_numpy(a.indptr).to(index), t.from_numpy(a.indices).to(index), self.tensor(a.data), a.shape)

    def forward(self, a, x, g, variant):
        weight = self.sparse(a, variant)
        if variant == "linear":
            return plain(lambda: self.torch.nn.functional.linear(x, weight))
        return plain(lambda: (weight @ x.T).T)

    def dx(self, a, x, g, variant):
        if variant == "linear":
            raise LookupError("autograd makes a dense gradient of the weight too")
        weight = self.sparse(a.T.tocsr(), variant)  # a transposed copy from before
        return plain(lambda: (weight @ g.T).T)

    def dw(self, a, x, g, variant):
        if variant != "csr":
            raise LookupError("has no product sampled by such a pattern")
        weight = self.sparse(a)
        return plain(lambda: self.torch.sparse.sampled_addmm(weight, g.T, x, beta=0), lambda c: c.values().numpy())

    def layer(self, a, variant):  # of a step
        if variant != "csr":
            raise LookupError("torch.sparse.mm takes COO and CSR")
        weight = self.sparse(a).requires_grad_()
        return Layer(
            lambda x: self.torch.sparse.mm(weight, x.T).T, weight, lambda g: g.to_sparse_csr().values().numpy()
        )

    def input(self, a, w, variant):
        x = self.sparse(a)
        return lambda: x @ w.T


class Torch32(Torch):
    """With the indices that MKL takes, which torch is built with."""

    index = "int32"


class MKL(Peer):
    """mkl_sparse_s_mm, which takes columns of x: turned before, as is the weight of the gradient of x."""

    def __init__(self, threads):
        from strata._timing.mkl import MKL

        super().__init__(threads)
        self.products = MKL(threads)

    def of_weight(self, a):
        return ["csr", "csr hinted"]

    def product(self, a, x, variant):
        p = self.products.prepare(None, a, np.ascontiguousarray(x.numpy().T), variant)
        p.keep, result = self.products.keep, p.result  # which its next handle forgets
        p.result = lambda: result().T
        return p

    def forward(self, a, x, g, variant):
        return self.product(a, x, variant)

    def dx(self, a, x, g, variant):
        return self.product(a.T.tocsr(), g, variant)

    def layer(self, a, variant):
        raise LookupError("has no sampled product")


class SparseLab(Peer):
    """Its SparseLinear; single gradients by its kernels, as autograd computes both whatever is asked for."""

    def __init__(self, threads):
        super().__init__(threads)
        os.environ["OMP_NUM_THREADS"] = str(threads)
        import sparselab

        self.lab = sparselab

    def padded(self, a):
        return self.lab.PaddedCSR.from_dense(self.tensor(a.toarray()))

    def layer(self, a, variant):
        t, csr = self.torch, self.padded(a)
        layer = self.lab.SparseLinear(a.shape[1], a.shape[0], bias=False, sparsity=0.99)
        layer._csr, layer._values = csr, t.nn.Parameter(t.from_numpy(np.asarray(csr.values)))
        numbered = a.copy()
        numbered.data = np.arange(1, a.nnz + 1, dtype=np.float32)
        slots = np.asarray(self.padded(numbered).values)
        order = np.argsort(slots[slots > 0])
        return Layer(layer, layer._values, lambda g: g.detach().numpy()[slots > 0][order])

    def dx(self, a, x, g, variant):
        from sparselab import _core, layout

        turned = layout.transpose(self.padded(a))
        return plain(lambda: self.torch.from_numpy(_core.spmm_simd(turned, g.T.contiguous().numpy())).T)

    def dw(self, a, x, g, variant):
        from sparselab import _core

        layer = self.layer(a, variant)
        columns = lambda v: v.T.contiguous().numpy()
        run = lambda: self.torch.from_numpy(_core.spmm_grad_w_simd(layer.call._csr, columns(g), columns(x)))
        return plain(run, layer.stored)


def block_of(a):
    """32 or 16 where the matrix is of such blocks, all full; else 0."""
    for b in (32, 16):
        if a.nnz % (b * b) == 0 and not any(n % b for n in a.shape):
            blocks = np.unique(coordinates(a)[0] // b * a.shape[1] + a.indices // b)
            if len(blocks) * b * b == a.nnz:
                return b
    return 0


#: name: (class, package on PyPI)
PEERS = {
    "strata": (Strata, "strata"),
    "dense": (Dense, "torch"),
    "bf16": (BFloat16, "torch"),
    "torch": (Torch, "torch"),
    "torch-int32": (Torch32, "torch"),
    "mkl": (MKL, "mkl"),
    "sparselab": (SparseLab, "sparselab"),
}
