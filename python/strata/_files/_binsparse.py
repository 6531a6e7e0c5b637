"""The binsparse layout: a descriptor in JSON and named arrays, in an HDF5 group or a Zarr one.

Source: B. Brock et al., "Binary Sparse Format Specification", version 0.1, GraphBLAS, 2024.
"""

import re

import numpy as np

from .. import _core
from .._core import Format, Tensor
from ..errors import FileError, warn

_VERSION = "0.1.0"
_DENSE, _SPARSE = "dense", "sparse"

#: of a tensor's groups of levels [(kind, rank), ...] and its order of dimensions
_ALIASES = {
    "DVEC": ([(_DENSE, 1)], [0]),
    "DMATR": ([(_DENSE, 2)], [0, 1]),
    "DMATC": ([(_DENSE, 2)], [1, 0]),
    "CVEC": ([(_SPARSE, 1)], [0]),
    "CSR": ([(_DENSE, 1), (_SPARSE, 1)], [0, 1]),
    "CSC": ([(_DENSE, 1), (_SPARSE, 1)], [1, 0]),
    "DCSR": ([(_SPARSE, 1), (_SPARSE, 1)], [0, 1]),
    "DCSC": ([(_SPARSE, 1), (_SPARSE, 1)], [1, 0]),
    "COOR": ([(_SPARSE, 2)], [0, 1]),
    "COOC": ([(_SPARSE, 2)], [1, 0]),
}
_READ_AS = _ALIASES | {"DMAT": _ALIASES["DMATR"], "COO": _ALIASES["COOR"], "VEC": _ALIASES["CVEC"]}
_TYPES = {
    **{f"{k}int{b}": f"{k}int{b}" for k in ("", "u") for b in (8, 16, 32, 64)},
    "float32": "float32",
    "float64": "float64",
    "bint8": "bool",
}
_STRUCTURES = {
    f"{kind}_{half}": (kind, half)
    for kind in ("symmetric", "hermitian", "skew_symmetric")
    for half in ("lower", "upper")
}


# --- writing ---


def _groups(f):
    """([(kind, rank), ...], order of dimensions) of a format that the layout has, or None."""
    levels = f.levels if f.num_parts == 1 else []
    if len(levels) != f.rank or not f.rank or not (f.is_ordered and f.is_unique):
        return None
    dims = list(f.dims)
    if any(v.expr not in dims for v in levels):
        return None
    groups, k = [], 0
    while k < len(levels):
        n = 1
        if levels[k].kind == "dense":
            while k + n < len(levels) and levels[k + n].kind == "dense":
                n += 1
            groups.append((_DENSE, n))
        elif levels[k].kind == "compressed":
            while k + n < len(levels) and levels[k + n].kind == "singleton":
                n += 1
            if levels[k].unique != (n == 1):  # a list of coordinates has repeated ones in front
                return None
            groups.append((_SPARSE, n))
        else:
            return None
        k += n
    return groups, [dims.index(v.expr) for v in levels]


def _storable(t):
    """The tensor in a format that the layout has."""
    if t.ndim == 0:
        raise FileError("binsparse has no scalars", expected="a tensor of 1 dimension or more", fix="write a .st file")
    if not isinstance(t.dtype, np.dtype) or t.dtype == np.float16:
        raise FileError(
            f"binsparse has no dtype {t.dtype}", expected=", ".join(_TYPES), got=str(t.dtype), fix="t.to('float32')"
        )
    if t.format.is_all_dense and _groups(t.format):
        dense = _core.to_dense_tensor(t)
        return dense if dense.format == t.format else _core.convert(dense, t.format, zeros="keep")
    if _groups(t.format):
        return t
    target = Format("CSR") if t.ndim == 2 else Format("COO", t.ndim)
    warn(f"binsparse has no format {t.format.name or t.format}, so it is written as {target.name}")
    return t.to(target)


def _level(groups):
    below = {"level_desc": "element"}
    for kind, rank in reversed(groups):
        below = {"level_desc": kind, "rank": rank, "level": below}
    return below


def described(t):
    """(descriptor, {name: array}) of a tensor."""
    t = _storable(t)
    groups, order = _groups(t.format)
    arrays, types = {}, {}

    def put(name, array):
        array, wrap = np.asarray(array), "{}"
        if array.dtype.kind == "c":
            array, wrap = np.ascontiguousarray(array).view(array.real.dtype), "complex[{}]"
        kind = array.dtype.name
        if array.dtype == bool:
            array, kind = array.view(np.int8), "bint8"
        arrays[name], types[name] = array, wrap.format(kind)

    positions, depth = 1, 0
    for kind, rank in groups:
        if kind == _DENSE:
            for d in range(depth, depth + rank):
                positions *= t.shape[order[d]]
        else:
            pos = t.pos(depth)
            if depth:
                put(f"pointers_to_{depth}", pos[: positions + 1])
            positions = int(pos[positions])
            for d in range(depth, depth + rank):
                put(f"indices_{d}", t.crd(d)[:positions])
        depth += rank
    if t._shares_value and positions:
        put("values", t.values[:1])
        types["values"] = f"iso[{types['values']}]"
    else:
        put("values", t.values[:positions])
    descriptor = {"version": _VERSION, "shape": list(t.shape), "number_of_stored_values": positions}
    alias = next((name for name, known in _ALIASES.items() if known == (groups, order)), None)
    descriptor["format"] = alias or "custom"
    if alias is None:
        descriptor["custom"] = {"level": _level(groups)}
        if order != sorted(order):
            descriptor["custom"]["transpose"] = order
    fill = np.asarray(t.fill, t.dtype).reshape(1)
    if fill.tobytes() != bytes(fill.nbytes):
        descriptor["fill"] = True
        put("fill_value", fill)
    descriptor["data_types"] = types
    return {"binsparse": descriptor}, arrays


