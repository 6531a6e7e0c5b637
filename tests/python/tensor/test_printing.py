"""What a tensor prints: whole texts, checked by hand, for each kind of level, and every line against the arrays."""

import ast
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from named_formats import BY_RANK, PRUNED, two_of_four

import strata as st

MATRIX = np.array([[1, 0, 0, 2], [0, 0, 0, 0], [0, 3, 4, 0]])  # int64, as in the blog's example
BAND = np.array([[1, 0, 0, 0], [5, 2, 0, 0], [0, 6, 3, 0]])
DELTAS = np.array([[1, 0, 0, 0, 0, 0, 0, 2], [0, 0, 3, 4, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 0, 5]])  # the blog's figure
PAIRS = np.array([[1, 0, 0, 2], [0, 3, 4, 0], [0, 0, 7, 0]])
BATCHES = np.array([[[1, 0], [0, 2]], [[0, 0], [3, 0]]])
BLOCK_AND_REST = np.array([[1, 2, 0, 0], [3, 4, 0, 0], [0, 0, 0, 0], [0, 0, 5, 0]])

GOLDEN = {
    "dense": (
        MATRIX,
        "DenseLeft",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=2,LVL=2>
format   : [i, j] -> (j: <LevelFormat.DENSE>, i: <LevelFormat.DENSE>)
device   : cpu
dim      : [3, 4]
lvl      : [4, 3]
nse      : 12
values   : [1, 0, 0, 0, 0, 3, 0, 0, 4, 2, 0, 0] #12
data     : 96 bytes
sparsity : 0.00%
----""",
    ),
    "compressed": (
        MATRIX,
        "DCSR",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=2,LVL=2>
format   : [i, j] -> (i: <LevelFormat.COMPRESSED>, j: <LevelFormat.COMPRESSED>)
device   : cpu
dim      : [3, 4]
lvl      : [3, 4]
nse      : 4
pos[0]   : [0, 2] #2
pos[1]   : [0, 2, 4] #3
crd[0]   : [0, 2] #2
crd[1]   : [0, 3, 1, 2] #4
values   : [1, 2, 3, 4] #4
data     : 76 bytes
sparsity : 66.67%
----""",
    ),
    "singleton": (
        MATRIX,
        "COO",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=2,LVL=2>
format   : [i, j] -> (i: (<LevelFormat.COMPRESSED>, <LevelProperty.NONUNIQUE>), j: <LevelFormat.SINGLETON>)
device   : cpu
dim      : [3, 4]
lvl      : [3, 4]
nse      : 4
pos[0]   : [0, 4] #2
crd[0]   : [0, 0, 2, 2] #4
crd[1]   : [0, 3, 1, 2] #4
values   : [1, 2, 3, 4] #4
data     : 72 bytes
sparsity : 66.67%
----""",
    ),
    # Diagonals -1 and 0 by rows: the first slot lies left of the matrix, has a value and does not count.
    "range": (
        BAND,
        "DIAI",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=2,LVL=2>
format   : [i, j] -> ((j - i): <LevelFormat.COMPRESSED>, i: <LevelFormat.RANGE>)
device   : cpu
dim      : [3, 4]
lvl      : [6, 3]
nse      : 5
pos[0]   : [0, 2] #2
crd[0]   : [-1, 0] #2
values   : [0, 5, 6, 1, 2, 3] #6
data     : 64 bytes
sparsity : 58.33%
----""",
    ),
    # 14 bits of coordinates are 2 bytes; the two zeros among the values bridge gaps of more than 3.
    "delta": (
        DELTAS,
        "delta(2)",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=uint2,DIM=2,LVL=2>
format   : [i, j] -> (i: <LevelFormat.DENSE>, j: (<LevelFormat.DELTA>, 2))
device   : cpu
dim      : [3, 8]
lvl      : [3, 8]
nse      : 7
pos[1]   : [0, 3, 5, 7] #4
crd[1]   : [0, 3, 2, 2, 0, 3, 3] #7
values   : [1, 0, 2, 3, 4, 0, 5] #7
data     : 74 bytes
sparsity : 70.83%
----""",
    ),
    # The last row has one element of its two: 0 stands for the other, and counts.
    "structured": (
        PAIRS,
        "structured(2, 4)",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=uint2,DIM=2,LVL=3>
format   : [i, j] -> (i: <LevelFormat.DENSE>, (j // 4): <LevelFormat.DENSE>, (j % 4): (<LevelFormat.STRUCTURED>, 2))
device   : cpu
dim      : [3, 4]
lvl      : [3, 1, 4]
nse      : 6
crd[2]   : [0, 3, 1, 2, 0, 2] #6
values   : [1, 2, 3, 4, 0, 7] #6
data     : 50 bytes
sparsity : 50.00%
----""",
    ),
    # Two slots a row; those of the empty row have no coordinate and do not count.
    "padded": (
        MATRIX,
        "ELL",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=2,LVL=2>
format   : [i, j] -> (i: <LevelFormat.DENSE>, j: (<LevelFormat.PADDED>, 2))
device   : cpu
dim      : [3, 4]
lvl      : [3, 4]
nse      : 4
crd[1]   : [0, 3, -1, -1, 1, 2] #6
values   : [1, 2, 0, 0, 3, 4] #6
data     : 72 bytes
sparsity : 66.67%
----""",
    ),
    # Bits are kept, a word of 8 bytes for each row; coordinates are shown.
    "bitmap": (
        MATRIX,
        "bitmap",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=uint1,DIM=2,LVL=2>
format   : [i, j] -> (i: <LevelFormat.DENSE>, j: <LevelFormat.BITMAP>)
device   : cpu
dim      : [3, 4]
lvl      : [3, 4]
nse      : 4
pos[1]   : [0, 2, 2, 4] #4
crd[1]   : [0, 3, 1, 2] #4
values   : [1, 2, 3, 4] #4
data     : 72 bytes
sparsity : 66.67%
----""",
    ),
    # The second batch stores less: what lies between the batches is neither shown nor counted.
    "batch": (
        BATCHES,
        "CSR(1)",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=3,LVL=3>
format   : [i, j, k] -> (i: <LevelFormat.BATCH>, j: <LevelFormat.DENSE>, k: <LevelFormat.COMPRESSED>)
device   : cpu
dim      : [2, 2, 2]
lvl      : [2, 2, 2]
nse      : 3
pos[2]   : [0, 1, 2, 0, 0, 1] #6
crd[2]   : [0, 1, 0] #3
values   : [1, 2, 3] #3
data     : 60 bytes
sparsity : 62.50%
----""",
    ),
    "a sum of parts": (
        BLOCK_AND_REST,
        "BSR(2, 2) + COO",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=2,LVL=6>
format   : {blocks} + {rest}
device   : cpu
dim      : [4, 4]
nse      : 5
part[0]  : {blocks}
lvl      : [2, 2, 2, 2]
pos[1]   : [0, 1, 1] #3
crd[1]   : [0] #1
values   : [1, 2, 3, 4] #4
part[1]  : {rest}
lvl      : [4, 4]
pos[0]   : [0, 1] #2
crd[0]   : [3] #1
crd[1]   : [2] #1
values   : [5] #1
data     : 72 bytes
sparsity : 68.75%
----""".format(
            blocks="[i, j] -> ((i // 2): <LevelFormat.DENSE>, (j // 2): <LevelFormat.COMPRESSED>, "
            "(i % 2): <LevelFormat.DENSE>, (j % 2): <LevelFormat.DENSE>)",
            rest="[i, j] -> (i: (<LevelFormat.COMPRESSED>, <LevelProperty.NONUNIQUE>), j: <LevelFormat.SINGLETON>)",
        ),
    ),
    "nothing stored": (
        np.zeros((2, 3), int),
        "CSR",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=2,LVL=2>
format   : [i, j] -> (i: <LevelFormat.DENSE>, j: <LevelFormat.COMPRESSED>)
device   : cpu
dim      : [2, 3]
lvl      : [2, 3]
nse      : 0
pos[1]   : [0, 0, 0] #3
crd[1]   : [] #0
data     : 12 bytes
sparsity : 100.00%
----""",
    ),
    "a scalar": (
        np.array(7),
        "Scalar",
        """\
---- Sparse Tensor<VAL=int64,POS=int32,CRD=int32,DIM=0,LVL=0>
format   : [] -> ()
device   : cpu
dim      : []
lvl      : []
nse      : 1
values   : [7] #1
data     : 8 bytes
sparsity : 0.00%
----""",
    ),
}


@pytest.mark.parametrize("kind", GOLDEN)
def test_whole_texts(kind):
    dense, format, text = GOLDEN[kind]
    t = st.from_dense(dense, format)
    assert repr(t) == str(t) == text


def test_types_of_numbers_and_indices():
    t = st.from_dense(MATRIX, "CSC").to("int8").to(pos_dtype="uint8", crd_dtype="int16")
    assert repr(t).startswith("---- Sparse Tensor<VAL=int8,POS=uint8,CRD=int16,DIM=2,LVL=2>\n")
    assert "\ndata     : 17 bytes\n" in repr(t)  # 5 + 4 * 2 + 4
    with_packed_and_plain = st.from_dense(MATRIX, "(i, j) -> (i: compressed, j: delta(2))")
    assert ",CRD=int32," in repr(with_packed_and_plain)


def test_the_fill_is_shown_where_it_is_not_zero():
    t = st.from_dense(np.array([[9, 1, 9], [9, 9, 2]]), "CSR", fill=9)
    assert "\nnse      : 2\nfill     : 9\npos[1]   : [0, 1, 2] #3\n" in repr(t)


def listed(array):
    """As lists are printed: beyond 32 items the first 32 and "...", beyond 64 the last 32 too."""
    items = [str(x) for x in array.tolist()]
    if len(items) > 32:
        items = [*items[:32], "...", *(items[-32:] if len(items) > 64 else [])]
    return f"[{', '.join(items)}] #{len(array)}"


def crd_type(t):
    """The fewest bits that hold a packed coordinate; the arrays' type otherwise."""
    last = t.format.levels[-1]
    divisor = int(last.expr.rpartition("%")[2]) if last.kind == "structured" else 0
    bits = {"delta": last.arg, "bitmap": 1, "structured": (divisor - 1).bit_length()}.get(last.kind)
    return f"uint{bits}" if bits else t.crd_dtype


@pytest.mark.parametrize("text", BY_RANK[1] + BY_RANK[2] + BY_RANK[3] + PRUNED)
def test_every_line_shows_the_arrays(text):
    """Packed coordinates too are shown as pos() and crd() give them; batches stand one behind the other."""
    f = st.Format(text)
    dense = two_of_four((4, 12)).astype(int)
    dense = {1: dense[0], 2: dense, 3: np.stack([dense, 10 * dense])}[f.rank]  # equal batches: nothing between them
    t = st.from_dense(dense, text)
    levels = list(enumerate(t.format.levels))
    lines = [
        f"---- Sparse Tensor<VAL=int64,POS=int32,CRD={crd_type(t)},DIM={f.rank},LVL={len(levels)}>",
        f"format   : {t.format.blog_string()}",
        "device   : cpu",
        f"dim      : {list(dense.shape)}",
        f"lvl      : {[size for _, size in t.format.level_ranges(dense.shape)]}",
        f"nse      : {t.nse}",
    ]
    has_pos, no_crd = {"compressed", "delta", "bitmap"}, {"dense", "batch", "range"}
    lines += [f"pos[{k}]   : {listed(t.pos(k))}" for k, v in levels if v.kind in has_pos]
    lines += [f"crd[{k}]   : {listed(t.crd(k))}" for k, v in levels if v.kind not in no_crd]
    lines += [
        f"values   : {listed(np.asarray(t.values))}",
        f"data     : {t.nbytes} bytes",
        f"sparsity : {100 - 100 * t.nse / dense.size:.2f}%",
        "----",
    ]
    assert repr(t) == "\n".join(lines)


@pytest.mark.parametrize("text", ["CSR", "DIAI", "delta(2)", "structured(2, 4)", "bitmap", "BSR(2, 3)", "ELL", "COO"])
def test_a_tensor_can_be_read_back_from_its_text(text):
    """Format, coordinates and values are all there."""
    dense = two_of_four((4, 4)).astype(int)
    t = st.from_dense(dense, text)
    lines = {name.strip(): value for name, value in (x.split(": ", 1) for x in repr(t).split("\n")[1:-1])}
    arrays = {name: ast.literal_eval(x.partition(" #")[0]) for name, x in lines.items() if "] #" in x}
    pos, crd = ({int(name[4]): a for name, a in arrays.items() if name.startswith(word)} for word in ("pos", "crd"))
    again = st.Tensor(lines["format"], dense.shape, pos=pos, crd=crd, values=np.array(arrays["values"]))
    assert again.equal(t, storage=True) and np.array_equal(again.to_dense(), dense)


def large(text):
    dense = np.zeros((60, 60))
    dense[::2, ::3] = 1 + np.arange(600).reshape(30, 20)
    dense[10:50, 10:50] = 3
    return st.from_dense(dense, text), dense


@pytest.mark.parametrize("text", ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "delta(4)", "bitmap", "BSR(4, 4) + COO"])
def test_a_large_tensor_says_what_it_is_in_a_few_lines(text):
    t, dense = large(text)
    lines = repr(t).split("\n")
    assert len(lines) <= 9 + 2 * (len(t.parts) > 1) and max(map(len, lines)) < 300
    whole = str(t).split("\n")
    assert lines[0] == whole[0] and lines[-1] == "----" and "arrays   : print(t) shows them" in lines
    assert f"nse      : {t.nse}" in lines and "dim      : [60, 60]" in lines
    assert [x for x in whole if "] #" in x] and not [x for x in lines if "] #" in x]
    assert set(lines) - {"arrays   : print(t) shows them"} <= set(whole)


def test_a_large_tensor_keeps_its_fill():
    t = st.from_dense(np.where(np.eye(50), 9.0, np.arange(2500).reshape(50, 50)), "CSR", fill=9)
    assert "\nfill     : 9\n" in repr(t)


def test_lines_end_at_the_edge_of_a_terminal():
    """Of a terminal of 40 columns; in a pipe they are whole."""
    pty = pytest.importorskip("pty")
    code = (
        "import numpy as np, strata as st; t = st.from_dense(np.arange(40.0).reshape(4, 10), 'CSR'); "
        "print(t); print(repr(t))"
    )
    environment = {**os.environ, "COLUMNS": "40"}
    piped = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=theirs) as p:
        os.close(theirs)
        seen = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux says so where the other end is closed
                break
            if not part:
                break
            seen += part
    os.close(ours)
    assert p.returncode == 0
    lines, whole = seen.decode().replace("\r\n", "\n").split("\n"), piped.stdout.split("\n")
    assert max(map(len, whole)) > 60 and len(lines) == len(whole)
    assert lines == [x if len(x) <= 40 else x[:39] + "…" for x in whole]


@pytest.mark.parametrize("kind", GOLDEN)
def test_notebooks_show_a_table(kind):
    import html

    dense, format, text = GOLDEN[kind]
    shown = st.from_dense(dense, format)._repr_html_()
    rows = re.findall("<tr><th[^>]*>([^<]*)</th><td[^>]*><code>([^<]*)</code></td></tr>", shown)
    told = [tuple(x.strip() for x in line.split(": ", 1)) for line in text.split("\n")[1:-1]]
    assert [(html.unescape(name), html.unescape(value)) for name, value in rows] == told
    assert html.escape(text.split("\n")[0].strip("- ")) in shown


def test_notebooks_show_no_arrays_of_a_large_tensor():
    t, _ = large("CSR")
    assert "print(t) shows them" in t._repr_html_() and "pos[1]" not in t._repr_html_()
