"""What a page asks for, as plain data: what a format is, what a matrix becomes in it, which code is generated for it."""

import functools

from .. import _core
from ..errors import ArgumentError, Error, FormatError, TensorError, Unsupported
from . import matrices

#: characters of a format
LONGEST_FORMAT = 500
#: slots of any level of a matrix that is shown, and of one that stands in where code is generated
_MOST_SHOWN, _MOST_STANDING_IN = 1 << 16, 1 << 22
#: extent of every index where code is generated: more than those of trailing dense ones that are specialised
_EXTENT = 200
#: lines of a text
_SHOWN = 1000  # the extents that `strata show` takes
_LONGEST_TEXT = 1000

#: expression: (what it is called, the operands that are in the format; others are dense)
EXPRESSIONS = {
    "y(i) = A(i,j) * x(j)": ("matrix times vector (SpMV)", "A"),
    "y(j) = A(i,j) * x(i)": ("transposed, times vector", "A"),
    "Y(i,k) = A(i,j) * X(j,k)": ("times dense matrix (SpMM)", "A"),
    "C(i,j) = A(i,j) * U(i,k) * V(j,k)": ("dense product, sampled (SDDMM)", "A"),
    "s(i) = sum(j, A(i,j))": ("sums of rows", "A"),
    "C(i,j) = A(i,j) + B(i,j)": ("sum of two such matrices", "AB"),
    "C(i,k) = A(i,j) * B(j,k)": ("product of two such matrices (SpGEMM)", "AB"),
}


