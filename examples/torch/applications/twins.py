"""What the applications share: the same job twice, by Strata and by plain torch, compared and, with --time, timed."""

import sys
import time

import torch


def twins(name, ours, plain, *, small, rtol=1e-4, seconds=3):
    """Makes and runs both: AssertionError unless they return the same numbers, a result and gradients.

    ours, plain : functions of sizes, which make their inputs from the same seed and return a function without arguments.
    small : sizes for the check, and as time= those that are taken with --time: both run in turn then, for some seconds, and the
        line tells the best of each.
    """
    timed = "--time" in sys.argv[1:]
    big = small.pop("time")
    sizes = big if timed else small
    runs = []
    for make in (ours, plain):
        torch.manual_seed(0)
        runs.append(make(**sizes))
    found, want = (run() for run in runs)
    assert len(found) == len(want)
    for a, b in zip(found, want):
        torch.testing.assert_close(a, b, rtol=rtol, atol=rtol * max(float(b.abs().max()), 1e-3))
    line = f"{name}: plain torch's result and gradients"
    if timed:
        best, begin = [float("inf")] * 2, time.perf_counter()
        while time.perf_counter() - begin < seconds:
            for k, run in enumerate(runs):
                start = time.perf_counter()
                run()
                best[k] = min(best[k], time.perf_counter() - start)
        line += f"; {best[0] * 1e3:.2f} ms, torch {best[1] * 1e3:.2f} ms: {best[1] / best[0]:.2f} times as long"
    print(line)


def with_gradients(loss, *parameters):
    """(loss, the gradient of each parameter)"""
    return loss.detach(), *torch.autograd.grad(loss, parameters)
