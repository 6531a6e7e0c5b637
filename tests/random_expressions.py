"""Random expressions, formats and results of the general path against NumPy's dense arithmetic. One seed is one case.

python tests/campaign.py --kind evaluate

A case is 1 to 4 operands of 0 to 4 dimensions over up to 5 indices, sums of products with functions, written
reductions, semirings, masks, a format for each operand and for the result. Wide cases (seeds from WIDE on) go further:
operands of several dtypes, 5 dimensions, sin, log and erf, semirings of users and `any`; from STRUCTURED on structured
levels too, from BLOCKED on results in blocks, from NESTED on reductions inside of products, from ASKED on dtype= and
elements that are stored twice, from DIVIDED on quotients of expressions. Values are small integers; a case that fails is
made smaller and printed.
"""

import copy
import functools
import itertools
import warnings

import numpy as np
import scipy.special
from differential import (
    ASKED,
    BLOCKED,
    NESTED,
    OF_DIMENSIONS,
    STRUCTURED,
    doubled,
    random_blocks,
    random_format,
    thinned,
    with_n_of_dimensions,
)
from own_levels import REGISTERED, with_own_levels

import strata as st

INDICES = "ijklm"
WIDE = 10_000_000  # seeds below give the cases that they always gave, so that recorded failures stay what they are
DIVIDED = 70_000_000
QUOTIENTS = ("/", "//", "%")
FUNCTIONS = {
    "abs": np.abs,
    "sign": np.sign,
    "sqrt": lambda x: np.sqrt(np.abs(x)),  # written sqrt(abs(...))
    "exp": np.exp,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, np.zeros((), x.dtype)),
    "conj": lambda x: np.conj(x) if x.dtype.kind == "c" else x,
    "-": np.negative,
}
WIDE_FUNCTIONS = FUNCTIONS | {
    "sin": np.sin,
    "log": lambda x: np.log(np.maximum(np.abs(x), 1)),  # written log(max(abs(...), 1))
    "erf": lambda x: scipy.special.erf(x).astype(np.sqrt(x).dtype),
}
INEXACT = ("sqrt", "exp", "cos", "tan", "sin", "log", "erf")  # in dtypes that NumPy chooses
REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "any": np.any, "all": np.all}
BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum, "<": np.less, "==": np.equal,
    ">=": np.greater_equal, "!=": np.not_equal, ">": np.greater, "/": np.divide, "//": np.floor_divide, "%": np.remainder,
}  # fmt: skip
INF = np.inf
RINGS = {  # addition, multiplication, identity of the addition: of integers inf is the largest
    "min-plus": (np.minimum, np.add, INF),
    "max-plus": (np.maximum, np.add, -INF),
    "max-times": (np.maximum, np.multiply, -INF),
    "or-and": (np.logical_or, np.logical_and, 0),
    "any": (np.maximum, np.multiply, 0),  # all values are 1: whichever is taken
    "max(a, b); min(a, b); -inf": (np.maximum, np.minimum, -INF),
    "min(a, b); max(a, b); inf": (np.minimum, np.maximum, INF),
    "min(b, a); b + a; inf": (np.minimum, np.add, INF),
    "min(a, b); a * b; inf": (np.minimum, np.multiply, INF),
    "min(a, b); a; inf": (np.minimum, lambda a, b: a + np.zeros_like(b), INF),
    "a + b; a * b; 0": (np.add, np.multiply, 0),
    "a + b; min(a, b); 0": (np.add, np.minimum, 0),
    "a + b; (a - b) * (a - b); 0": (np.add, lambda a, b: (a - b) * (a - b), 0),
    "log(exp(a) + exp(b)); a + b; -inf": (np.logaddexp, np.add, -INF),
}
OF_POSITIVE = ("max-times", "min(a, b); a * b; inf")  # a negative factor would turn max into min
OF_PAIRS = ("a + b; min(a, b); 0", "a + b; (a - b) * (a - b); 0")  # sums do not distribute over longer products


