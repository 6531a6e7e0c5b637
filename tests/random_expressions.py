"""Random expressions, formats and results of the general path against NumPy's dense arithmetic. One seed is one case.

python tests/campaign.py --kind evaluate

A case is 1 to 4 operands of 0 to 4 dimensions over up to 5 indices, sums of products with functions, written
reductions, semirings, masks, a format for each operand and for the result. Values are small integers; a case that
fails is made smaller and printed.
"""

import copy
import itertools
import warnings

import numpy as np

import strata as st
from differential import random_format

INDICES = "ijklm"
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
REDUCTIONS = {"sum": np.sum, "max": np.max, "min": np.min, "any": np.any, "all": np.all}
BINARY = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "min": np.minimum, "max": np.maximum, "<": np.less, "==": np.equal,
    ">=": np.greater_equal, "/": np.divide, "//": np.floor_divide, "%": np.remainder,
}  # fmt: skip
IDENTITY = {"min-plus": "max", "max-plus": "min", "max-times": "min"}


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
        return f"(-({inner}))" if e[0] == "-" else f"sqrt(abs({inner}))" if e[0] == "sqrt" else f"{e[0]}({inner})"
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
        if depth < 0 or (depth == 0 and s[k : k + 3] in (" + ", " - ", " < ", " ==", " >=")):
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
        return FUNCTIONS[e[0]](dense(case, e[1]))
    a, b = dense(case, e[1]), dense(case, e[2])
    return a * b if e[0] == "*" else BINARY[e[0]](a, b)  # NumPy's multiply makes an array of two Python numbers


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
        times = np.logical_and if ring == "or-and" else np.multiply if ring == "max-times" else np.add
        none = ground(ring, np.result_type(a, b))  # nothing times something is nothing
        return np.where((a == none) | (b == none), none, times(a, b)), ha & hb
    a, b, ha, hb = np.broadcast_arrays(a, b, ha, hb)
    return combine(ring, np.where(ha, a, ground(ring, a.dtype)), np.where(hb, b, ground(ring, b.dtype))), ha | hb


def ground(ring, dtype):
    if ring == "or-and":
        return False
    if np.dtype(dtype).kind == "f":
        return np.inf if ring == "min-plus" else -np.inf
    info = np.iinfo(dtype)
    return info.max if ring == "min-plus" else info.min


def combine(ring, a, b):
    return np.logical_or(a, b) if ring == "or-and" else np.minimum(a, b) if ring == "min-plus" else np.maximum(a, b)


def reduce_semiring(ring, v, here, axis):
    v, here = np.broadcast_arrays(v, here)
    v = np.where(here, v, ground(ring, v.dtype))
    ufunc = np.logical_or if ring == "or-and" else np.minimum if ring == "min-plus" else np.maximum
    return ufunc.reduce(v, axis=axis, keepdims=True, initial=ground(ring, v.dtype)), here.any(axis=axis, keepdims=True)


def expected(case):
    total = None
    for term in case["terms"]:
        summed = [i for i in free(case, term) if i not in case["output"]]
        if case["semiring"]:
            v = semiring_values(case, term)
            for i in summed:
                v = reduce_semiring(case["semiring"], *v, INDICES.index(i))
            v = (np.where(v[1], v[0], ground(case["semiring"], v[0].dtype)), v[1])
            total = v if total is None else (combine(case["semiring"], total[0], v[0]), total[1] | v[1])
            continue
        v = dense(case, term)
        for i in summed:
            axis = INDICES.index(i)
            v = np.any(v, axis, keepdims=True) if v.dtype == bool else np.sum(v, axis, keepdims=True, dtype=v.dtype)
        total = v if total is None else total + v
    if case["semiring"]:
        total = total[0]
    total = np.asarray(total)
    total = spread(case, total.reshape((1,) * (len(INDICES) - total.ndim) + total.shape), case["output"])
    rest = tuple(k for k, i in enumerate(INDICES) if i not in case["output"])
    kept = [i for i in INDICES if i in case["output"]]
    return np.squeeze(total, rest).transpose([kept.index(i) for i in case["output"]])


