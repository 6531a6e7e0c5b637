"""Random formats, shapes and expressions against NumPy. One seed is one case, and says everything about it.

Values are small integers (or NaN, Inf and -0.0 where nothing is added), so that every comparison is exact.
"""

import re

import numpy as np
from dtypes import COMMON
from own_levels import REGISTERED, with_own_levels

import strata as st

LETTERS = "ijklmnop"
STRUCTURED = 20_000_000  # seeds from here on draw structured levels too; those below give what they always gave
BLOCKED = 30_000_000  # ... and from here on results that are matrices are mostly in blocks
NESTED = 50_000_000  # ... and from here on reductions stand inside of products inside of reductions
ASKED = 60_000_000  # ... and from here on a dtype is asked for, and elements are stored several times


OF_DIMENSIONS = 400_000_000  # ... and from here on levels hold n of a dimension


def random_shape(rng, rank):
    """Extents 0 to 9, small mostly; block sizes rarely divide them."""
    return tuple(
        int(rng.choice([0, 1, 2, 3, 4, 5, 7, 9], p=[0.03, 0.07, 0.1, 0.2, 0.2, 0.15, 0.15, 0.1])) for _ in range(rank)
    )


def _expressions(rng, dims):
    """Level expressions of a random tree of splits and skews, in a random order that keeps quotients before
    remainders."""
    pieces = []
    skewed = None
    if len(dims) >= 2 and rng.random() < 0.15:
        a, b = rng.choice(len(dims), 2, replace=False)
        a, b = dims[a], dims[b]
        op = rng.choice(["+", "-"])
        pieces.append([(f"{a} {op} {b}", "skew"), (b, "range")])
        skewed = {a, b}
    for d in dims:
        if skewed and d in skewed:
            continue
        r = rng.random()
        if r < 0.62:
            pieces.append([(d, "plain")])
        elif r < 0.9:
            n = int(rng.choice([1, 2, 3, 4]))
            pieces.append([(f"{d} / {n}", "plain"), (f"{d} % {n}", f"mod{n}")])
        else:
            n, m = int(rng.choice([2, 3])), int(rng.choice([2, 3]))
            pieces.append(
                [(f"{d} / {n * m}", "plain"), (f"({d} % {n * m}) / {m}", "plain"), (f"({d} % {n * m}) % {m}", "plain")]
            )
    out = []
    while pieces:
        k = int(rng.integers(len(pieces)))
        out.append(pieces[k].pop(0))
        if not pieces[k]:
            pieces.pop(k)
    return out


def random_format(rng, rank, structured=False):
    """A text of a valid format of this rank. Every level type but batch and structured can appear; structured on
    request, since it holds only what fits: see thinned()."""
    if rank == 0:
        return "() -> ()"
    if rng.random() < 0.15:
        return str(st.Format("COO", rank)) if rng.random() < 0.6 else str(st.Format("CSF", rank))
    dims = [LETTERS[k] for k in range(rank)]
    if rank == 2 and rng.random() < 0.08:
        parts = [random_format(rng, 2) for _ in range(2)]
        if not any("+" in p.split("->")[1] and "): " in p for p in parts) and sum(p.count("->") for p in parts) <= 8:
            return " + ".join(parts)
    levels, seen_sparse = [], False
    expressions = _expressions(rng, dims)
    style = rng.random()
    for k, (e, role) in enumerate(expressions):
        if role == "range":
            levels.append(f"{e}: range")
            continue
        if role == "skew":
            levels.append(f"{e}: {rng.choice(['compressed', 'dense', 'compressed', 'bitmap'])}")
            continue
        if structured and role.startswith("mod") and rng.random() < 0.5:
            levels.append(f"{e}: structured({int(rng.integers(1, int(role[3:]) + 1))})")
            seen_sparse = True
            continue
        r = rng.random()
        if role.startswith("mod") and seen_sparse and r < 0.7:
            levels.append(f"{e}: dense")
            continue
        if style < 0.35:
            kind = "dense" if r < 0.5 else "compressed"
        else:
            kind = ("dense", "compressed", "bitmap", f"delta({int(rng.choice([1, 2, 3, 4, 5, 8]))})", "padded")[
                int(rng.choice(5, p=[0.4, 0.3, 0.1, 0.12, 0.08]))
            ]
        seen_sparse = seen_sparse or kind != "dense"
        levels.append(f"{e}: {kind}")
    return f"({', '.join(dims)}) -> ({', '.join(levels)})"


