"""Scorch: its product of CSR, its einsum, its sum. Kernels that it has built ahead where it has one, else compiled at the first call."""

import numpy as np
import scorch
import torch


def scorchs(a, name, coordinates):
    if hasattr(a, "at"):
        return scorch.STensor.from_coo(
            indices=torch.from_numpy(a.at), values=torch.from_numpy(a.data), shape=a.shape, name=name
        )
    if not hasattr(a, "indptr"):
        return scorch.STensor.from_torch(torch.from_numpy(a), name)
    if coordinates:  # what its sampled product has a kernel for
        coo = a.tocoo()
        return scorch.STensor.from_coo(
            torch.sparse_coo_tensor(np.stack([coo.row, coo.col]), torch.from_numpy(a.data), a.shape), name=name
        )
    csr = torch.sparse_csr_tensor(
        torch.from_numpy(a.indptr), torch.from_numpy(a.indices), torch.from_numpy(a.data), a.shape
    )
    return scorch.STensor.from_csr(csr, name)


def values(result):
    return result if isinstance(result, torch.Tensor) else result.values


def calls(task):
    operands = [scorchs(a, letter, task.name.startswith("SDDMM")) for letter, a in task.operands.items()]
    if "+" in task.text:
        yield "sum", lambda: operands[0] + operands[1], values
    elif len(operands) == 2:
        yield "matmul", lambda: scorch.matmul(*operands), values
    elif task.name.startswith("SDDMM"):
        yield "einsum", lambda: scorch.einsum("ij,ik,jk->ij", *operands), values
    else:
        yield "einsum", lambda: scorch.einsum("ijk,jr,kr->ir", *operands, format="dd"), values
