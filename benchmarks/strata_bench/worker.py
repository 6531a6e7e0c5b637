"""A worker of the benchmarks (see strata._timing.worker): products and conversions, the named kernels, or layers.

python -m strata_bench.worker matrices|kernels|layers|charts|calls|memory|limits LIBRARY THREADS < requests
"""

import importlib.metadata
import os
import resource
import sys
import time

import numpy as np

from strata._timing.worker import Worker, serve

from . import calls as small_calls, peers
from .charts.worker import ChartWorker
from .kernels import cases, peer as kernel_peers
from .layers import cases as layer_cases, memory as layer_memory, peers as layer_peers


def products(name, threads):
    return Worker(peers.Peer(name, threads), peers.case), {"ready": True}


def kernels(name, threads):
    # A library that wants it all gets a MemoryError, not the machine.
    half = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    resource.setrlimit(resource.RLIMIT_DATA, (half, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    worker = Worker(kernel_peers.kernel_peer(name, threads), cases.KernelCase, cases.fingerprint)
    return worker, {"ready": True, "version": version(kernel_peers.PEERS[name][2])}


def layers(name, threads):
    peer, package = layer_peers.PEERS[name]
    return Worker(peer(threads), layer_cases.LayerCase), {"ready": True, "version": version(package)}


def charts(name, threads):
    return ChartWorker(name, threads), {"ready": True}


def calls(name, threads):
    return Worker(small_calls.Peer(threads), small_calls.Call), {"ready": True}


def memory(name, threads):
    return None, layer_memory.peak(name, threads)


def version(package):
    """Of the library behind a peer."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not from PyPI"


def limits(*_):
    """Read bandwidth: a dot product of 512 MB, best of ten (BLAS threads are set by the environment)."""
    x = np.ones(32 << 20)
    y = np.ones(32 << 20)
    best = 1e9
    for _ in range(10):
        start = time.perf_counter()
        np.dot(x, y)
        best = min(best, time.perf_counter() - start)
    return None, {"read_bandwidth": 2 * x.nbytes / best}


if __name__ == "__main__":
    what, library, threads = sys.argv[1:]
    start = {
        "matrices": products,
        "kernels": kernels,
        "layers": layers,
        "charts": charts,
        "calls": calls,
        "memory": memory,
        "limits": limits,
    }[what]
    serve(lambda: start(library, int(threads)))
