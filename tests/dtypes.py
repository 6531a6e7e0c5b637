"""Names of dtypes that tests run over."""

# What NumPy and torch both have. Random tests draw from it: another order would change what their seeds mean.
COMMON = ["float64", "float32", "float16", "int8", "int16", "int32", "int64"]
COMMON += ["uint8", "bool", "complex64", "complex128"]
NUMPY = [*COMMON, "uint16", "uint32", "uint64"]
TORCH = [*COMMON, "bfloat16"]