def random_case(seed):
    rng = np.random.default_rng([3, seed])
    pick = lambda *choices: choices[int(rng.integers(len(choices)))]  # noqa: E731
    extents = {i: int(rng.choice([0, 1, 2, 3, 4, 6], p=[0.02, 0.08, 0.25, 0.3, 0.25, 0.1])) for i in INDICES}
    semiring = pick("min-plus", "max-plus", "max-times", "or-and") if rng.random() < 0.2 else None
    dtype = pick("float64", "float64", "float32", "int64", "int32", "complex128")
    if semiring and dtype == "complex128":
        dtype = "float64"
    if dtype == "float32" and np.random.default_rng([5, seed]).random() < 0.3:
        dtype = "float16"
    case = dict(extents=extents, semiring=semiring, dtype=dtype, operands={}, terms=[], seed=seed)
    known = list(rng.choice(list(INDICES), int(rng.integers(1, 6)), replace=False))
    for name in "ABCD"[: int(rng.integers(1, 5))]:
        rank = int(rng.choice([0, 1, 2, 3, 4], p=[0.05, 0.25, 0.5, 0.15, 0.05]))
        repeat = rng.random() < 0.1
        indices = [str(i) for i in rng.choice(known, rank if repeat else min(rank, len(known)), replace=repeat)]
        shape = [extents[i] for i in indices]
        if indices and rng.random() < 0.1 and len(set(indices)) == len(indices):
            shape[int(rng.integers(len(shape)))] = 1
        array = rng.integers(1, 5, shape).astype(dtype)
        if dtype != "uint8" and semiring != "max-times":
            array = (array * rng.choice([1, 1, -1], shape)).astype(dtype)
        if dtype == "complex128":
            array = array + 1j * rng.integers(-2, 3, shape)
        is_dense = rng.random() < 0.35
        if semiring and is_dense and seed % 3 == 0:  # values that stand for nothing, among others
            array = np.where(np.random.default_rng([4, seed]).random(shape) < 0.3, ground(semiring, dtype), array)
            array = array.astype(dtype)
        if not (is_dense and rng.random() < 0.5):
            array = np.where(rng.random(shape) < rng.choice([0.1, 0.4, 0.8]), array, 0).astype(dtype)
        format = None if is_dense or not indices else random_format(rng, len(indices))
        if format is not None and st.Format(format, rank=len(indices)).is_all_dense:
            format = None
        case["operands"][name] = dict(indices=indices, array=np.asarray(array), format=format)
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
            f = pick(*(["conj", "abs", "-"] if dtype == "complex128" else FUNCTIONS))
            return (f, a) if free(case, a) else a  # NumPy's functions of Python numbers give strong dtypes
        if r < 0.9:
            a = factor(depth + 1)
            indices = free(case, a)
            if not indices:
                return a
            i = pick(*indices)
            op = pick("sum", "sum", "any", "all") if dtype == "complex128" or extents[i] == 0 else pick(*REDUCTIONS)
            return ("reduce", op, i, a)
        a, b = access(), access()
        if dtype == "complex128":
            op = pick("*", "==")
        else:
            op = pick("min", "max", "<", "==", ">=")
        if set(free(case, a)) == set(free(case, b)):
            op = pick("+", "-", op)
        return (op, a, b)

    for _ in range(int(rng.choice([1, 2, 3], p=[0.6, 0.3, 0.1]))):
        term = factor()
        for _ in range(int(rng.choice([0, 1, 2, 3], p=[0.3, 0.4, 0.2, 0.1]))):
            term = ("*", term, factor())
        case["terms"].append(term)
    if not any(t for t in case["terms"] if free(case, t)):
        case["terms"].append(("access", names[0]))
    available = [i for i in used if any(i in free(case, t) for t in case["terms"])]
    case["output"] = [i for i in available if rng.random() < 0.55][:3]
    if len(case["terms"]) == 1 and dtype in ("float64", "int64") and not semiring and rng.random() < 0.15:
        # quotients: at the top, where what is not a number reaches no product
        a, b = access(), access()
        both = list(dict.fromkeys(free(case, a) + free(case, b)))
        if len(both) <= 4:
            dense_right = case["operands"][b[1]]["format"] is None
            if not dense_right or not (case["operands"][b[1]]["array"] == 0).any():
                case["output"] = both
                case["terms"] = [(pick("/", "//", "%") if dtype == "float64" else pick("/", "//", "%"), a, b)]
    case["result"] = random_format(rng, len(case["output"])) if case["output"] and rng.random() < 0.5 else None
    case["mask"] = None
    if case["output"] and rng.random() < 0.2:
        m = (rng.random([extents[i] for i in case["output"]]) < 0.4).astype(float)
        case["mask"] = dict(array=m, format=None if rng.random() < 0.2 else random_format(rng, m.ndim))
        case["mask"]["complement"] = bool(rng.random() < 0.4)
    return case


