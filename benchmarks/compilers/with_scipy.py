"""SciPy, on one thread whatever is asked."""

import numpy as np


def calls(task):
    operands = list(task.operands.values())
    if len(operands) != 2:
        raise NotImplementedError("SciPy has no such product")
    run = (lambda: operands[0] + operands[1]) if "+" in task.text else (lambda: operands[0] @ operands[1])
    yield "csr_matrix", run, lambda result: result if isinstance(result, np.ndarray) else result.data
