"""The names of NVIDIA's Universal Sparse Tensor (nvmath-python, and the blog post that introduced it) over Strata's
core.

Their snippets run with only the import changed:

    from strata.ust import Dimension, LevelFormat, TensorFormat, Tensor, Matmul

    i, j = Dimension(dimension_name="i"), Dimension(dimension_name="j")
    CSC = TensorFormat([i, j], {j: LevelFormat.DENSE, i: LevelFormat.COMPRESSED})
    U = Tensor.from_package(scipy_matrix).convert(tensor_format=CSC)

Memory is the CPU's; `stream=` and `execution=` are accepted and mean nothing here. What is beyond the originals:
formats also parse
from text (`TensorFormat.parse`), `to_package` works after every conversion, and `Tensor.tensor` is the `strata.Tensor`
underneath.
"""

import enum
import operator as _operator

from . import _core, formats as _formats
from .errors import FormatError, TensorError, Unsupported
from .interop import from_package as _from_package, package_of as _package_of, to_package as _to_package
from ._matmul import Matmul as _Matmul

__all__ = [
    "Dimension",
    "LevelExpr",
    "LevelFormat",
    "LevelProperty",
    "Matmul",
    "MatmulOptions",
    "NamedFormats",
    "Tensor",
    "TensorFormat",
    "is_ordered",
    "is_unique",
    "matmul",
]


class _Names(enum.Enum):
    def __repr__(self):
        return f"<{type(self).__name__}.{self.name}>"

    __str__ = __repr__


class LevelFormat(_Names):
    """How a level stores its coordinates."""

    DENSE = "dense"
    BATCH = "batch"
    COMPRESSED = "compressed"
    SINGLETON = "singleton"
    RANGE = "range"
    DELTA = "delta"
    STRUCTURED = "structured"
    PADDED = "padded"
    BITMAP = "bitmap"


class LevelProperty(_Names):
    """What holds of a level's coordinates."""

    UNIQUE = "unique"
    NONUNIQUE = "nonunique"
    ORDERED = "ordered"
    UNORDERED = "unordered"


def _properties(p):
    if isinstance(p, LevelProperty):
        return {p}
    if isinstance(p, (tuple, list)):
        return set().union(*(_properties(x) for x in p if isinstance(x, (LevelProperty, tuple, list)))) if p else set()
    return set()


def is_ordered(p):
    """Is a level with this property (or these) ordered?"""
    return LevelProperty.UNORDERED not in _properties(p)


def is_unique(p):
    """Is a level with this property (or these) unique?"""
    return LevelProperty.NONUNIQUE not in _properties(p)


class _Expression:
    """What stands left of the colon: dimensions under + - // %."""

    def __add__(self, other):
        return LevelExpr(expression1=self, operator="+", expression2=other)

    def __sub__(self, other):
        return LevelExpr(expression1=self, operator="-", expression2=other)

    def __floordiv__(self, other):
        return LevelExpr(expression1=self, operator="//", expression2=other)

    __truediv__ = __floordiv__

    def __mod__(self, other):
        return LevelExpr(expression1=self, operator="%", expression2=other)


class Dimension(_Expression):
    """A dimension of the tensor. Two dimensions are the same only if they are the same object."""

    def __init__(self, *, dimension_name=None):
        self.dimension_name = dimension_name

    def __repr__(self):
        return self.dimension_name or "dimension"


