"""Every assignment of tests/spec/assignments.txt and every subscript of tests/spec/einsums.txt, in four mixes of
formats, by the general path, the interpreter and compiled code, against NumPy: none is refused, none is wrong."""

import ast
import operator
import pathlib
import re
import warnings

import numpy as np
import pytest

import strata as st

SPEC = pathlib.Path(__file__).resolve().parents[2] / "spec"
LETTERS = "ijklmn"
EXTENTS = [4, 5, 3, 2, 6, 3, 2, 4]


def lines(name):
    return [x.strip() for x in (SPEC / name).read_text().splitlines() if x.strip() and not x.startswith("#")]


ASSIGNMENTS, EINSUMS = lines("assignments.txt"), lines("einsums.txt")


def levels(rank, order, kind):
    dims = LETTERS[:rank]
    return f"({', '.join(dims)}) -> ({', '.join(f'{dims[d]}: {kind(n)}' for n, d in enumerate(order))})"


def row_wise(rank, at, first):
    return {1: "(i) -> (i: compressed)", 2: "CSR"}.get(rank, f"CSF({rank})")


def one_coo(rank, at, first):
    return f"COO({rank})" if first else None


def column_wise(rank, at, first):
    return {2: "CSC"}.get(rank, levels(rank, range(rank)[::-1], lambda n: "compressed"))


def unusual(rank, at, first):
    """Blocks, diagonals, ELL, delta, bitmaps, sums of parts, by turns."""
    if rank == 1:
        return ["(i) -> (i / 2: compressed, i % 2: dense)", "(i) -> (i: bitmap)", "(i) -> (i: delta(2))"][at % 3]
    if rank == 2:
        diagonals = "(i, j) -> (j - i: compressed, i: range)"
        return ["BSR(2, 2)", diagonals, "ELL", "delta(2)", "CSR + COO"][at % 5]
    kinds = [
        ["dense", "bitmap", "compressed"],
        ["compressed", "delta(2)", "compressed"],
        ["dense", "compressed", "dense"],
    ]
    return levels(rank, range(rank), lambda n: kinds[at % 3][n % 3])


MIXES = {"row-wise": row_wise, "one COO": one_coo, "column-wise": column_wise, "unusual": unusual}


@pytest.fixture(params=MIXES)
def mix(request):
    """The format of an operand, by its rank, its place, and whether it is the first of more than no dimension."""
    return MIXES[request.param]


@pytest.fixture
def engines():
    before = st.settings.engine

    def each():
        for st.settings.engine in ("interpreter", "auto"):
            yield st.settings.engine

    yield each
    st.settings.engine = before


def random_array(rng, shape):
    return np.where(rng.random(shape) < 0.5, rng.integers(1, 6, shape) * rng.choice([1, 1, -1], shape), 0).astype(float)


def stored(mix, arrays):
    """The operands in the formats of a mix, those of no dimension as they are."""
    out, first = [], True
    for at, x in enumerate(arrays):
        f = mix(x.ndim, at, first) if x.ndim else None
        first = first and not x.ndim
        out.append(x if f is None else st.from_dense(x, f))
    return out


def dense(result):
    return np.asarray(result.to_dense() if isinstance(result, st.Tensor) else result)


# -- the same text, read by Python and computed by NumPy ---------------------------------------------------------------

FUNCTIONS = dict(abs=np.abs, sqrt=np.sqrt, tanh=np.tanh, exp=np.exp, sign=np.sign, relu=lambda x: np.maximum(x, 0))
REDUCTIONS = dict(sum=np.sum, max=np.max, min=np.min, any=np.any)
OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Lt: operator.lt, ast.Gt: operator.gt, ast.Eq: operator.eq,
}  # fmt: skip


