"""The stored elements and what they choose of the dense operands, one number of each cache line, read in their order and not used."""

import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy as np

LINE = 16  # float32 in a cache line
C = """
#include <stdint.h>
static float read(int64_t begin, int64_t end, const int32_t* chosen, const float* values, const float* x, int64_t width) {
  float a = 0, b = 0, c = 0, d = 0;  /* so that no read waits for the addition before it */
  if (width == 1) {
    int64_t k = begin;
    for (; k + %(line)d <= end; k += %(line)d, a += values[k])
      for (int64_t q = k; q < k + %(line)d; q += 4) a += x[chosen[q]], b += x[chosen[q + 1]], c += x[chosen[q + 2]], d += x[chosen[q + 3]];
    for (; k < end; ++k) a += x[chosen[k]];
  } else {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t at = chosen[k] * width, stop = at + width; at < stop; at += %(line)d) a += x[at];
  }
  return a + b + c + d;
}
float lines(int64_t count, const int32_t* chosen, const float* values, const float* x, int64_t width, int threads) {
  float sum = 0;
#pragma omp parallel for num_threads(threads) reduction(+ : sum)
  for (int t = 0; t < threads; ++t) sum += read(count * t / threads, count * (t + 1) / threads, chosen, values, x, width);
  return sum;
}
"""


def chosen(task):
    """[(which rows of an array, the array)]."""
    first, *others = task.operands.values()
    kind = task.name.split()[0]
    if kind in ("SpMV", "SpMM", "SDDMM"):
        return [(first.indices, others[-1])]
    if kind == "MTTKRP":
        return [(np.ascontiguousarray(first.at[d]), a) for d, a in zip((1, 2), others)]
    raise NotImplementedError("no dense operand of which elements choose")


def calls(task):
    pairs, threads = chosen(task), int(os.environ["OMP_NUM_THREADS"])
    with tempfile.TemporaryDirectory() as folder:
        stem = pathlib.Path(folder) / "lines"
        stem.with_suffix(".c").write_text(C % {"line": LINE})
        flags = [
            "-O3",
            "-fno-tree-vectorize",
            "-march=native",
            "-fopenmp",
            "-shared",
            "-fPIC",
        ]  # gathers would be slower here
        subprocess.run([os.environ.get("CC", "cc"), *flags, f"{stem}.c", "-o", f"{stem}.so"], check=True)
        lines = ctypes.CDLL(f"{stem}.so").lines
    lines.restype = ctypes.c_float
    at = lambda a: ctypes.c_void_p(a.ctypes.data)
    values = next(iter(task.operands.values())).data
    arguments = [
        (
            ctypes.c_int64(len(rows)),
            at(rows),
            at(values),
            at(x),
            ctypes.c_int64(x.shape[1] if x.ndim == 2 else 1),
            threads,
        )
        for rows, x in pairs
    ]

    def run():
        for each in arguments:
            lines(*each)

    yield "lines", run, None