def with_n_of_dimensions(rng, text, shape):
    """The same format with some of its levels replaced by such that hold n of a dimension."""
    if text.count("->") > 1 or not text.startswith("("):
        return text

    def other(level):
        extent = shape[LETTERS.index(level.group(1))]
        if extent == 0 or rng.random() < 0.5:
            return level.group(0)
        return f"{level.group(1)}: structured({int(rng.integers(1, extent + 1))})"

    return re.sub(r"(?:(?<=\()|(?<=, ))([i-p]): (?:compressed|bitmap|padded|delta\(\d+\))(?!\()", other, text)


def random_blocks(rng):
    """Rows or columns of blocks, which are stored by rows or by columns."""
    outer, inner = ("i", "j") if rng.random() < 0.7 else ("j", "i")
    n = {d: int(rng.choice([1, 2, 3, 4, 7])) for d in "ij"}
    inside = [f"{d} % {n[d]} : dense" for d in ("ij" if rng.random() < 0.6 else "ji")]
    return f"(i, j) -> ({outer} / {n[outer]} : dense, {inner} / {n[inner]} : compressed, {', '.join(inside)})"


def random_dense(rng, shape, dtype, special=False):
    """A dense array with a random share of zeros. `special`: NaN, Inf and -0.0 appear too."""
    dtype = np.dtype(dtype)
    density = rng.choice([0.0, 0.05, 0.3, 0.7, 1.0], p=[0.05, 0.2, 0.45, 0.25, 0.05])
    a = rng.integers(1, 8, shape).astype(np.float64)
    if dtype.kind in "fci":
        a *= rng.choice([-1, 1], shape)
    if dtype.kind == "c":
        a = a + 1j * rng.integers(-4, 5, shape)
    a = np.where(rng.random(shape) < density, a, 0).astype(dtype)
    if special and dtype.kind == "f" and a.size:
        flat = a.reshape(-1)
        for value in (np.nan, np.inf, -0.0):
            if rng.random() < 0.3:
                flat[rng.integers(a.size)] = value
    return a


def doubled(array, kind):
    """A sparse tensor whose elements are sums of two: duplicates at the leaf, or above a unique level of this kind."""
    dims, rank = LETTERS[: array.ndim], array.ndim
    part = array if array.dtype.kind == "b" else np.where(array != 0, array - np.ones((), array.dtype), 0)
    rest = array if array.dtype.kind == "b" else array - part
    if kind == "leaf" or rank != 2:
        at = np.repeat(np.argwhere(array), 2, axis=0)
        levels = [f"{d}: {'singleton' if k else 'compressed'}(nonunique)" for k, d in enumerate(dims)]
        pos, crd = {0: [0, len(at)]}, {k: at[:, k] for k in range(rank)}
        values = np.stack([part[array != 0], rest[array != 0]], axis=1).reshape(-1)
    else:
        rows = np.flatnonzero(array.any(axis=1))
        levels = ["i: compressed(nonunique)", f"j: {kind}"]
        pos, crd = {0: [0, 2 * len(rows)]}, {0: np.repeat(rows, 2)}
        both = np.stack([part[rows], rest[rows]], axis=1).reshape(2 * len(rows), array.shape[1])
        stored = np.repeat(array[rows] != 0, 2, axis=0)
        if kind != "dense":
            pos[1], crd[1] = np.concatenate([[0], np.cumsum(stored.sum(axis=1))]), np.nonzero(stored)[1]
        values = both.reshape(-1) if kind == "dense" else both[stored]
    crd = {k: np.ascontiguousarray(c, np.int64) for k, c in crd.items()}
    return st.Tensor(f"({', '.join(dims)}) -> ({', '.join(levels)})", array.shape, pos=pos, crd=crd, values=values)