def error(e):
    """An error, for JSON. `where` counts in UTF-16, as pages do; `mended` is the text with the fix made, where that parses."""
    out = {"kind": type(e).__name__, "message": str(e), "what": str(e).split("\n")[0]}
    for part in ("what", "expected", "got", "fix"):
        out[part] = getattr(e, part, "") or out.get(part, "")
    if getattr(e, "where", None) is not None and e.text:
        begin, end = (len(e.text.encode()[:k].decode(errors="ignore")) for k in e.where)
        out["where"] = [len(e.text[:k].encode("utf-16-le")) // 2 for k in (begin, end)]
        mended = _mended(e, begin, end)
        if mended:
            out["mended"] = mended
    if hasattr(e, "cell"):
        out["cell"] = e.cell
    return out


def _mended(e, begin, end):
    fix = e.fix.strip()
    if not isinstance(e, FormatError) or not fix.startswith("write '") or not fix.endswith("'"):
        return None
    text = e.text[:begin] + fix[len("write '") : -1] + e.text[end:]
    try:
        return text if _core.Format(text).rank == 2 else None
    except Error:
        return None


def format_of(text):
    """The format of a text that a page sends. FormatError."""
    if not isinstance(text, str):
        raise ArgumentError("a format is given by its text", expected="a str", got=type(text).__name__)
    if len(text) > LONGEST_FORMAT:
        raise FormatError(
            "the format is too long for the explorer",
            expected=f"at most {LONGEST_FORMAT} characters",
            got=str(len(text)),
        )
    if not text.isprintable() and not text.translate({ord(c): None for c in "\n\r\t"}).isprintable():
        raise FormatError("a format is written in characters that can be seen", got=ascii(text)[:60])
    format = _core.Format(text)
    if format.rank != 2:
        raise FormatError(
            "the explorer shows matrices",
            expected="a format of 2 dimensions",
            got=f"{format.rank} in {format}",
        )
    return format


def slots(format, shape, stored):
    """A bound of the slots of any level, of a matrix of this shape with so many stored elements: what it would take to look."""
    most = 0
    for part in format.parts:
        positions = 1
        for level, (_, size) in zip(part.levels, part.level_ranges(shape)):
            if (
                level.kind == "compressed"
            ):  # each position has an element below it; where it is not unique, each has its own
                positions = min(positions * size, stored) if level.unique else stored
            elif level.kind == "padded":
                positions *= level.arg or size
            elif level.kind == "structured":
                positions *= level.arg
            elif level.kind != "singleton":
                positions *= size
            most = max(most, positions)
    return most


def _check_size(format, shape, stored, most):
    if slots(format, shape, stored) > most:
        raise TensorError(
            f"{shape[0]} x {shape[1]} takes too many slots in this format",
            expected=f"at most {most}",
            got=f"up to {slots(format, shape, stored)}",
            fix="take smaller blocks or pads",
        )


def of_format(format):
    """What a format is: its text, its name, and the levels of each part."""
    return {
        "text": str(format),
        "name": format.name,
        "parts": [{"text": str(p), "name": p.name, "levels": _levels(str(p))} for p in format.parts],
    }


def _levels(text):
    """The levels of a part, as its text has them."""
    inside = text.partition("->")[2].strip()[1:-1]
    out, depth = [""], 0
    for c in inside:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            out.append("")
        else:
            out[-1] += c
    return [level.strip() for level in out if level.strip()]


def of_tensor(format, matrix, dtype):
    """A matrix in a format: its pictures, arrays and bytes."""
    plain = matrices.tensor(matrix, dtype, "CSR")
    _check_size(format, plain.shape, plain.nse, _MOST_SHOWN)
    t = matrices.tensor(matrix, dtype, format)
    beside = plain, _core.from_dense(plain.to_dense(), "dense")
    return {
        "elements": t.draw(limit=matrices.LARGEST).svg,
        "storage": t.draw_storage(limit=64).svg,
        "text": str(t),
        "bytes": [
            {"name": format.name or "this format", **_bytes(t)},
            *({"name": str(other.format.name), **_bytes(other)} for other in beside if other.format != format),
        ],
        "python": _python(matrix, t),
    }


def _bytes(t):
    """Bytes of positions, coordinates and values; what is packed counts as it is packed."""
    pos = values = 0
    for part in t.parts:
        values += part.values.nbytes
        pos += sum(part.pos(k).nbytes for k, level in enumerate(part.format.levels) if level.has_pos)
    return {"pos": pos, "crd": t.nbytes - pos - values, "values": values, "total": t.nbytes}


def _python(matrix, t):
    """The program that makes the tensor."""
    rows, columns = ([cell[k] for cell in matrix["cells"]] for k in (0, 1))
    values = ", ".join(_literal(cell[2].strip()) for cell in matrix["cells"])
    return (
        "import numpy as np\nimport strata as st\n\n"
        f"rows = {rows}\ncolumns = {columns}\n"
        f'values = np.array([{values}], dtype="{t.dtype}")\n'
        f'A = st.from_coo((rows, columns), values, {t.shape}, "{t.format.name or t.format}")\n'
        "print(A.draw_storage())\n"
    )


def _literal(text):
    text = text.lstrip("+").lower()
    try:
        return repr(int(text))
    except ValueError:
        return f'float("{text}")' if "n" in text else text


@functools.lru_cache(maxsize=256)
def _code(text, expression, dtype):
    stored = EXPRESSIONS[expression][1]
    operands = {name: text if name in stored else "dense" for name in _core.expression_operands(expression)}
    name = _core.Format(text).name or text
    out = {"command": f'strata show "{expression}" ' + " ".join(f'{operand}="{name}"' for operand in stored)}
    try:
        out.update(_sections(_core.show_expression(expression, operands, _SHOWN, dtype, True)))
    except TensorError as e:  # not every format can hold the elements that stand in for data
        raise Unsupported(
            f"without data this expression cannot be shown for {name}",
            got=str(e).split("\n")[0],
            fix="st.plan and st.evaluate take a tensor's own elements",
        ) from None
    try:
        out["plan"] = _cut(_core.show_expression(expression, operands, _SHOWN, dtype, False))
    except TensorError as e:
        out["plan"] = f"{name} cannot hold the elements that stand in for data here:\n\n{e}"
    return out


def of_code(format, expression, dtype):
    """What is generated for an expression of matrices in this format: schedule, loop IR, C; and why it is that."""
    if not isinstance(expression, str) or expression not in EXPRESSIONS:
        raise ArgumentError(
            "there is no such expression here", expected="; ".join(EXPRESSIONS), got=str(expression)[:80]
        )
    if dtype not in matrices.DTYPES:
        raise ArgumentError("there is no such dtype here", expected=", ".join(matrices.DTYPES), got=str(dtype)[:60])
    _check_size(format, (_EXTENT, _EXTENT), 16 * _EXTENT, _MOST_STANDING_IN)
    return _code(str(format), expression, dtype)


def _sections(shown):
    """The text of `strata show`, taken apart at its headings: what is above the loops, the loops, and C."""
    out = {"schedule": [], "loops": [], "c": []}
    lines, kind = [], "schedule"
    out[kind].append(lines)
    for line in shown.split("\n"):
        if line.startswith("--- ") and line.endswith(" ---"):
            title = line[4:-4]
            kind = "loops" if title.startswith("loop IR") else "c" if title.startswith("C") else "schedule"
            lines = []
            out[kind].append(lines)
            if " of part " in title or kind == "schedule":
                lines.append(line)
        else:
            lines.append(line)
    return {kind: _cut("\n\n".join("\n".join(lines).strip("\n") for lines in found)) for kind, found in out.items()}


def _cut(text):
    lines = text.strip("\n").split("\n")
    if len(lines) <= _LONGEST_TEXT:
        return "\n".join(lines)
    return "\n".join([*lines[:_LONGEST_TEXT], f"... {len(lines) - _LONGEST_TEXT} more lines: strata show prints them"])


def _or_error(make, *arguments):
    try:
        return make(*arguments)
    except (Error, MemoryError) as e:
        return {"error": error(e)}


def answer(query):
    """The answer to {format, matrix, expression, dtype}: `format`, and `tensor` and `code` where a matrix and an expression
    were sent. Each is what it is, or {error}."""
    if not isinstance(query, dict):
        raise ArgumentError("a query is an object", expected="{format, matrix, expression}", got=type(query).__name__)
    try:
        format = format_of(query.get("format"))
    except FormatError as e:
        return {"format": {"error": error(e)}}
    dtype = query.get("dtype", "float64")
    out = {"format": of_format(format)}
    if query.get("matrix") is not None:
        out["tensor"] = _or_error(of_tensor, format, query["matrix"], dtype)
    if query.get("expression") is not None:
        out["code"] = _or_error(of_code, format, query["expression"], dtype)
    return out