class LevelExpr(_Expression):
    """`expression1 operator expression2`; usually written with Python's operators: `i // 2`, `j - i`."""

    def __init__(self, *, expression1, operator, expression2):
        if operator not in ("+", "-", "//", "/", "%"):
            raise FormatError(
                f"no operator '{operator}' in level expressions", expected="+, -, // or %", got=str(operator)
            )
        if not isinstance(expression1, _Expression):
            raise FormatError(
                "a level expression starts with a dimension",
                expected="a Dimension or LevelExpr",
                got=type(expression1).__name__,
            )
        if operator in ("+", "-"):
            if not isinstance(expression2, _Expression):
                raise FormatError(
                    f"'{operator}' takes two dimensions", expected="a Dimension or LevelExpr", got=repr(expression2)
                )
        else:
            try:
                expression2 = _operator.index(expression2)
            except TypeError:
                raise FormatError(
                    f"'{operator}' takes an integer on its right", expected="an int above 0", got=repr(expression2)
                ) from None
        self.expression1, self.operator, self.expression2 = (
            expression1,
            "//" if operator == "/" else operator,
            expression2,
        )

    def _text(self, names):
        def part(e):
            return f"({e._text(names)})" if isinstance(e, LevelExpr) else str(e) if isinstance(e, int) else names(e)

        return f"{part(self.expression1)} {self.operator} {part(self.expression2)}"

    def __repr__(self):
        return f"({self._text(repr)})"


def _level_text(value):
    """`compressed(nonunique)` of LevelFormat.COMPRESSED and what may stand beside it."""
    kind, *rest = value if isinstance(value, (tuple, list)) else (value,)
    if not isinstance(kind, LevelFormat):
        raise FormatError(
            "a level is a LevelFormat, or a tuple that starts with one",
            expected="LevelFormat.DENSE, (LevelFormat.DELTA, 2), ...",
            got=repr(value),
        )
    words = []
    for x in rest:
        for y in x if isinstance(x, (tuple, list)) else (x,):
            if isinstance(y, LevelProperty):
                words.append(y.value)
            elif isinstance(y, int) and not isinstance(y, bool):
                words.append(str(y))
            else:
                raise FormatError(f"{kind} does not take {y!r}", expected="a LevelProperty or an int", got=repr(y))
    return kind.value + (f"({', '.join(words)})" if words else "")


