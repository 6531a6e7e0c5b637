"""Starts the workers of the benchmarks."""

import pathlib

from strata._timing.measure import Pool, Process

HERE = {"path": pathlib.Path(__file__).resolve().parents[1]}


def pool(what, pythons=None):
    """Of "matrices", "kernels" or "layers"; `pythons`: {library: interpreter} where it is not this one."""
    return Pool(("strata_bench.worker", what), pythons=pythons, **HERE)


def limits(threads):
    """What the machine can do, measured now."""
    out = {}
    for n in threads:
        p = Process("machine", n, ("strata_bench.worker", "limits"), **HERE)
        out[str(n)] = p.first
        p.end()
    return out


def memory(peers, threads, pythons):
    """{library: {"peak": bytes, or "error"}} of training a layer, each in a process of its own."""
    out = {}
    for name in peers:
        p = Process(name, threads, ("strata_bench.worker", "memory"), python=pythons.get(name), **HERE)
        out[name] = p.first
        p.end()
    return out