class Reference:
    """An assignment over all its indices: axis k belongs to the k-th letter."""

    def __init__(self, text):
        left, right = text.split(" = ")
        self.output = re.findall(r"\w+", left)[1:]
        self.tree = ast.parse(right, mode="eval").body
        self.accesses = {}  # operand -> indices of each access
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and node.func.id not in FUNCTIONS | REDUCTIONS:
                self.accesses.setdefault(node.func.id, []).append([a.id for a in node.args])
        self.letters = sorted({i for a in self.accesses.values() for one in a for i in one})

    def extents(self):
        """One extent per letter; letters that index one dimension share it."""
        group = {i: i for i in self.letters}
        for accesses in self.accesses.values():
            for dims in zip(*accesses, strict=True):
                for i in dims[1:]:
                    old, new = group[i], group[dims[0]]
                    group = {k: new if g == old else g for k, g in group.items()}
        return {i: EXTENTS[self.letters.index(group[i])] for i in self.letters}

    def shape(self, name, extents):
        return tuple(extents[i] for i in self.accesses[name][0])

    def value(self, arrays):
        self.arrays = arrays
        total = 0
        for sign, term in self.terms(self.tree, 1):
            v = self.visit(term)
            over = tuple(self.letters.index(i) for i in self.free(term) - set(self.output))
            total = total + sign * (np.sum(v, over, keepdims=True) if over else v)
        extents = self.extents()
        kept = [extents[i] if i in self.output else 1 for i in self.letters]
        total = np.broadcast_to(total, kept).reshape([n for i, n in zip(self.letters, kept) if i in self.output])
        order = [i for i in self.letters if i in self.output]
        return total.transpose([order.index(i) for i in self.output])

    def terms(self, e, sign):
        if isinstance(e, ast.BinOp) and isinstance(e.op, ast.Add | ast.Sub):
            yield from self.terms(e.left, sign)
            yield from self.terms(e.right, sign if isinstance(e.op, ast.Add) else -sign)
        else:
            yield sign, e

    def free(self, e):
        if isinstance(e, ast.Call):
            if e.func.id in REDUCTIONS and isinstance(e.args[0], ast.Name):
                return self.free(e.args[1]) - {e.args[0].id}
            if e.func.id not in FUNCTIONS | REDUCTIONS:
                return {a.id for a in e.args}
        return {i for child in ast.iter_child_nodes(e) for i in self.free(child)}

    def visit(self, e):
        if isinstance(e, ast.Constant):
            return e.value
        if isinstance(e, ast.UnaryOp):
            return -self.visit(e.operand)
        if isinstance(e, ast.BinOp):
            return OPERATORS[type(e.op)](self.visit(e.left), self.visit(e.right))
        if isinstance(e, ast.Compare):
            return OPERATORS[type(e.ops[0])](self.visit(e.left), self.visit(e.comparators[0]))
        name = e.func.id
        if name in FUNCTIONS:
            return FUNCTIONS[name](self.visit(e.args[0]))
        if name in REDUCTIONS and isinstance(e.args[0], ast.Name):
            return REDUCTIONS[name](self.visit(e.args[1]), self.letters.index(e.args[0].id), keepdims=True)
        if name in REDUCTIONS:
            return dict(min=np.minimum, max=np.maximum)[name](*map(self.visit, e.args))
        grids = []
        for d, a in enumerate(e.args):
            shape = [1] * len(self.letters)
            shape[self.letters.index(a.id)] = self.arrays[name].shape[d]
            grids.append(np.arange(self.arrays[name].shape[d]).reshape(shape))
        return self.arrays[name][tuple(grids)]


def agree(got, expected, what):
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12, err_msg=what)


@pytest.mark.parametrize("text", ASSIGNMENTS)
def test_assignment(text, mix, engines):
    reference = Reference(text)
    rng = np.random.default_rng([17, ASSIGNMENTS.index(text)])
    extents = reference.extents()
    arrays = {n: random_array(rng, reference.shape(n, extents)) for n in reference.accesses}
    operands = dict(zip(arrays, stored(mix, list(arrays.values())), strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = np.asarray(reference.value(arrays))
    agree(dense(st._core.evaluate(text, operands, general=True)), expected, f"{text} by the general path")
    rank = len(reference.output)
    for engine in engines():
        agree(dense(st.evaluate(text, **operands)), expected, f"{text} by {engine}")
    if rank:
        result = unusual(rank, len(text), True) if mix is unusual else mix(rank, 0, True)
        agree(dense(st.evaluate(text, format=result, **operands)), expected, f"{text} into {result}")


def einsum_arrays(spec):
    rng = np.random.default_rng([18, EINSUMS.index(spec)])
    extent = {c: EXTENTS[k % 8] for k, c in enumerate(sorted(set(re.findall(r"[a-z]", spec))))}
    shapes = []
    for term in spec.split("->")[0].split(","):
        around = (2, 3) if "..." in term else ()
        own = tuple(extent[c] for c in term if c != ".")
        shapes.append(own + around if term.endswith("...") and len(term) > 3 else around + own)
    return [random_array(rng, s) for s in shapes]


@pytest.mark.parametrize("spec", EINSUMS)
def test_einsum(spec, mix, engines):
    arrays = einsum_arrays(spec)
    expected = np.einsum(spec, *arrays)
    operands = stored(mix, arrays)
    for engine in engines():
        agree(dense(st.einsum(spec, *operands)), expected, f"{spec} by {engine}")


@pytest.mark.parametrize("library", ["torch", "opt_einsum"])
def test_other_libraries_read_subscripts_alike(library):
    module = pytest.importorskip(library)
    for spec in EINSUMS:
        arrays = einsum_arrays(spec)
        if library == "torch":
            expected = module.einsum(spec, *map(module.from_numpy, arrays)).numpy()
        else:
            expected = np.asarray(module.contract(spec, *arrays))
        agree(dense(st.einsum(spec, *stored(row_wise, arrays))), expected, spec)


def test_the_spaces_are_as_large_as_they_say():
    assert len(set(ASSIGNMENTS)) == len(ASSIGNMENTS) >= 98
    assert len(set(EINSUMS)) == len(EINSUMS) >= 80