# A node is a tuple: ("access", name), ("number", value), (function, a), (operator, a, b), ("reduce", op, index, a).
def text(case, e):
    if e[0] == "access":
        indices = case["operands"][e[1]]["indices"]
        return f"{e[1]}({','.join(indices)})" if indices else e[1]
    if e[0] == "number":
        return repr(e[1]) if e[1] >= 0 else f"({e[1]!r})"
    if e[0] == "reduce":
        return f"{e[1]}({e[2]}, {text(case, e[3])})"
    if len(e) == 2:
        inner = text(case, e[1])
        inner = {"sqrt": f"abs({inner})", "log": f"max(abs({inner}), 1)"}.get(e[0], inner)
        return f"(-({inner}))" if e[0] == "-" else f"{e[0]}({inner})"
    a, b = text(case, e[1]), text(case, e[2])
    return f"{e[0]}({a}, {b})" if e[0] in ("min", "max") else f"({a} {e[0]} {b})"


def whole_text(case):
    terms = [text(case, t) for t in case["terms"]]
    left = f"R({','.join(case['output'])})" if case["output"] else "R"
    bare = [t[1:-1] if t.startswith("(") and "*" in t and balanced(t[1:-1]) else t for t in terms]
    return f"{left} = " + " + ".join(bare)


def balanced(s):
    """No parenthesis of s closes one that stands before it, and nothing in it binds less than '*'."""
    depth = 0
    for k, c in enumerate(s):
        depth += (c == "(") - (c == ")")
        if depth < 0 or (depth == 0 and s[k : k + 3] in (" + ", " - ", " < ", " > ", " ==", " >=", " !=")):
            return False
    return True


def free(case, e):
    if e[0] == "access":
        return list(dict.fromkeys(case["operands"][e[1]]["indices"]))
    if e[0] == "reduce":
        return [i for i in free(case, e[3]) if i != e[2]]
    out = []
    for a in e[1:]:
        if isinstance(a, tuple):
            out += [i for i in free(case, a) if i not in out]
    return out


def grid(case, name):
    """The operand over all indices of the language: axis k belongs to INDICES[k]."""
    o = case["operands"][name]
    grids = []
    for d, i in enumerate(o["indices"]):
        shape = [1] * len(INDICES)
        n = case["extents"][i]
        shape[INDICES.index(i)] = n
        at = np.zeros(n, int) if o["array"].shape[d] == 1 else np.arange(n)
        grids.append(at.reshape(shape))
    return o["array"][tuple(grids)] if grids else o["array"].reshape((1,) * len(INDICES))


def spread(case, x, indices):
    shape = [case["extents"][i] if i in indices else n for i, n in zip(INDICES, x.shape)]
    return np.broadcast_to(x, shape)


def dense(case, e):
    if e[0] == "access":
        return spread(case, grid(case, e[1]), case["operands"][e[1]]["indices"])
    if e[0] == "number":
        return e[1]
    if e[0] == "reduce":
        return REDUCTIONS[e[1]](dense(case, e[3]), axis=INDICES.index(e[2]), keepdims=True)
    if len(e) == 2:
        return WIDE_FUNCTIONS[e[0]](dense(case, e[1]))
    a, b = dense(case, e[1]), dense(case, e[2])
    if e[0] == "*":
        return a * b  # NumPy's multiply makes an array of two Python numbers
    there = stored(case, e[2]) if e[0] in QUOTIENTS else True
    if there is not True:  # what is absent has no sign, and so has what cannot be told from it
        b = np.where(False if may_be_fill_in(case, e[2]) else there, b, b + np.zeros_like(b))
    value = BINARY[e[0]](a, b)
    here = stored(case, e[1]) if e[0] in QUOTIENTS else True
    return value if here is True else np.where(here, value, value.dtype.type(0))


def pattern_of(o):
    """The operand as it is stored, before a cast: how elements are shared among parts follows the width of values."""
    return as_operand(o | dict(array=o.get("stored", o["array"])))


def may_be_fill_in(case, e):
    """Is there an operand among these whose format stores elements of its own doing?"""
    if e[0] == "access":
        o = case["operands"][e[1]]
        return o["format"] is not None and pattern_of(o).format.can_hold_fill
    return any(may_be_fill_in(case, a) for a in e[1:] if isinstance(a, tuple))