# --- reading ---


class _Descriptor:
    """The descriptor of a file, checked as it is asked."""

    def __init__(self, where, value):
        # Some older files lack the outer key.
        if isinstance(value, dict) and isinstance(value.get("binsparse"), dict):
            value = value["binsparse"]
        self.where, self.value = where, value
        if not isinstance(value, dict):
            self.fail("the descriptor is no object of JSON", got=type(value).__name__)
        version = str(self.ask("version", (str, float, int)))
        if not re.fullmatch(r"0\.1(\.\d+)?|1\.0(\.\d+)?", version):
            self.fail("a version of binsparse that is not known here", expected="0.1", got=version)

    def fail(self, what, **more):
        raise FileError(f"{self.where}: {what}", **more)

    def ask(self, key, kind):
        if key not in self.value:
            self.fail(f"the descriptor lacks '{key}'", got=", ".join(map(str, self.value)))
        if not isinstance(self.value[key], kind) or isinstance(self.value[key], bool):
            self.fail(f"'{key}' in the descriptor is of another kind", got=repr(self.value[key])[:64])
        return self.value[key]

    def shape(self):
        shape = self.ask("shape", list)
        if not all(type(e) is int and 0 <= e < 2**63 for e in shape) or not 1 <= len(shape) <= 32:
            self.fail("'shape' is no shape", expected="1 to 32 integers from 0 on", got=repr(shape)[:64])
        return tuple(shape)

    def stored(self):
        n = self.ask("number_of_stored_values", int)
        if not 0 <= n < 2**63:
            self.fail("'number_of_stored_values' is no count", got=str(n))
        return n

    def levels(self, rank):
        """([(kind, rank), ...], order of dimensions)."""
        format = self.value.get("format")
        if isinstance(format, dict):  # an older spelling
            custom, format = format, "custom"
        else:
            format = self.ask("format", str)
            custom = self.value.get("custom")
        if format != "custom":
            if format not in _READ_AS:
                self.fail("no format of binsparse", expected=", ".join([*_READ_AS, "custom"]), got=format[:64])
            groups, order = _READ_AS[format]
        else:
            groups, order = self.custom(custom)
            order = list(range(rank)) if order is None else order
        if sum(n for _, n in groups) != rank or sorted(order) != list(range(rank)):
            self.fail("the levels do not fit the shape", expected=f"{rank} dimensions", got=f"{groups}, order {order}")
        return groups, order

    def custom(self, custom):
        if not isinstance(custom, dict) or not isinstance(custom.get("level"), dict):
            self.fail("a custom format lacks 'level'")
        order = custom.get("transpose")
        if order is not None and not (isinstance(order, list) and all(type(d) is int for d in order)):
            self.fail("'transpose' is no list of dimensions", got=repr(order)[:64])
        groups, level = [], custom["level"]
        while True:
            kind = level.get("level_desc", level.get("level_kind"))
            if kind == "element":
                break
            n, below = level.get("rank", 1), level.get("level")
            if kind not in (_DENSE, _SPARSE) or type(n) is not int or not 1 <= n <= 32 or not isinstance(below, dict):
                self.fail(
                    "a level that is none", expected="dense or sparse, of a rank, above another", got=repr(kind)[:64]
                )
            if kind == _DENSE and groups and groups[-1][0] == _DENSE:
                n += groups.pop()[1]
            groups.append((kind, n))
            if sum(n for _, n in groups) > 32:
                self.fail("more levels than a tensor has dimensions here", expected="at most 32")
            level = below
        return groups, order

    def array(self, name, get):
        """(the array in its own dtype, does one value stand for all?). `get(name)` gives the stored one."""
        types = self.ask("data_types", dict)
        told = types.get(name)
        if not isinstance(told, str):
            self.fail(f"'data_types' lacks '{name}'")
        iso = re.fullmatch(r"iso\[(.*)\]", told)
        kind = iso[1] if iso else told
        pair = re.fullmatch(r"complex\[(float32|float64)\]", kind)
        plain = pair[1] if pair else kind
        if plain not in _TYPES:
            self.fail(f"array '{name}' has a type that is not known", expected=", ".join(_TYPES), got=told[:64])
        array = get(name)
        wanted = np.dtype(_TYPES[plain])
        if array.ndim != 1 or array.dtype.kind not in "biuf":
            self.fail(f"array '{name}' is no list of numbers", got=f"{array.dtype}, shape {array.shape}")
        if plain == "bint8":
            if array.dtype != bool and not np.isin(array, (0, 1)).all():
                self.fail(f"array '{name}' holds a truth value that is neither 0 nor 1")
            array = array.astype(bool)
        elif array.dtype != wanted:
            self.fail(
                f"array '{name}' is of another type than the descriptor says", expected=told, got=str(array.dtype)
            )
        if pair:
            if len(array) % 2:
                self.fail(f"array '{name}' lacks an imaginary part", expected="an even length", got=str(len(array)))
            array = np.ascontiguousarray(array).view(f"complex{16 * wanted.itemsize}")
        if iso and len(array) != 1:
            self.fail(f"array '{name}' is one value for all", expected="1 element", got=str(len(array)))
        return array, bool(iso)