class TensorFormat:
    """A format: dimensions, and an ordered dict from level expression to level.

        TensorFormat([i, j], {i: LevelFormat.DENSE, j: (LevelFormat.DELTA, 2)})

    Strata's core checks it (FormatError). `format` is the `strata.Format`; equality is structural, names do not count.
    """

    def __init__(self, dimensions, levels, *, name=None):
        dimensions = list(dimensions)
        for d in dimensions:
            if not isinstance(d, Dimension):
                raise FormatError(
                    "dimensions are Dimension objects", expected="Dimension(dimension_name=...)", got=type(d).__name__
                )
        if not isinstance(levels, dict):
            raise FormatError(
                "levels are an ordered dict from expression to level",
                expected="{i: LevelFormat.DENSE, ...}",
                got=type(levels).__name__,
            )
        if len({id(d) for d in dimensions}) != len(dimensions):
            raise FormatError(
                "a dimension stands twice in the list", expected="distinct Dimension objects", got=str(dimensions)
            )
        given = [d.dimension_name for d in dimensions]
        usable = all(isinstance(n, str) and n.isidentifier() and n.isascii() for n in given) and len(set(given)) == len(
            given
        )
        named = {id(d): given[k] if usable else f"d{k}" for k, d in enumerate(dimensions)}

        def text(d):
            if id(d) not in named:
                raise FormatError(
                    f"the level expressions use a dimension '{d!r}' that is not in the list",
                    expected=str(dimensions),
                    got=repr(d),
                )
            return named[id(d)]

        parts = []
        for e, level in levels.items():
            if not isinstance(e, _Expression):
                raise FormatError(
                    "a level's expression is made of dimensions", expected="a Dimension or LevelExpr", got=repr(e)
                )
            parts.append(f"{e._text(text) if isinstance(e, LevelExpr) else text(e)} : {_level_text(level)}")
        self._set(
            _core.Format(f"({', '.join(named[id(d)] for d in dimensions)}) -> ({', '.join(parts)})"),
            dimensions,
            dict(levels),
            name,
        )

    def _set(self, f, dimensions, levels, name):
        self.format, self.dimensions, self.levels = f, dimensions, levels
        self._name = name

    @classmethod
    def parse(cls, text, *, rank=-1, name=None):
        """A format from a text or name: `TensorFormat.parse("(i, j) -> (j : dense, i : compressed)")`."""
        return cls._of(_core.Format(text, rank), name)

    @classmethod
    def _of(cls, f, name=None):
        self = cls.__new__(cls)
        if f.num_parts != 1:
            raise Unsupported(
                "a sum of parts is no TensorFormat",
                expected="a format of one part",
                got=str(f),
                fix="use strata.Format",
            )
        dimensions = [Dimension(dimension_name=n) for n in f.dims]
        known = dict(zip(f.dims, dimensions))
        levels = {}
        for level in f.levels:
            words = [
                p
                for p, on in ((LevelProperty.NONUNIQUE, not level.unique), (LevelProperty.UNORDERED, not level.ordered))
                if on
            ]
            value = LevelFormat(level.kind)
            if level.arg:
                value = (value, level.arg, *words)
            elif words:
                value = (value, words[0] if len(words) == 1 else tuple(words))
            levels[_expression(level.expr, known)] = value
        self._set(f, dimensions, levels, name)
        return self

    @property
    def name(self):
        return self._name if self._name is not None else self.format.name or str(self.format)

    num_dimensions = property(lambda self: len(self.dimensions))
    num_levels = property(lambda self: len(self.levels))
    is_identity = property(lambda self: self.format.is_identity)
    is_ordered = property(lambda self: self.format.is_ordered)
    is_unique = property(lambda self: self.format.is_unique)

    def dim2lvl(self, idx, as_size=False):
        """Level coordinates of dimension coordinates; with `as_size`, level sizes of extents."""
        return tuple(size for _, size in self.format.level_ranges(tuple(idx))) if as_size else self.format.dim2lvl(idx)

    def lvl2dim(self, idx):
        """Dimension coordinates of level coordinates."""
        return self.format.lvl2dim(idx)

    def __strata_format__(self, rank):
        return self.format

    def __eq__(self, other):
        return (
            self.format == other.format
            if isinstance(other, TensorFormat)
            else self.format == other
            if isinstance(other, _core.Format)
            else NotImplemented
        )

    def __hash__(self):
        return hash(self.format)

    def __repr__(self):
        return self.format.blog_string()


def _expression(text, known):
    """The expression of a text like '(i % 32) // 4'; the core printed it, so Python's own grammar and precedence
    serve."""
    import ast

    def build(node):
        if isinstance(node, ast.Name):
            return known[node.id]
        if isinstance(node, ast.Constant):
            return node.value
        op = {ast.Add: _operator.add, ast.Sub: _operator.sub, ast.Div: _operator.floordiv, ast.Mod: _operator.mod}[
            type(node.op)
        ]
        return op(build(node.left), build(node.right))

    return build(ast.parse(text, mode="eval").body)