def stored(case, e):
    """Where a numerator has elements, fill-in among them; True: everywhere."""
    if e[0] == "access":
        o = case["operands"][e[1]]
        if o["format"] is None:
            return True
        pattern = pattern_of(o).to(str(st.Format("COO", o["array"].ndim)), zeros="keep")
        at = np.zeros(o["array"].shape, bool)
        at[tuple(pattern.crd(level) for level in range(at.ndim))] = True
        whole = dict(case, operands={e[1]: dict(o, array=at)})
        return spread(case, grid(whole, e[1]), o["indices"])
    if e[0] == "number":
        return True
    if e[0] == "reduce":
        here = stored(case, e[3])
        return here if here is True else np.any(here, axis=INDICES.index(e[2]), keepdims=True)
    here = (
        [stored(case, a) for a in e[1:2] if isinstance(a, tuple)]
        if e[0] in QUOTIENTS
        else [stored(case, a) for a in e[1:]]
    )
    if e[0] == "*":
        found = [h for h in here if h is not True]
        return functools.reduce(np.logical_and, found) if found else True
    return True if any(h is True for h in here) else functools.reduce(np.logical_or, here)


def semiring_values(case, e):
    """(value, is there one) over all indices."""
    ring = case["semiring"]
    if e[0] == "access":
        v = dense(case, e)
        o = case["operands"][e[1]]
        here = np.ones(v.shape, bool) if o["format"] is None else v != 0
        return (v != 0, here) if ring == "or-and" else (v, here)
    if e[0] == "reduce":
        return reduce_semiring(ring, *semiring_values(case, e[3]), INDICES.index(e[2]))
    (a, ha), (b, hb) = semiring_values(case, e[1]), semiring_values(case, e[2])
    if e[0] == "*":
        none = ground(ring, np.result_type(a, b))  # nothing times something is nothing
        a, b = widened(ring, a, none.dtype), widened(ring, b, none.dtype)
        return np.where((a == none) | (b == none), none, RINGS[ring][1](a, b).astype(none.dtype)), ha & hb
    return unite(ring, (a, ha), (b, hb))


def ground(ring, dtype):
    """The identity of the addition."""
    zero, dtype = RINGS[ring][2], np.dtype(dtype)
    if np.isinf(zero) and dtype.kind in "iu":
        zero = np.iinfo(dtype).max if zero > 0 else np.iinfo(dtype).min
    return dtype.type(zero)


def widened(ring, v, dtype):
    """In another dtype nothing stays nothing, also where integers have their largest or least value for it."""
    if v.dtype.kind in "iu" and np.isinf(RINGS[ring][2]):
        return np.where(v == ground(ring, v.dtype), ground(ring, dtype), v.astype(dtype))
    return v.astype(dtype)


def unite(ring, x, y):
    a, ha, b, hb = np.broadcast_arrays(*x, *y)
    none = ground(ring, np.result_type(a, b))
    a, b = widened(ring, a, none.dtype), widened(ring, b, none.dtype)
    both = RINGS[ring][0](np.where(ha, a, none), np.where(hb, b, none))
    return both.astype(none.dtype), ha | hb


def reduce_semiring(ring, v, here, axis):
    v, here = np.broadcast_arrays(v, here)
    none = ground(ring, v.dtype)
    v = RINGS[ring][0].reduce(np.where(here, v, none), axis=axis, keepdims=True, initial=none, dtype=v.dtype)
    return v, here.any(axis=axis, keepdims=True)


def summed(case, e):
    return [i for i in free(case, e) if i not in case["output"]]


def summed_addends(case, e):
    """The sums that the notation implies stand in each addend, whatever parentheses are around."""
    if e[0] in ("+", "-"):
        arguments = [summed_addends(case, a) for a in e[1:]]
        return np.negative(*arguments) if len(arguments) == 1 else BINARY[e[0]](*arguments)
    v = dense(case, e)
    for i in summed(case, e):
        axis = INDICES.index(i)
        v = np.any(v, axis, keepdims=True) if v.dtype == bool else np.sum(v, axis, keepdims=True, dtype=v.dtype)
    return v