def as_operand(o):
    return o["array"] if o["format"] is None else st.from_dense(o["array"], o["format"])


def failure(case):
    """None, or what is wrong."""
    spec = whole_text(case)
    used = st._core.expression_operands(spec)
    for i in INDICES:  # what is used decides how far an index goes: a 1 broadcasts
        given = [case["operands"][n] for n in used]
        sizes = [o["array"].shape[d] for o in given for d, x in enumerate(o["indices"]) if x == i]
        if sizes:
            case["extents"][i] = 0 if 0 in sizes else max(sizes)
    if case["mask"] is not None:
        case["mask"]["array"] = np.resize(case["mask"]["array"], [case["extents"][i] for i in case["output"]])
    refused, want = None, None
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want = expected(case)
        except (TypeError, ValueError) as e:  # NumPy has no such operation: neither have we
            refused = e
    try:
        operands = {n: as_operand(case["operands"][n]) for n in used}
        mask = None if case["mask"] is None else as_operand(case["mask"])
        complement = mask is not None and case["mask"]["complement"]
        options = dict(format=case["result"], semiring=case["semiring"], mask=mask, complement_mask=complement)
        got = st._core.evaluate(spec, operands, **options, general=case["general"])
        if isinstance(got, st.Tensor):
            got.validate()
            asked = case["result"] and st.Format(case["result"], len(case["output"]))
            if asked and asked.signature != got.format.signature:
                return f"format {got.format}"
            fill = got.fill
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
        rtol = {"float16": 2e-2, "float32": 1e-4}.get(case["dtype"], 1e-9)
        if any(word in spec for word in ("<", ">=", "==", "any", "all")):
            rtol = 2e-2  # functions of truth values are float16 in NumPy
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
    for n, o in case["operands"].items():
        for format in (None, "COO"):
            if o["format"] not in (None, format) and not (format is None and case["semiring"]):
                c = copy.deepcopy(case)
                c["operands"][n]["format"] = format
                yield c
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
    lines = [f"seed {case['seed']}: {whole_text(case)}"]
    lines.append(f"  extents {case['extents']}, semiring {case['semiring']}, result {case['result']}")
    lines.append("  by the general path" if case["general"] else "  by the first way that serves")
    used = st._core.expression_operands(whole_text(case))
    for n in used:
        o = case["operands"][n]
        lines.append(f"  {n} = {o['array'].tolist()} {o['array'].dtype} in {o['format'] or 'dense'}")
    if case["mask"] is not None:
        of = "complement of " if case["mask"]["complement"] else ""
        lines.append(f"  mask = {of}{case['mask']['array'].tolist()} in {case['mask']['format'] or 'dense'}")
    return "\n".join(lines)


def check(seed):
    """By the general path, and by whatever serves first."""
    case = random_case(seed)
    for case["general"] in (True, False):
        if failure(case):
            case = shrink(case)
            raise AssertionError(f"{describe(case)}\n  {failure(case)}")