class _NamedFormats:
    """Formats by nvmath's names: NamedFormats.CSR, NamedFormats.BSRRight((2, 3)), NamedFormats.DELTA(2), ..."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(_formats, name)
        if isinstance(found, _core.Format):
            return TensorFormat._of(found, name)

        def build(*args, **kwargs):
            return TensorFormat._of(found(*args, *kwargs.values()))

        build.__name__, build.__doc__ = name, found.__doc__
        if name.upper() == "COO":  # nvmath's COO is the matrix; COOd(n) builds others
            return TensorFormat._of(found(), name)
        return build

    def __dir__(self):
        return dir(_formats)


NamedFormats = _NamedFormats()


class Tensor:
    """A universal sparse tensor with nvmath's names. Make one with `from_package`, `from_file` or `convert`."""

    def __init__(self, tensor, base=None):
        if not isinstance(tensor, _core.Tensor):
            raise TensorError(
                "this class wraps a strata.Tensor", expected="Tensor.from_package(x)", got=type(tensor).__name__
            )
        self.tensor, self._base = tensor, base

    @classmethod
    def from_package(cls, x, stream=None):
        """A tensor over the memory of a NumPy, SciPy, PyTorch or CuPy tensor."""
        return cls(_from_package(x), x)

    @classmethod
    def from_file(cls, filename, stream=None):
        """Reads a Matrix Market file as COO."""
        from . import read

        return cls(read(filename))

    def __strata_tensor__(self):
        return self.tensor

    base = property(lambda self: self._base)
    extents = property(lambda self: list(self.tensor.shape))
    shape = property(lambda self: self.tensor.shape)
    levels = property(lambda self: [size for _, size in self.tensor.format.level_ranges(self.tensor.shape)])
    size = property(lambda self: self.tensor.size)
    num_dimensions = property(lambda self: self.tensor.ndim)
    num_levels = property(lambda self: self.tensor.format.num_levels)
    tensor_format = property(lambda self: TensorFormat._of(self.tensor.format))
    dtype = property(lambda self: _core.dtype_name(self.tensor.dtype))
    index_type = property(lambda self: _core.dtype_name(self.tensor.crd_dtype))
    val = property(lambda self: self.tensor.values)
    device = property(lambda self: self.tensor.device)
    device_id = property(lambda self: self.tensor.device)
    nse = property(lambda self: self.tensor.nse)

    def pos(self, level):
        """Positions of a level; an empty array where it has none."""
        return _core.memory_to_numpy(self.tensor._raw(level, "pos"))

    def crd(self, level):
        """Coordinates of a level (packed ones unpacked); an empty array where it has none."""
        return _core.memory_to_numpy(self.tensor._raw(level, "crd"))

    def get_value(self, idx):
        """The element at these coordinates; None where it is absent."""
        return self.tensor.get(tuple(idx) if isinstance(idx, (list, tuple)) else idx)

    def convert(self, *, tensor_format=None, index_type=None, dtype=None, copy=False, stream=None):
        """The tensor in another format, index type or dtype; the same object where nothing changes (`copy=True`: a
        clone)."""
        f = self.tensor.format if tensor_format is None else tensor_format
        f = _core.Format(f, self.tensor.ndim)
        index = None if index_type is None else _core.dtype_name(index_type)
        value = None if dtype is None else _core.dtype_name(dtype)
        same_index = (
            index is None
            or f.is_all_dense
            or (index == _core.dtype_name(self.tensor.pos_dtype) == _core.dtype_name(self.tensor.crd_dtype))
        )
        if f == self.tensor.format and same_index and value in (None, self.dtype):
            return self.clone() if copy else self
        return Tensor(_core.convert(self.tensor, f, value, index, index), self._base)

    def to_package(self, like=None):
        """The tensor as an object of the package it came from, over the same memory where that has the format."""
        if like is None and self._base is not None and _package_of(self._base) not in ("dlpack", "strata", None):
            like = self._base
            if _package_of(like) == "numpy" and not self.tensor.format.is_all_dense:
                like = "scipy"
            elif _package_of(like) == "scipy" and self.tensor.format.is_all_dense:
                like = "numpy"
        return _to_package(self.tensor, like)

    def to(self, device_id=None, stream=None):
        """The tensor on another device: "cpu" only."""
        return Tensor(self.tensor.to(device="cpu" if device_id is None else str(device_id)), self._base)

    def clone(self, stream=None):
        """A tensor with memory of its own."""
        return Tensor(self.tensor.copy(), self._base)

    def copy_(self, src, stream=None):
        """Copies the values of a tensor of the same structure into this one's memory."""
        other = src.tensor if isinstance(src, Tensor) else _from_package(src)
        mine, theirs = self.tensor, other
        if mine.format != theirs.format or mine.shape != theirs.shape or mine.nse != theirs.nse:
            raise TensorError(
                "copy_ needs a tensor of the same structure",
                expected=f"{mine.format}, {mine.shape}, nse {mine.nse}",
                got=f"{theirs.format}, {theirs.shape}, nse {theirs.nse}",
            )
        target = mine._dense("numpy") if mine.format.is_all_dense else None
        if target is not None:
            target[...] = theirs.to_dense()
        else:
            mine.values[:] = theirs.values
        return self

    def draw_storage(self, name=None, width=100):
        """The storage as text; with `name`, also written to that file."""
        drawing = self.tensor.draw_storage(width)
        if name is not None:
            drawing.save(name)
        return drawing

    def __matmul__(self, other):
        return self.tensor @ (other.tensor if isinstance(other, Tensor) else other)

    def __rmatmul__(self, other):
        return other @ self.tensor

    __array_ufunc__ = None

    def __repr__(self):
        return repr(self.tensor)