def expected(case):
    total = None
    for term in case["terms"]:
        if case["semiring"]:
            v = semiring_values(case, term)
            for i in summed(case, term):
                v = reduce_semiring(case["semiring"], *v, INDICES.index(i))
            v = (np.where(v[1], v[0], ground(case["semiring"], v[0].dtype)), v[1])
            total = v if total is None else unite(case["semiring"], total, v)
            continue
        v = summed_addends(case, term)
        total = v if total is None else total + v
    if case["semiring"]:
        total = total[0]
    total = np.asarray(total)
    total = spread(case, total.reshape((1,) * (len(INDICES) - total.ndim) + total.shape), case["output"])
    rest = tuple(k for k, i in enumerate(INDICES) if i not in case["output"])
    kept = [i for i in INDICES if i in case["output"]]
    return np.squeeze(total, rest).transpose([kept.index(i) for i in case["output"]])


def is_complex(case, e):
    return any(case["operands"][n]["array"].dtype.kind == "c" for n in accessed(e))


def accessed(e):
    return [e[1]] if e[0] == "access" else [n for a in e[1:] if isinstance(a, tuple) for n in accessed(a)]


def divided(rng, case, access):
    """A quotient of expressions: what is absent above stays absent, whatever stands below."""
    pick = lambda *choices: choices[int(rng.integers(len(choices)))]  # noqa: E731

    def part(numerator):
        a, b = access(), access()
        kind = (
            pick("access", "product", "sum", "map", "reduce")
            if numerator
            else pick("access", "product", "reduce", "+ 1")
        )
        if kind == "product":
            return ("*", a, b)
        if kind == "sum" and set(free(case, a)) == set(free(case, b)):
            return (pick("+", "-"), a, b)
        if kind == "map":
            return (pick("abs", "-"), a)
        if kind == "reduce" and free(case, a):
            return ("reduce", "sum" if numerator else pick("sum", "max", "min"), pick(*free(case, a)), a)
        return ("+", a, ("number", 1)) if kind == "+ 1" else a

    above, below = part(True), part(False)
    empty = any(case["extents"][i] == 0 for i in case["extents"])
    truths = any(case["operands"][n]["array"].dtype == bool for n in accessed(above) + accessed(below))
    if empty or truths:
        return None
    return (pick(*QUOTIENTS), above, below)


def dtypes_of(rng, semiring):
    """What the operands of a wide case may be: one to three dtypes, so that equal ones meet too."""
    every = ["float64", "float64", "float32", "int64", "int32"]
    if semiring is None:
        every += ["complex128", "complex64", "bool"]
    if semiring in ("or-and", "any"):
        every += ["bool"]
    if semiring and "log" in semiring:
        every = every[:3]
    return [str(t) for t in rng.choice(every, int(rng.integers(1, 4)))]


