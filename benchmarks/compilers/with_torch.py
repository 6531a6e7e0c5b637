"""torch.sparse on CSR with indices of 32 bits (MKL)."""

import warnings

import torch

warnings.filterwarnings("ignore")


def torchs(a):
    if hasattr(a, "indptr"):
        return torch.sparse_csr_tensor(
            torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data), a.shape
        )
    return torch.from_numpy(a)


def calls(task):
    if task.name.startswith("MTTKRP"):
        raise NotImplementedError("torch's CSR has two dimensions")
    a, *others = map(torchs, task.operands.values())
    if task.name.startswith("SDDMM"):
        x, b = others
        run = lambda: torch.sparse.sampled_addmm(
            a, x, b.T, beta=0
        )  # the product alone: the mask's values are not in it
        yield "sampled_addmm", run, lambda result: result.values() * a.values()
    else:
        run = (lambda: a + others[0]) if "+" in task.text else (lambda: a @ others[0])
        yield "csr", run, lambda result: result.values() if result.layout == torch.sparse_csr else result
