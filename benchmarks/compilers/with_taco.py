"""TACO: its command-line tool writes C, the C compiler builds it with TACO's flags and with -march=native, with and without a schedule.

$TACO is the tool (https://github.com/tensor-compiler/taco, built with -DCMAKE_BUILD_TYPE=Release -DOPENMP=ON); else `taco` is looked
for. Dense results are allocated before the clock starts; sparse ones are assembled in it, and freed behind it.
"""

import ctypes
import os
import pathlib
import subprocess
import tempfile

import numpy as np
from tasks import letters

TOOL, CC = os.environ.get("TACO", "taco"), os.environ.get("CC", "cc")
THREADS = int(os.environ["OMP_NUM_THREADS"])
FLAGS = {"as it is": [], "-march=native": ["-march=native"]}
LETTERS = "yxCXBADMT"
# What its authors' tests and papers use for these expressions.
THREADED = "split(i,i0,i1,16),{}parallelize(i0,CPUThread,NoRaces)"
SCHEDULES = {
    "SpMV": [THREADED.format("reorder(i0,i1,j),")],
    "SpMM": [
        "split(i,i0,i1,16),pos(j,jpos,A),split(jpos,jpos0,jpos1,8),reorder(i0,i1,jpos0,k,jpos1),"
        "parallelize(i0,CPUThread,NoRaces),parallelize(k,CPUVector,IgnoreRaces)",
        THREADED.format("reorder(i0,i1,j,k),"),
    ],
    "SDDMM": ["assemble(C,Insert)," + THREADED.format("")],
    "SpGEMM": ["reorder(i,j,k),precompute(A(i,j)*B(j,k),k,k),assemble(C,Insert),parallelize(i,CPUThread,NoRaces)"],
    "MTTKRP": ["precompute(T(i,j,k)*D(k,r),r,r),parallelize(i,CPUThread,NoRaces)"],
    "U + V": ["assemble(C,Insert),parallelize(i,CPUThread,NoRaces)"],
}
FASTER_ORDER = {"MTTKRP": "M(i,r) = T(i,j,k) * D(k,r) * C(j,r)"}  # the one whose inner sum can be computed first


class TacoTensor(ctypes.Structure):
    _fields_ = [
        ("order", ctypes.c_int32),
        ("dimensions", ctypes.POINTER(ctypes.c_int32)),
        ("csize", ctypes.c_int32),
        ("mode_ordering", ctypes.POINTER(ctypes.c_int32)),
        ("mode_types", ctypes.POINTER(ctypes.c_int)),
        ("indices", ctypes.POINTER(ctypes.POINTER(ctypes.c_void_p))),
        ("vals", ctypes.c_void_p),
        ("fill_value", ctypes.c_void_p),
        ("vals_size", ctypes.c_int32),
    ]


class Argument:
    """One tensor as TACO's C takes it. `levels` holds (pos, crd) of each dimension, None where it is dense."""

    def __init__(self, shape, levels, values):
        self.kept = [
            np.array(shape, np.int32),
            np.arange(len(shape), dtype=np.int32),
            np.array([level is not None for level in levels], np.intc),
        ]
        self.levels, self.values, self.fill = levels, values, np.zeros(1, np.float32)
        self.pointers = [
            (ctypes.c_void_p * 2)(*([a.ctypes.data if a is not None else None for a in level] if level else []))
            for level in levels
        ]
        self.table = (ctypes.POINTER(ctypes.c_void_p) * max(1, len(levels)))(
            *[ctypes.cast(p, ctypes.POINTER(ctypes.c_void_p)) for p in self.pointers]
        )
        at = lambda a, kind: a.ctypes.data_as(ctypes.POINTER(kind))
        self.c = TacoTensor(
            len(shape), at(self.kept[0], ctypes.c_int32), 4, at(self.kept[1], ctypes.c_int32), at(self.kept[2], ctypes.c_int),
            self.table, values.ctypes.data if values is not None else None, self.fill.ctypes.data, 0,
        )  # fmt: skip


def argument(a):
    if hasattr(a, "csf"):
        return Argument(a.shape, a.csf(), a.data)
    if hasattr(a, "indptr"):
        return Argument(a.shape, [None, (a.indptr, a.indices)], a.data)
    return Argument(a.shape, [None] * a.ndim, a)


class Result:
    """A sparse result: what TACO allocated for it goes when this goes."""

    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]

    def __init__(self, shape):
        self.rows = shape[0]
        self.argument = Argument(shape, [None, (None, None)], None)

    def values(self):
        pos = np.ctypeslib.as_array(
            ctypes.cast(self.argument.pointers[1][0], ctypes.POINTER(ctypes.c_int32)), (self.rows + 1,)
        )
        return np.ctypeslib.as_array(ctypes.cast(self.argument.c.vals, ctypes.POINTER(ctypes.c_float)), (int(pos[-1]),))

    def __del__(self):
        for p in (*self.argument.pointers[1], self.argument.c.vals):
            self.libc.free(p)


def built(task, text, schedule, flags, folder):
    """The library of one expression, one schedule and the flags of one build."""
    stem = pathlib.Path(folder) / str(len(list(pathlib.Path(folder).iterdir())))
    formats = [
        f"-f={letter}:{'sss' if hasattr(a, 'csf') else 'ds'}"
        for letter, a in task.operands.items()
        if not isinstance(a, np.ndarray)
    ]
    formats += [f"-f={text[0]}:ds"] if task.sparse else []
    options = [*formats, *(f"-t={letter}:float" for letter in LETTERS), *([f"-s={schedule}"] if schedule else [])]
    made = subprocess.run(
        [TOOL, text.replace(" ", ""), *options, f"-write-source={stem}.c", "-print-nocolor"],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        raise RuntimeError("taco: " + " ".join(made.stderr.split())[:300])
    subprocess.run(
        [
            CC,
            "-O3",
            "-ffast-math",
            "-std=c99",
            "-fopenmp",
            "-shared",
            "-fPIC",
            "-w",
            *flags,
            f"{stem}.c",
            "-o",
            f"{stem}.so",
            "-lm",
        ],
        check=True,
    )
    return ctypes.CDLL(f"{stem}.so")


def calls(task):
    kind = task.name if "+" in task.name else task.name.split()[0]
    gomp = ctypes.CDLL("libgomp.so.1")
    with tempfile.TemporaryDirectory() as folder:
        for schedule in ["", *SCHEDULES[kind]]:
            text = FASTER_ORDER.get(kind, task.text) if schedule else task.text
            operands = [argument(task.operands[letter]) for letter in letters(text)]
            for build, flags in FLAGS.items():
                library = built(task, text, schedule, flags, folder)
                for shares, number in (("static", 1), ("dynamic", 2))[:THREADS]:
                    way = f"{'scheduled' if schedule else 'default'}, {build}" + (f", {shares}" if THREADS > 1 else "")
                    yield way, *caller(library, gomp, number, operands, task)


def caller(library, gomp, shares, operands, task):
    pointers = lambda: [ctypes.byref(a.c) for a in operands]  # of what lives as long as the call

    def sparse():
        gomp.omp_set_schedule(shares, 16)
        result = Result(task.result)
        library.evaluate(ctypes.byref(result.argument.c), *pointers())
        return result

    if task.sparse:
        return sparse, Result.values
    out = np.empty(task.result, np.float32)
    result = argument(out)

    def dense():
        gomp.omp_set_schedule(shares, 16 if shares == 2 else 0)
        library.compute(ctypes.byref(result.c), *pointers())
        return out

    return dense, lambda values: values
