"""What the tests of t[...] index: arrays, and the formats and dtypes that they are stored in."""

FORMATS = (
    "CSR",
    "CSC",
    "COO",
    "DCSR",
    "DIA",
    "DIAI",
    "BSR(2, 3)",
    "ELL",
    "Delta(4)",
    "Bitmap",
    "BSR(2, 2) + COO",
    "(i, j) -> (i: dense, j: dense)",
)
DTYPES = ("float64", "float32", "int8", "bool", "complex64")


def array(r, shape, dtype, density=0.3):
    a = r.integers(1, 9, shape) * (r.random(shape) < density)
    return (a * (1 + 1j) if dtype == "complex64" else a).astype(dtype)