def random_case(seed):
    rng = np.random.default_rng([3, seed])
    wide = seed >= WIDE
    pick = lambda *choices: choices[int(rng.integers(len(choices)))]  # noqa: E731
    extents = {i: int(rng.choice([0, 1, 2, 3, 4, 6], p=[0.02, 0.08, 0.25, 0.3, 0.25, 0.1])) for i in INDICES}
    semiring = pick("min-plus", "max-plus", "max-times", "or-and") if rng.random() < 0.2 else None
    dtype = pick("float64", "float64", "float32", "int64", "int32", "complex128")
    if semiring and dtype == "complex128":
        dtype = "float64"
    if wide and semiring:
        semiring = pick(*RINGS)
    dtypes = dtypes_of(rng, semiring) if wide else None
    if not wide and dtype == "float32" and np.random.default_rng([5, seed]).random() < 0.3:
        dtype = "float16"
    case = dict(extents=extents, semiring=semiring, operands={}, terms=[], seed=seed)
    known = list(rng.choice(list(INDICES), int(rng.integers(1, 6)), replace=False))
    for name in "ABCD"[: int(rng.integers(1, 5))]:
        rank = int(rng.choice([0, 1, 2, 3, 4], p=[0.05, 0.25, 0.5, 0.15, 0.05]))
        if wide:
            rank, dtype = min(5, rank + int(rng.random() < 0.3)), pick(*dtypes)
        repeat = rng.random() < 0.1
        indices = [str(i) for i in rng.choice(known, rank if repeat else min(rank, len(known)), replace=repeat)]
        shape = [extents[i] for i in indices]
        if indices and rng.random() < 0.1 and len(set(indices)) == len(indices):
            shape[int(rng.integers(len(shape)))] = 1
        array = rng.integers(1, 5, shape).astype(dtype)
        if semiring not in OF_POSITIVE:
            array = (array * rng.choice([1, 1, -1], shape)).astype(dtype)
        if dtype.startswith("complex"):
            array = (array + 1j * rng.integers(-2, 3, shape)).astype(dtype)
        if semiring == "any":
            array = np.ones(shape, dtype)
        is_dense = rng.random() < (0.6 if seed >= NESTED else 0.35)
        if semiring and semiring != "any" and is_dense and seed % 3 == 0:  # values that stand for nothing, among others
            array = np.where(np.random.default_rng([4, seed]).random(shape) < 0.3, ground(semiring, dtype), array)
            array = array.astype(dtype)
        if not (is_dense and rng.random() < 0.5):
            array = np.where(rng.random(shape) < rng.choice([0.1, 0.4, 0.8]), array, 0).astype(dtype)
        format = None if is_dense or not indices else random_format(rng, len(indices), structured=seed >= STRUCTURED)
        if format is not None and seed >= REGISTERED:
            format = with_own_levels(np.random.default_rng([6, seed]), format)
        if format is not None and seed >= OF_DIMENSIONS:
            format = with_n_of_dimensions(np.random.default_rng([7, seed]), format, shape)
        if format is not None and st.Format(format, rank=len(indices)).is_all_dense:
            format = None
        if semiring == "any" and format is None:
            array = np.ones(shape, dtype)  # a 0 would be a value, and it is not known which one is taken
        array = thinned(np.asarray(array), format) if format else np.asarray(array)
        case["operands"][name] = dict(indices=indices, array=array, format=format)
    # An extent that only broadcast operands have is 1.
    for i in INDICES:
        sizes = [o["array"].shape[d] for o in case["operands"].values() for d, x in enumerate(o["indices"]) if x == i]
        extents[i] = max(sizes) if sizes and 0 not in sizes else 0 if sizes else extents[i]
    used = [i for i in INDICES if any(i in o["indices"] for o in case["operands"].values())]
    rng.shuffle(used)
    names = list(case["operands"])
    access = lambda: ("access", str(rng.choice(names)))  # noqa: E731

    def factor(depth=0):
        r = rng.random()
        if r < 0.6 or depth > 1 or semiring:
            if semiring and r > 0.85:
                a = access()
                for i in free(case, a)[:1]:
                    return ("reduce", "sum", i, a)
                return a
            return access()
        if r < 0.67:
            return ("number", pick(2, 3, -1, 0.5, 2.0))
        if r < 0.8:
            a = factor(depth + 1)
            f = pick(*(["conj", "abs", "-"] if is_complex(case, a) else WIDE_FUNCTIONS if wide else FUNCTIONS))
            return (f, a) if free(case, a) else a  # NumPy's functions of Python numbers give strong dtypes
        if r < 0.9:
            a = factor(depth + 1)
            indices = free(case, a)
            if not indices:
                return a
            i = pick(*indices)
            unordered = is_complex(case, a) or extents[i] == 0
            op = pick("sum", "sum", "any", "all") if unordered else pick(*REDUCTIONS)
            return ("reduce", op, i, a)
        a, b = access(), access()
        if is_complex(case, a) or is_complex(case, b):
            op = pick("*", "==")
        else:
            op = pick("min", "max", "<", "==", ">=")
        if set(free(case, a)) == set(free(case, b)):
            op = pick("+", "-", op)
        return (op, a, b)

    inner = []  # reductions that several products hold

    def nested():
        """carrier * f(a reduction inside) * more, reduced or not; indices of reductions may be those of the result."""
        carrier = access()
        if not is_complex(case, carrier):
            carrier = pick(carrier, ("!=", carrier, ("number", 0)), (">", carrier, ("number", 1)), ("abs", carrier))
        if not inner or rng.random() < 0.4:
            body = ("*", access(), access())
            inner.append(("reduce", "sum", pick(*free(case, body)), body) if free(case, body) else body)
        term = pick(*inner)
        if free(case, term) and rng.random() < 0.6:
            again = term if rng.random() < 0.3 else None
            term = (pick(*(["conj", "abs", "-"] if is_complex(case, term) else ["cos", "abs", "relu", "-"])), term)
            term = ("*", term, again) if again else term
        term = ("*", carrier, term) if rng.random() < 0.8 else ("*", term, carrier)
        if rng.random() < 0.4:
            term = ("*", term, access())
        if free(case, term) and rng.random() < 0.6:
            term = ("reduce", "sum", pick(*free(case, term)), term)
            term = ("*", access(), term) if rng.random() < 0.4 else term
        return term

    nests = seed >= NESTED and not semiring
    for _ in range(int(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1]))):
        term = nested() if nests else factor()
        if nests:
            case["terms"].append(term if rng.random() < 0.7 else (pick("+", "-"), term, nested()))
            continue
        more = int(rng.choice([0, 1, 2, 3], p=[0.3, 0.4, 0.2, 0.1]))
        for _ in range(min(more, 1) if semiring in OF_PAIRS else more):
            term = ("*", term, factor())
        case["terms"].append(term)
    if not any(t for t in case["terms"] if free(case, t)):
        case["terms"].append(("access", names[0]))
    available = [i for i in used if any(i in free(case, t) for t in case["terms"])]
    case["output"] = [i for i in available if rng.random() < 0.55][: 5 if wide else 3]
    if seed >= DIVIDED and not semiring and not any(is_complex(case, ("access", n)) for n in names):
        small = lambda: ("access", str(rng.choice([n for n in names if len(free(case, ("access", n))) < 4])))  # noqa: E731
        quotient = divided(rng, case, small) if any(len(free(case, ("access", n))) < 4 for n in names) else None
        if quotient and len(free(case, quotient)) <= 4:
            case["output"], case["terms"] = free(case, quotient), [quotient]
    elif len(case["terms"]) == 1 and (wide or dtype in ("float64", "int64")) and not semiring and rng.random() < 0.15:
        # quotients: at the top, where what is not a number reaches no product
        a, b = access(), access()
        both = list(dict.fromkeys(free(case, a) + free(case, b)))
        if len(both) <= 4 and not is_complex(case, ("*", a, b)):
            dense_right = case["operands"][b[1]]["format"] is None
            if not dense_right or not (case["operands"][b[1]]["array"] == 0).any():
                case["output"] = both
                case["terms"] = [(pick("/", "//", "%"), a, b)]
    case["result"] = random_format(rng, len(case["output"])) if case["output"] and rng.random() < 0.5 else None
    if BLOCKED <= seed < NESTED and len(case["output"]) == 2:
        draw = np.random.default_rng([5, seed])
        if draw.random() < 0.8:
            case["result"] = random_blocks(draw)
    case["mask"] = None
    if case["output"] and rng.random() < (0.5 if nests else 0.2):
        m = (rng.random([extents[i] for i in case["output"]]) < 0.4).astype(float)
        case["mask"] = dict(array=m, format=None if rng.random() < 0.2 else random_format(rng, m.ndim))
        case["mask"]["complement"] = bool(rng.random() < 0.4)
        draw = np.random.default_rng([6, seed])
        case["mask"]["kind"] = str(draw.choice(MASKS))
        case["mask"]["beside"] = draw.integers(0, 2, m.shape)
    if seed >= ASKED:
        draw = np.random.default_rng([7, seed])
        for o in case["operands"].values():
            if o["format"] is not None and draw.random() < 0.5:
                o["format"] = str(draw.choice(["twice leaf", "twice dense", "twice compressed", "twice bitmap"]))
        given = [o["array"].dtype for o in case["operands"].values()]
        choices = (
            ["complex64", "complex128"]
            if all(t.kind == "c" for t in given)
            else ["int64", "int32", "float32", "float64"]
        )
        fitting = [t for t in choices if all(np.can_cast(g, t, "same_kind") for g in given)]
        if fitting and not semiring and draw.random() < 0.7:
            case["dtype"] = str(draw.choice(fitting))
    return case