def thinned(array, text):
    """Zeros where the structured levels of this format have no room left for an element."""
    if "structured" not in text:
        return array
    dims, levels = (part[1:-1].split(", ") for part in text.split(" -> "))
    expressions, kinds = zip(*(level.split(": ") for level in levels))
    code = [compile(e.replace("/", "//"), text, "eval") for e in expressions]
    room = {k: int(kind[len("structured(") : -1]) for k, kind in enumerate(kinds) if "structured" in kind}
    out, held = array.copy(), {}
    for at in np.ndindex(array.shape):
        if not array[at].tobytes().strip(b"\0"):
            continue
        path = [eval(c, dict(zip(dims, at))) for c in code]
        groups = [(held.setdefault((k, *path[:k]), set()), path[k], n) for k, n in room.items()]
        if all(c in group or len(group) < n for group, c, n in groups):
            for group, c, _ in groups:
                group.add(c)
        else:
            out[at] = 0
    return out


def bits(a):
    """The array's bytes: equality tells -0.0 from 0.0 and NaN equals itself."""
    a = np.ascontiguousarray(a)
    return a.dtype, a.shape, a.tobytes()


def check_conversion(seed):
    """Dense -> A -> B -> dense: the same bits, valid tensors, and as many elements as there are."""
    rng = np.random.default_rng([1, seed])
    rank = int(rng.choice([0, 1, 2, 3, 4], p=[0.02, 0.13, 0.5, 0.25, 0.1]))
    shape = random_shape(rng, rank)
    dtype = str(rng.choice(COMMON))
    special = rng.random() < 0.3
    dense = random_dense(rng, shape, dtype, special)
    a_text, b_text = (random_format(rng, rank, structured=seed >= STRUCTURED) for _ in range(2))
    if seed >= REGISTERED:
        a_text, b_text = with_own_levels(rng, a_text), with_own_levels(rng, b_text)
    if seed >= OF_DIMENSIONS:
        a_text, b_text = (with_n_of_dimensions(rng, text, shape) for text in (a_text, b_text))
    dense = thinned(thinned(dense, a_text), b_text)
    case = f"seed {seed}: shape {shape}, {dtype}, {a_text}  ->  {b_text}"
    try:
        a = st.from_dense(dense, a_text, threshold=None)  # -0.0 stays
        a.validate()
        assert a.format.signature == st.Format(a_text).signature, "format of a"  # padded levels learn their width
        assert bits(a.to_dense()) == bits(dense), f"a differs:\n{a.to_dense()}\n{dense}"
        b = a.to(format=b_text)
        b.validate()
        stored = {id(a): dense, id(b): dense}
        # Formats with fill-in do not tell zeros that are stored from those that they add.
        drops = a.format.can_hold_fill and not b.format.is_all_dense and a.format != b.format
        if drops:
            stored[id(b)] = np.where(dense == 0, dense.dtype.type(0), dense)
        if drops and a.format.num_parts > 1:  # each part drops or keeps its own
            assert np.array_equal(b.to_dense(), dense, equal_nan=dense.dtype.kind in "fc"), "b differs"
            stored[id(b)] = b.to_dense()
        assert bits(b.to_dense()) == bits(stored[id(b)]), f"b differs:\n{b.to_dense()}\n{dense}"
        for t in (a, b):
            if t is b and drops and a.format.num_parts > 1:
                continue
            if not t.format.can_hold_fill and t.format.num_parts == 1:
                zero = np.zeros((), dense.dtype).tobytes()
                count = sum(1 for x in stored[id(t)].reshape(-1) if x.tobytes() != zero)
                assert t.nse == count, f"nse {t.nse}, {count} elements"
            if t.size <= 200:
                coords = [c for c, _ in t.items()]
                assert len(coords) == t.nse, "iteration"
                at = tuple(int(rng.integers(e)) for e in shape) if t.size else None
                if at is not None:
                    assert bits(np.asarray(t[at])) == bits(stored[id(t)][at]), f"t[{at}]"
        if rng.random() < 0.3:
            slow = st._core.convert(a, b_text, general=True)
            assert slow.equal(b, storage=True), "the general path gives another tensor"
        if rng.random() < 0.2:
            import pickle

            assert pickle.loads(pickle.dumps(b)).equal(b, storage=True), "pickle"
        if rng.random() < 0.2 and rank:
            perm = tuple(int(p) for p in rng.permutation(rank))
            assert bits(b.transpose(perm).to_dense()) == bits(np.transpose(stored[id(b)], perm)), f"transpose {perm}"
    except AssertionError as e:
        raise AssertionError(f"{case}: {e}") from None
    except Exception as e:
        raise AssertionError(f"{case}: {type(e).__name__}: {e}") from e