def tensor(where, value, get):
    """The tensor of a descriptor, whose arrays `get(name)` gives. `where` it is, for messages."""
    d = _Descriptor(where, value)
    shape, stored = d.shape(), d.stored()
    groups, order = d.levels(len(shape))
    levels, pos, crd = [], {}, {}
    depth = 0
    for kind, n in groups:
        for k in range(depth, depth + n):
            if kind == _DENSE:
                type = "dense"
            else:
                first, last = k == depth, k == depth + n - 1
                type = ("compressed" if first else "singleton") + ("(nonunique)" if first and not last else "")
                crd[k], iso = d.array(f"indices_{k}", get)
                if iso:
                    d.fail(f"array 'indices_{k}' is one value for all")
            levels.append(f"d{order[k]}: {type}")
        if kind == _SPARSE and depth:
            pos[depth], _ = d.array(f"pointers_to_{depth}", get)
        depth += n
    if groups[0][0] == _SPARSE:
        n = len(crd[0])
        index = pos[min(pos)].dtype if pos else crd[0].dtype
        pos[0] = np.array([0, n], index if index.kind in "iu" and n <= np.iinfo(index).max else np.int64)
    values, iso = d.array("values", get)
    if iso:
        values = np.broadcast_to(values, (max(stored, 1),))[:stored]
    if len(values) != stored:
        d.fail("another number of values than the descriptor says", expected=str(stored), got=str(len(values)))
    fill = None
    if d.value.get("fill") is True:
        filler, _ = d.array("fill_value", get)
        if len(filler) != 1 or filler.dtype != values.dtype:
            d.fail("'fill_value' is one element of the values' type", got=f"{len(filler)} of {filler.dtype}")
        fill = filler[0]
    text = f"({', '.join(f'd{k}' for k in range(len(shape)))}) -> ({', '.join(levels)})"
    for arrays in (pos, crd):
        one = {a.dtype for a in arrays.values()}
        if len(one) > 1:  # of two types, as C libraries write them: the wider one
            for k, a in arrays.items():
                arrays[k] = (
                    a.astype(np.int64, copy=False) if a.dtype != np.uint64 or not len(a) or a.max() < 2**63 else a
                )
    if iso and stored and all(kind == _DENSE for kind, _ in groups):
        values = np.array(values)
    t = Tensor(text, shape, pos=pos, crd=crd, values=values, fill=fill)
    if t.nse != stored:
        d.fail("another number of elements than the descriptor says", expected=str(stored), got=str(t.nse))
    structure = d.value.get("structure")
    if structure is None or structure == "general":
        return t
    return _both_halves(d, t, structure)


def _both_halves(d, t, structure):
    """The whole of a matrix of which one triangle is stored."""
    if structure not in _STRUCTURES or t.ndim != 2 or t.shape[0] != t.shape[1]:
        d.fail(
            "no structure of binsparse, or no square matrix", expected=", ".join(_STRUCTURES), got=str(structure)[:64]
        )
    kind, half = _STRUCTURES[structure]
    coo = t.to("COO", zeros="keep")
    n = coo.nse
    i, j, v = coo.crd(0)[:n], coo.crd(1)[:n], coo.values[:n]
    if ((i < j) if half == "lower" else (i > j)).any():
        d.fail(f"an element outside of the {half} triangle", expected=structure)
    apart = i != j
    other = v[apart]
    other = -other if kind == "skew_symmetric" else other.conj() if kind == "hermitian" else other
    from .._create import from_coo

    coords = (np.concatenate([i, j[apart]]), np.concatenate([j, i[apart]]))
    return from_coo(coords, np.concatenate([v, other]), t.shape, t.format)


def facts(name, value):
    """What a descriptor says, for `strata info`."""
    d = _Descriptor(name, value)
    told = d.value.get("data_types")
    return {
        "name": name,
        "format": f"binsparse {d.value.get('format')}",
        "shape": list(d.shape()),
        "dtype": str(told.get("values", "") if isinstance(told, dict) else ""),
        "stored": d.stored(),
    }