def expected_in_dtype(case):
    """Operands are cast first, the result at the end; TypeError where it is of a later kind."""
    if "dtype" not in case:
        return expected(case)
    operands = {
        n: o | dict(array=o["array"].astype(case["dtype"]), stored=o["array"]) for n, o in case["operands"].items()
    }
    want = expected(case | dict(operands=operands))
    return want.astype(case["dtype"], casting="same_kind")


# What a mask's 1 stands for: an element of numbers that is stored, truth, truth beside false elements that are stored
# too, or truth where nothing is stored as well.
MASKS = ("stored", "true", "compared", "absent")


def as_mask(mask):
    m, format = mask["array"], mask["format"]
    if format is None or st.Format(format, m.ndim).is_all_dense or mask["kind"] == "true":
        return as_operand(dict(array=m != 0, format=format))
    if mask["kind"] == "stored":
        return as_operand(mask)
    truth, sign = (2.0, ">") if mask["kind"] == "compared" else (mask["beside"], "<")
    numbers = st.from_dense(np.where(m != 0, truth, mask["beside"] if sign == ">" else 2.0), format)
    indices = ",".join("ijklmnop"[: m.ndim])
    return st._core.evaluate(f"M({indices}) = A({indices}) {sign} 1.5", {"A": numbers}, general=True)