def _random_einsum(rng):
    """(spec, shapes): the first operand is the sparse one."""
    rank = int(rng.choice([1, 2, 3, 4], p=[0.12, 0.6, 0.2, 0.08]))
    count = int(rng.choice([0, 1, 2], p=[0.1, 0.7, 0.2]))
    extent = {
        c: int(rng.choice([0, 1, 2, 3, 4, 5, 7, 9], p=[0.02, 0.08, 0.15, 0.2, 0.2, 0.15, 0.1, 0.1])) for c in LETTERS
    }
    first = [str(c) for c in rng.choice(list(LETTERS[:5]), rank, replace=bool(rng.random() < 0.1))]
    operands = [first]
    for _ in range(count):
        known = sorted({c for o in operands for c in o})
        shared = [c for c in known if rng.random() < 0.55]
        fresh = [
            str(c) for c in rng.choice(list(LETTERS[5:]), int(rng.choice([0, 1, 2], p=[0.4, 0.5, 0.1])), replace=False)
        ]
        one = shared + fresh
        rng.shuffle(one)
        operands.append(one[:4])
    used = sorted({c for o in operands for c in o})
    output = [c for c in used if rng.random() < 0.5][:5]
    rng.shuffle(output)
    spec = ",".join("".join(o) for o in operands) + "->" + "".join(output)
    return spec, [tuple(extent[c] for c in o) for o in operands]


def check_expression(seed):
    """einsum with one sparse operand of a random format, at a random place among dense ones, equals NumPy's exactly."""
    rng = np.random.default_rng([2, seed])
    spec, shapes = _random_einsum(rng)
    dtype = str(rng.choice(["float64", "float64", "float32", "int32", "int64", "complex128", "complex64"]))
    arrays = [random_dense(rng, s, dtype) for s in shapes]
    text = random_format(rng, len(shapes[0]), structured=seed >= STRUCTURED)
    if seed >= REGISTERED:
        text = with_own_levels(rng, text)
    if seed >= OF_DIMENSIONS:
        text = with_n_of_dimensions(rng, text, shapes[0])
    arrays[0] = thinned(arrays[0], text)
    place = int(rng.integers(len(arrays)))
    inputs, output = spec.split("->")
    names = inputs.split(",")
    names.insert(place, names.pop(0))
    arrays.insert(place, arrays.pop(0))
    spec = ",".join(names) + "->" + output
    case = f"seed {seed}: {spec} {[a.shape for a in arrays]} {dtype}, operand {place} in {text}"
    try:
        sparse = st.from_dense(arrays[place], text)
        operands = [sparse if k == place else _restrided(rng, a) for k, a in enumerate(arrays)]
        before = [bits(a) for a in arrays]
        expected = np.einsum(spec, *arrays)
        got = st.einsum(spec, *operands)
        got = got.to_dense() if isinstance(got, st.Tensor) else np.asarray(got)
        assert got.dtype == expected.dtype, f"dtype {got.dtype}, not {expected.dtype}"
        assert got.shape == expected.shape, f"shape {got.shape}, not {expected.shape}"
        assert np.array_equal(got, expected), f"values differ:\n{got}\n{expected}"
        if rng.random() < 0.3:
            start = random_dense(rng, expected.shape, dtype)
            out = _restrided(rng, start)
            st.einsum(spec, *operands, out=out, alpha=2, beta=3)
            assert np.array_equal(out, 2 * expected + 3 * start), "alpha, beta, out"
        assert [bits(a) for a in arrays] == before, "an operand was written to"
    except AssertionError as e:
        raise AssertionError(f"{case}: {e}") from None
    except Exception as e:
        raise AssertionError(f"{case}: {type(e).__name__}: {e}") from e


def _restrided(rng, a):
    """The same values in memory of another order: transposed, reversed, or with holes."""
    r = rng.random()
    if r < 0.5 or a.ndim == 0:
        return a.copy()
    if r < 0.7:
        return np.array(a, order="F", copy=True)
    if r < 0.85:
        return a[::-1].copy()[::-1]
    wide = np.zeros(a.shape[:-1] + (2 * a.shape[-1],), a.dtype)
    wide[..., ::2] = a
    return wide[..., ::2]