class MatmulOptions:
    """Options of Matmul: `compute_type` is the dtype to accumulate in; `codegen=True` asks for compiled kernels.
    Others have no meaning on a CPU."""

    def __init__(
        self, codegen=False, compute_type=None, logger=None, memory_limit=None, blocking="auto", allocator=None
    ):
        self.codegen, self.compute_type = codegen, compute_type


def _options(options, qualifiers):
    if isinstance(options, dict):
        options = MatmulOptions(**options)
    out = {"compute_dtype": options.compute_type if options else None}
    for name, q in zip(("a", "b"), qualifiers if qualifiers is not None else ()):

        def get(key):
            if isinstance(q, dict):
                return bool(q.get(key, False))
            try:
                return bool(q[key])
            except (TypeError, KeyError, IndexError, ValueError):
                return bool(getattr(q, key, False))

        out[f"transpose_{name}"], out[f"conjugate_{name}"] = get("is_transpose"), get("is_conjugate")
    return out


def _plain(x):
    return x.tensor if isinstance(x, Tensor) else x


class Matmul(_Matmul):
    """c := alpha * a @ b + beta * c in place (beta = 1 unless given), planned once.

    with Matmul(a, b, c, beta=1.0) as mm:
        mm.plan()
        mm.execute()
    """

    def __init__(
        self, a, b, /, c=None, *, alpha=None, beta=None, qualifiers=None, options=None, execution=None, stream=None
    ):
        super().__init__(
            _plain(a),
            _plain(b),
            _plain(c),
            alpha=1 if alpha is None else alpha,
            beta=beta,
            **_options(options, qualifiers),
        )
        self._c = c

    def plan(self, *, prologs=None, compute_capability=None, stream=None):
        """Chooses a kernel; returns the Plan."""
        if prologs:
            raise Unsupported("prologs are not part of this version", fix="scale the values before planning")
        return super().plan()

    def execute(self, *, release_workspace=False, stream=None):
        """Runs the plan; returns c, or a fresh array where there is none."""
        result = super().execute()
        return self._c if self._c is not None else result

    def reset_operands(self, a=None, b=None, c=None, *, alpha=None, beta=None, stream=None):
        """Other operands of the same formats, dtypes and shapes."""
        super().reset_operands(_plain(a), _plain(b), _plain(c), alpha=alpha, beta=beta)
        if c is not None:
            self._c = c

    def free(self):
        self._c = None
        super().free()


def matmul(
    a,
    b,
    /,
    c=None,
    *,
    alpha=None,
    beta=None,
    qualifiers=None,
    prologs=None,
    compute_capability=None,
    options=None,
    execution=None,
    stream=None,
):
    """c := alpha * a @ b + beta * c in place, and c is returned; without c a fresh array."""
    if prologs:
        raise Unsupported("prologs are not part of this version", fix="scale the values before the call")
    result = _core.matmul(
        _plain(a), _plain(b), _plain(c), alpha=1 if alpha is None else alpha, beta=beta, **_options(options, qualifiers)
    )
    return c if c is not None else result