def as_operand(o):
    if o["format"] is not None and o["format"].startswith("twice"):
        return doubled(o["array"], o["format"].split()[1])
    return o["array"] if o["format"] is None else st.from_dense(o["array"], o["format"])


def tolerance(case, spec, used):
    dtypes = {str(case["operands"][n]["array"].dtype) for n in used} | {case.get("dtype", "float64")}
    truths = any(word in spec for word in ("<", ">=", "==", "any", "all"))
    if truths or "float16" in dtypes or ("bool" in dtypes and any(f in spec for f in INEXACT)):
        return 2e-2  # functions of truth values are float16 in NumPy
    return 1e-4 if dtypes & {"float32", "complex64"} else 1e-9


def evaluated(case, spec, operands, **options):
    before = st.settings.engine
    st.settings.engine = case.get("engine", before)
    try:
        return st._core.evaluate(spec, operands, **options, general=case["general"])
    finally:
        st.settings.engine = before


def failure(case):
    """None, or what is wrong. case["nse"] says how many elements a sparse result has."""
    case["nse"] = None
    spec = whole_text(case)
    used = st._core.expression_operands(spec)
    for i in INDICES:  # what is used decides how far an index goes: a 1 broadcasts
        given = [case["operands"][n] for n in used]
        sizes = [o["array"].shape[d] for o in given for d, x in enumerate(o["indices"]) if x == i]
        if sizes:
            case["extents"][i] = 0 if 0 in sizes else max(sizes)
    if case["mask"] is not None:
        for part in ("array", "beside"):
            case["mask"][part] = np.resize(case["mask"][part], [case["extents"][i] for i in case["output"]])
    refused, want = None, None
    with warnings.catch_warnings(), np.errstate(all="ignore", over="raise"):
        warnings.simplefilter("ignore")
        try:
            want = expected_in_dtype(case)
        except FloatingPointError:  # of an infinity NumPy makes NaN times 0, which an absent element annihilates
            return None
        except (TypeError, ValueError) as e:  # NumPy has no such operation: neither have we
            refused = e
    try:
        operands = {n: as_operand(case["operands"][n]) for n in used}
        mask = None if case["mask"] is None else as_mask(case["mask"])
        complement = mask is not None and case["mask"]["complement"]
        options = dict(format=case["result"], semiring=case["semiring"], mask=mask, complement_mask=complement)
        options["dtype"] = case.get("dtype")
        got = evaluated(case, spec, operands, **options)
        if isinstance(got, st.Tensor):
            got.validate()
            asked = case["result"] and st.Format(case["result"], len(case["output"]))
            if asked and asked.signature != got.format.signature:
                return f"format {got.format}"
            fill, case["nse"] = got.fill, got.nse
            got = np.asarray(got.to_dense())
        else:
            got, fill = np.asarray(got), None
    except Exception as e:
        return None if refused and isinstance(e, (st.DTypeError, st.ExpressionError)) else f"{type(e).__name__}: {e}"
    if refused:
        return f"a result where NumPy says {refused}"
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}"
    if got.dtype != want.dtype:
        return f"dtype {got.dtype}, not {want.dtype}"
    if case["mask"] is not None:
        inside = (case["mask"]["array"] != 0) != complement
        outside = got[~inside]
        absent = np.full_like(outside, outside[:1].sum() if fill is None else fill)
        if not np.array_equal(outside, absent, equal_nan=got.dtype.kind in "fc"):
            return f"elements outside of the mask: {outside}"
        got, want = got[inside], want[inside]
    with np.errstate(all="ignore"):
        rtol = tolerance(case, spec, used)
        close = got.dtype.kind in "fc" and np.allclose(got, want, rtol=rtol, atol=rtol, equal_nan=True)
        same = close or np.array_equal(got, want)
    return None if same else f"values\n{got}\ninstead of\n{want}"


