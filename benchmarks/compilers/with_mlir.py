"""MLIR's sparsifier: extents known when it compiles, operands handed over as they lie, with and without vectors; one thread, for its
pipeline has no other. Debian: apt-get install mlir-19-tools clang-19.

Sparse results are assembled while the clock runs, and freed behind it.
"""

import ctypes
import pathlib
import subprocess
import tempfile

import numpy as np

FORMATS = {
    "csr": ("d0, d1", "d0 : dense, d1 : compressed"),
    "csf": ("d0, d1, d2", "d0 : compressed, d1 : compressed, d2 : compressed"),
}
KINDS = {"f": np.float32, "i": np.int32}


def memref(rank):
    class Memref(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p), ("offset", ctypes.c_int64)]
        _fields_ += [("sizes", ctypes.c_int64 * rank), ("strides", ctypes.c_int64 * rank)]

        def array(self, kind):
            return np.ctypeslib.as_array(ctypes.cast(self.aligned, ctypes.POINTER(kind)), (self.sizes[0],))

    return Memref


def of_array(a):
    strides = [s // a.itemsize for s in a.strides]
    return memref(a.ndim)(
        a.ctypes.data, a.ctypes.data, 0, (ctypes.c_int64 * a.ndim)(*a.shape), (ctypes.c_int64 * a.ndim)(*strides)
    )


def tensor(shape, encoding=""):
    return f"tensor<{'x'.join(map(str, shape))}xf32{', #' + encoding if encoding else ''}>"


def accesses(text):
    """[(letter, indices)], the result's first."""
    parts = text.replace("+", "*").replace("=", "*").replace(" ", "").split("*")
    return [(part[0], part[2:-1].split(",")) for part in parts]


def module(task):
    """(the text, the arrays that it takes)."""
    (_, free), *reads = accesses(task.text)
    every = list(dict.fromkeys([i for _, indices in reads for i in indices]))
    if task.name.startswith("SpGEMM") or task.name.startswith("SpMM"):
        every = ["i", "j", "k"]
    parameters, opened, types, arrays = [], [], [], []
    for letter, _ in reads:
        a = task.operands[letter]
        if isinstance(a, np.ndarray):
            parameters.append(f"%{letter} : {tensor(a.shape)}")
            types.append(tensor(a.shape))
            arrays.append(a)
            continue
        encoding, levels = ("csf", a.csf()) if hasattr(a, "csf") else ("csr", [(a.indptr, a.indices)])
        names = [f"%{letter}{n}" for n in range(2 * len(levels))]
        parameters += [f"{name} : tensor<?xi32>" for name in names] + [f"%{letter}v : tensor<?xf32>"]
        arrays += [array for level in levels for array in level] + [a.data]
        types.append(tensor(a.shape, encoding))
        opened.append(
            f"%{letter} = sparse_tensor.assemble ({', '.join(names)}), %{letter}v : "
            f"({', '.join(['tensor<?xi32>'] * len(names))}), tensor<?xf32> to {types[-1]}"
        )
    result = tensor(task.result, "csr" if task.sparse else "")
    maps = ", ".join(
        f"affine_map<({', '.join(every)}) -> ({', '.join(indices)})>" for _, indices in [*reads, ("", free)]
    )
    kinds = ", ".join('"parallel"' if i in free else '"reduction"' for i in every)
    body, last = [], "%a0"
    for n in range(1, len(reads)):
        body.append(f"%m{n} = arith.{'addf' if '+' in task.text else 'mulf'} {last}, %a{n} : f32")
        last = f"%m{n}"
    if len(every) > len(free):
        body.append(f"%s = arith.addf %o, {last} : f32")
        last = "%s"
    if task.sparse:
        opened.append(f"%z = tensor.empty() : {result}")
        outs = ["memref<?xi32>", "memref<?xi32>", "memref<?xf32>"]
        closed = [
            f"%p = sparse_tensor.positions %r {{ level = 1 : index }} : {result} to memref<?xi32>",
            f"%c = sparse_tensor.coordinates %r {{ level = 1 : index }} : {result} to memref<?xi32>",
            f"%v = sparse_tensor.values %r : {result} to memref<?xf32>",
            f"return %p, %c, %v : {', '.join(outs)}",
        ]
    else:
        place = result.replace("tensor", "memref")
        parameters.append(f"%out : {place}")
        opened += [
            f"%o0 = bufferization.to_tensor %out restrict writable : {place}",
            "%zero = arith.constant 0.0 : f32",
            f"%z = linalg.fill ins(%zero : f32) outs(%o0 : {result}) -> {result}",
        ]
        outs, closed = (
            [],
            [
                f"bufferization.materialize_in_destination %r in restrict writable %out : ({result}, {place}) -> ()",
                "return",
            ],
        )
    lines = [
        *(
            f"#{name} = #sparse_tensor.encoding<{{ map = ({of}) -> ({to}), posWidth = 32, crdWidth = 32 }}>"
            for name, (of, to) in FORMATS.items()
        ),
        f"func.func @kernel({', '.join(parameters)}) -> ({', '.join(outs)}) attributes {{llvm.emit_c_interface}} {{",
        *opened,
        f"%r = linalg.generic {{ indexing_maps = [{maps}], iterator_types = [{kinds}] }}",
        f"  ins({', '.join('%' + letter for letter, _ in reads)} : {', '.join(types)}) outs(%z : {result}) {{",
        f"  ^bb({', '.join(f'%a{n}: f32' for n in range(len(reads)))}, %o: f32):",
        *body,
        f"linalg.yield {last} : f32",
        f"}} -> {result}",
        *closed,
        "}",
    ]
    return "\n".join(lines), arrays


def built(text, vector, folder):
    stem = pathlib.Path(folder) / f"kernel{vector}"
    stem.with_suffix(".mlir").write_text(text)
    options = f"enable-runtime-library=false create-sparse-deallocs=false enable-index-optimizations=true vl={vector} reassociate-fp-reductions={'true' if vector else 'false'}"
    for command in (
        ["mlir-opt-19", f"{stem}.mlir", f"--sparsifier={options}", "-o", f"{stem}.low"],
        ["mlir-translate-19", "--mlir-to-llvmir", f"{stem}.low", "-o", f"{stem}.ll"],
        [
            "clang-19",
            "-O3",
            "-march=native",
            "-ffast-math",
            "-shared",
            "-fPIC",
            "-w",
            f"{stem}.ll",
            "-o",
            f"{stem}.so",
            "-lm",
        ],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{command[0]}: " + " ".join(done.stderr.split())[:300])
    return ctypes.CDLL(f"{stem}.so")._mlir_ciface_kernel


class Result:
    """What came back; a sparse result's arrays go with it."""

    libc = ctypes.CDLL(None)
    libc.free.argtypes = [ctypes.c_void_p]

    def __init__(self):
        one = memref(1)
        self.c = type("Three", (ctypes.Structure,), {"_fields_": [("pos", one), ("crd", one), ("values", one)]})()

    def values(self):
        count = int(self.c.pos.array(ctypes.c_int32)[-1])
        return self.c.values.array(ctypes.c_float)[:count]

    def __del__(self):
        for part in (self.c.pos, self.c.crd, self.c.values):
            self.libc.free(part.allocated)


def calls(task):
    text, arrays = module(task)
    handed = [(of_array(a), a) for a in arrays]  # live as long as the calls
    with tempfile.TemporaryDirectory() as folder:
        for vector in (0, 16):
            try:
                run = built(text, vector, folder)
            except RuntimeError:
                if not vector:
                    raise
                continue  # what it cannot make vectors of
            yield f"vl={vector}", *caller(run, handed, task)


def caller(run, handed, task):
    def sparse():
        result = Result()
        run(ctypes.byref(result.c), *(ctypes.byref(m) for m, _ in handed))
        return result

    if task.sparse:
        return sparse, Result.values
    out = np.empty(task.result, np.float32)
    given = of_array(out)

    def dense():
        run(*(ctypes.byref(m) for m, _ in handed), ctypes.byref(given))
        return out

    return dense, lambda values: values
