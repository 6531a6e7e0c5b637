"""What applications do most, beside everyone who can do it here: a graph's mean over neighbours, a layer with a pruned weight, a
recommender's scores, an output that is pruned.

    python benchmarks/applications.py                   # with one thread, and two
    python benchmarks/applications.py --only graph --rounds 5
    python benchmarks/applications.py --processor       # processor time, on one thread: for machines with other work

Peers that are not installed are left out (docs/model-sparsity.md says who cannot be). Everyone is timed in turn, round after round; a
line says the least time of each and the median of the ratios of all rounds. Results are compared before.
"""

import argparse
import importlib
import statistics
import time
import warnings

import torch
import torch.nn.functional as F

import strata as st
import strata.torch as stt

warnings.filterwarnings("ignore")


def optional(name):
    try:
        return importlib.import_module(name)
    except Exception:  # whatever it lacks here
        return None


def graph(nodes=10_000, edges=200_000, features=64):
    """Y = the mean of the neighbours' features: forward."""
    flat = torch.randperm(nodes * nodes)[:edges] if nodes <= 1000 else torch.randint(nodes * nodes, (edges,)).unique()
    index, x = torch.stack([flat // nodes, flat % nodes]), torch.randn(nodes, features)
    ones = torch.ones(len(flat))
    there = torch.sparse_coo_tensor(index, ones, (nodes, nodes)).coalesce().to_sparse_csr()
    count = torch.bincount(index[0], minlength=nodes).clamp(min=1)[:, None]
    A = stt.from_torch(there)
    yield "strata", lambda: stt.spmm(A, x, reduce="mean")
    yield "torch.sparse", lambda: (there @ x) / count
    yield "torch.sparse, reduce", lambda: torch.sparse.mm(there, x, "mean")
    if optional("torch_geometric"):
        from torch_geometric.utils import spmm

        yield "PyG", lambda: spmm(there, x, "mean")
    jax = optional("jax")
    if jax:
        from jax.experimental import sparse

        B = sparse.BCSR.from_bcoo(sparse.BCOO((ones.numpy(), index.t().numpy()), shape=(nodes, nodes)).sort_indices())
        z, n = jax.numpy.asarray(x.numpy()), jax.numpy.asarray(count.numpy())
        f = jax.jit(lambda B, z: (B @ z) / n)
        yield "jax.sparse", lambda: torch.from_dlpack(f(B, z).block_until_ready())
    tf = optional("tensorflow")
    if tf:
        C = tf.sparse.SparseTensor(index.t().numpy(), ones.numpy(), (nodes, nodes))
        t, m = tf.constant(x.numpy()), tf.constant(count.numpy(), tf.float32)
        yield "tf.sparse", lambda: torch.from_numpy((tf.sparse.sparse_dense_matmul(C, t) / m).numpy())


def network(nodes=10_000, edges=200_000, features=128, hidden=64, classes=8):
    """A graph network's step: two layers, each the mean over neighbours, and the gradients of both weights."""
    flat = torch.randint(nodes * nodes, (edges,)).unique()
    index, x = torch.stack([flat // nodes, flat % nodes]), torch.randn(nodes, features)
    w1, w2 = torch.randn(features, hidden, requires_grad=True), torch.randn(hidden, classes, requires_grad=True)
    labels = torch.randint(classes, (nodes,))
    there = torch.sparse_coo_tensor(index, torch.ones(len(flat)), (nodes, nodes)).coalesce().to_sparse_csr()
    mean = 1 / torch.bincount(index[0], minlength=nodes).clamp(min=1)[index[0]]
    scaled = torch.sparse_coo_tensor(index, mean, (nodes, nodes)).coalesce().to_sparse_csr()

    def step(means):
        def run():
            y = means(torch.relu(means(x @ w1)) @ w2)
            return torch.autograd.grad(F.cross_entropy(y, labels), (w1, w2))[0]

        return run

    A = stt.from_torch(there)
    yield "strata", step(lambda h: stt.spmm(A, h, reduce="mean"))
    yield "torch.sparse, means in the matrix", step(lambda h: scaled @ h)
    yield "torch.sparse, reduce", step(lambda h: torch.sparse.mm(there, h, "mean"))
    if optional("torch_geometric"):
        from torch_geometric.utils import spmm

        yield "PyG", step(lambda h: spmm(there, h, "mean"))


def layer(train, inputs=1024, outputs=1024, batch=256, density=0.1):
    """y = x @ W.T + b of a weight of which a tenth stays; `train`: with the gradients of x, of what is stored, and of b."""
    w = torch.randn(outputs, inputs)
    mask = stt.Magnitude(density)(w)
    pruned, b = torch.where(mask, w, 0), torch.zeros(outputs, requires_grad=True)
    x = torch.randn(batch, inputs, requires_grad=True)
    g = torch.randn(batch, outputs)

    def call(f, *weights):
        if not train:
            return lambda: _without(f)
        return lambda: torch.autograd.grad(f(), (x, *weights, b), g)[0]

    A = stt.from_torch(pruned).requires_grad_()
    yield "strata", call(lambda: F.linear(x, A, b), A.values())
    dense = pruned.clone().requires_grad_()
    yield "torch, dense", call(lambda: F.linear(x, dense, b), dense)
    csr = pruned.to_sparse_csr().requires_grad_()
    yield "torch.sparse", call(lambda: torch.sparse.mm(csr, x.t()).t() + b, csr)
    sten = optional("sten")
    if sten and not train:  # its gradient of a CSR weight is None
        model = torch.nn.Sequential(torch.nn.Linear(inputs, outputs))
        model[0].weight.data, model[0].bias = pruned.clone(), torch.nn.Parameter(b.detach())
        builder = sten.SparsityBuilder()
        builder.set_weight("0.weight", out_format=sten.CsrTensor)
        theirs = builder.get_sparse_model(model)
        yield "STen", call(lambda: theirs(x))


def _without(f):
    with torch.no_grad():
        return f()


def recommender(users=4_000, items=3_000, width=64, density=0.02):
    """Scores of what was bought, and no others: forward and both gradients."""
    bought = torch.rand(users, items) < density
    U, V = torch.randn(users, width, requires_grad=True), torch.randn(items, width, requires_grad=True)
    pattern = stt.patterns.from_mask(bought)
    user, item = bought.nonzero(as_tuple=True)
    grad = lambda f: lambda: torch.autograd.grad(f().square().mean(), (U, V))[0]  # noqa: E731
    yield "strata", grad(lambda: stt.sddmm(U, V, pattern).values())
    yield "torch, gathered", grad(lambda: (U[user] * V[item]).sum(1))
    yield "torch, dense", grad(lambda: (U @ V.t())[bought])


def pruned(rows=2048, columns=2048):
    """What a threshold leaves of a sum, in CSR: one pass, fused with the operator, beside three steps."""
    a, b = torch.randn(rows, columns), torch.randn(rows, columns)
    fmt = (stt.Threshold(2.5), "CSR", stt.KeepAll(), "CSR")
    add = stt.sten.sparsified_op(torch.add, [fmt])
    yield "strata", lambda: add(a, b)

    def steps():
        y = a + b
        return torch.where(y.abs() > 2.5, y, 0).to_sparse_csr()

    yield "torch, three steps", steps
    yield "strata, three steps", lambda: stt.from_torch(torch.where((a + b).abs() > 2.5, a + b, 0), "CSR")


JOBS = {
    "graph, mean over neighbours": graph,
    "graph network, training step": network,
    "pruned layer, forward": lambda: layer(False),
    "pruned layer, training step": lambda: layer(True),
    "recommender, scores and gradients": recommender,
    "add, then threshold, to CSR": pruned,
}


def seconds(f, clock):
    start = clock()
    f()
    return clock() - start


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=11)
    options.add_argument("--threads", default="1,2")
    options.add_argument("--only", default="", help="jobs whose names hold this")
    options.add_argument("--processor", action="store_true", help="processor time of one thread")
    options = options.parse_args()
    clock = time.thread_time if options.processor else time.perf_counter
    print("| job | who | ms | times ours |\n|---|---|---|---|")
    for threads in [1] if options.processor else map(int, options.threads.split(",")):
        torch.set_num_threads(threads)
        st.settings.threads = threads
        for name, job in JOBS.items():
            if options.only not in name:
                continue
            torch.manual_seed(0)
            entries = dict(job())
            want = entries["strata"]().detach().to_dense()
            for who, f in entries.items():
                torch.testing.assert_close(f().detach().to_dense(), want, rtol=1e-3, atol=1e-3)
            times = {who: [] for who in entries}
            for _ in range(options.rounds):
                for who, f in entries.items():
                    times[who].append(seconds(f, clock))
            for who, found in times.items():
                ratio = statistics.median(t / ours for t, ours in zip(found, times["strata"]))
                title = f"{name}, {threads} thread{'s' if threads > 1 else ''}"
                print(f"| {title} | {who} | {1e3 * min(found):.2f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