def smaller_cases(case):
    def changed(**what):
        c = copy.deepcopy(case)
        c.update(what)
        return c

    for k in range(len(case["terms"])):
        if len(case["terms"]) > 1:
            yield changed(terms=case["terms"][:k] + case["terms"][k + 1 :])
        for part in case["terms"][k][1:]:
            if isinstance(part, tuple):
                yield changed(terms=case["terms"][:k] + [part] + case["terms"][k + 1 :])
    if case["mask"] is not None:
        yield changed(mask=None)
        if case["mask"]["complement"]:
            yield changed(mask=case["mask"] | dict(array=1 - case["mask"]["array"], complement=False))
    if case["result"] is not None:
        yield changed(result=None)
    counts_absent = case["semiring"] or any(t[0] in ("/", "//", "%") for t in case["terms"])
    for n, o in case["operands"].items():
        for format in (None, "COO"):
            if o["format"] not in (None, format) and not (format is None and counts_absent):
                c = copy.deepcopy(case)
                c["operands"][n]["format"] = format
                yield c
        if case["semiring"] == "any" and o["format"] is None:
            continue  # all are 1
        for at in itertools.islice(np.argwhere(o["array"]) if o["array"].ndim else (), 40):
            c = copy.deepcopy(case)
            c["operands"][n]["array"][tuple(at)] = 0
            yield c


def shrink(case):
    for _ in range(200):
        for c in smaller_cases(case):
            try:
                if all(i in {x for t in c["terms"] for x in free(c, t)} for i in c["output"]) and failure(c):
                    case = c
                    break
            except Exception:
                continue
        else:
            return case
    return case


def describe(case):
    asked = f", dtype {case['dtype']}" if "dtype" in case else ""
    lines = [f"seed {case['seed']}: {whole_text(case)}{asked}"]
    lines.append(f"  extents {case['extents']}, semiring {case['semiring']}, result {case['result']}")
    engine = f", engine {case['engine']}" if "engine" in case else ""
    lines.append("  by the general path" if case["general"] else f"  by the first way that serves{engine}")
    used = st._core.expression_operands(whole_text(case))
    for n in used:
        o = case["operands"][n]
        lines.append(f"  {n} = {o['array'].tolist()} {o['array'].dtype} in {o['format'] or 'dense'}")
    if case["mask"] is not None:
        of = "complement of " if case["mask"]["complement"] else ""
        m = case["mask"]
        lines.append(f"  mask = {of}{m['array'].tolist()} {m['kind']} in {m['format'] or 'dense'}")
    return "\n".join(lines)


def check(seed, compiled=True):
    """By the general path, by the interpreter, and by whatever serves first, which is compiled code mostly."""
    case, stored = random_case(seed), {}
    ways = [(True, "interpreter"), (False, "interpreter")]
    if compiled and st.settings.engine != "interpreter":
        ways.append((False, st.settings.engine))
    for case["general"], case["engine"] in ways:
        if failure(case):
            case = shrink(case)
            raise AssertionError(f"{describe(case)}\n  {failure(case)}")
        if not case["general"]:
            stored[case["engine"]] = case["nse"]
    if len(set(stored.values())) > 1:
        raise AssertionError(f"{describe(case)}\n  engines store different numbers of elements: {stored}")
