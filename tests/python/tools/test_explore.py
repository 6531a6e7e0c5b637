"""The format explorer: what it answers beside SciPy and NumPy, whom it answers, and the page as a file. The page itself is
driven in a browser by tests/browser."""

import base64
import gzip
import hashlib
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import read_svg
import scipy.sparse as sp

import strata as st
from strata._explore import answer, matrices, page, record, run, server

FORMATS = [
    *page.FORMATS,
    "DCSC",
    "BSR(2, 3)",
    "delta(4)",
    "SkewDIAI",
    "DenseLeft",
    "BlockedELL(2, 2)",
    "delta(1) + COO",
]
SPMV = "y(i) = A(i,j) * x(j)"


def ask(format, matrix=None, **more):
    return answer.answer({"format": format, "matrix": matrix, **more})


def array_of(matrix):
    a = np.zeros((matrix["rows"], matrix["columns"]))
    for i, j, text in matrix["cells"]:
        a[i, j] = float(text)
    return a


# ---- what is answered ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", FORMATS)
def test_the_picture_is_that_of_the_matrix(format):
    for name, shape in (("example", ()), ("random", (7, 5)), ("2:4", (4, 8)), ("empty", (3, 4)), ("empty", (0, 3))):
        matrix = matrices.preset(name, *shape)
        found = ask(format, matrix)["tensor"]
        if "error" in found:
            assert format == "structured(2, 4)" and name == "random" and "at most 2 of 4" in found["error"]["message"]
            continue
        drawn = read_svg.Read(found["elements"]).elements()
        stored = {at: float(text) for at, (text, _) in drawn.items() if float(text)}
        assert stored == {(i, j): float(v) for i, j, v in matrix["cells"]}
        assert {b["name"]: b["total"] for b in found["bytes"]}["dense"] == array_of(matrix).nbytes


def test_bytes_are_those_of_scipys_arrays():
    matrix = matrices.preset("random", 12, 9, seed=3)
    a = sp.csr_array(array_of(matrix))
    assert [[b["name"] for b in ask(f, matrix)["tensor"]["bytes"]] for f in ("csr", "dense")] == [
        ["CSR", "dense"],
        ["dense", "CSR"],
    ]
    (mine, csr, dense) = ask("BSR(3, 3)", matrix)["tensor"]["bytes"]
    assert (mine["name"], csr["name"], dense["name"]) == ("BSR(3, 3)", "CSR", "dense")
    for found, other in ((csr, a), (mine, a.tobsr((3, 3)))):
        assert (found["pos"], found["crd"], found["values"]) == (
            other.indptr.nbytes,
            other.indices.nbytes,
            other.data.nbytes,
        )
        assert found["total"] == found["pos"] + found["crd"] + found["values"]
    assert dense == {"name": "dense", "pos": 0, "crd": 0, "values": 12 * 9 * 8, "total": 12 * 9 * 8}
    drawn = read_svg.Read(ask("CSR", matrix)["tensor"]["storage"])
    assert [int(c) for c in drawn.array("crd", 1)] == list(a.indices)


@pytest.mark.parametrize("format", FORMATS)
def test_bytes_add_up(format):
    """Packed coordinates are what is left; no array is counted twice."""
    found = ask(format, matrices.preset("2:4", 8, 8))["tensor"]["bytes"][0]
    t = st.from_dense(array_of(matrices.preset("2:4", 8, 8)), format)
    assert found["total"] == t.nbytes and found["crd"] >= 0
    assert (found["crd"] > 0) == any(level.kind not in ("dense", "range") for p in t.format.parts for level in p.levels)


def test_the_program_makes_the_same_tensor():
    cells = [[0, 1, "1.5"], [0, 2, "0"], [1, 1, "nan"], [1, 2, "-inf"], [2, 0, "-0.0"], [2, 1, "+07"], [2, 2, "1e-3"]]
    for format in ("CSR", "delta(2)", "BSR(2, 2) + COO", "(i, j) -> (j : dense, i / 2 : compressed, i % 2 : dense)"):
        for matrix in ({"rows": 3, "columns": 3, "cells": cells}, matrices.preset("empty", 2, 5)):
            scope = {}
            exec(ask(format, matrix)["tensor"]["python"], scope)
            a = np.zeros((matrix["rows"], matrix["columns"]))
            for i, j, v in matrix["cells"]:
                a[i, j] = float(v)
            assert scope["A"].format == st.Format(format)
            np.testing.assert_array_equal(scope["A"].to_dense(), a)


def test_stored_zeros_are_kept():
    matrix = {"rows": 2, "columns": 3, "cells": [[0, 0, "2"], [1, 1, "0"]]}
    elements = read_svg.Read(ask("CSR", matrix)["tensor"]["elements"]).elements()
    assert elements == {(0, 0): ("2", "stored"), (1, 1): ("0", "stored zero")}
    assert ask("CSR", matrix)["tensor"]["bytes"][0]["values"] == 16


@pytest.mark.parametrize(
    "dtype,text,got",
    [
        ("float64", "2x", "no float64"),
        ("float64", "", "no float64"),
        ("float64", "1_0", "no float64"),
        ("float64", "１", "no float64"),
        ("float64", "1e999", "1.798e+308"),
        ("float32", "1e39", "3.403e+38"),
        ("float16", "70000", "6.55e+04"),
        ("int8", "128", "-128 to 127"),
        ("int32", "1.5", "a whole number"),
        ("int64", "9" * 40, "a whole number"),
        ("float64", "9" * 4000, "no float64"),
    ],
)
def test_a_value_that_is_none(dtype, text, got):
    e = ask("CSR", {"rows": 4, "columns": 4, "cells": [[0, 0, "1"], [2, 3, text]]}, dtype=dtype)["tensor"]["error"]
    assert e["kind"] == "TensorError" and e["cell"] == [2, 3] and got in e["message"] and "(2, 3)" in e["what"]


@pytest.mark.parametrize(
    "dtype,text,value", [("float16", "-inf", -np.inf), ("int8", "-128", -128), ("float32", "0.1", np.float32(0.1))]
)
def test_a_value_at_the_edge(dtype, text, value):
    t = matrices.tensor({"rows": 1, "columns": 1, "cells": [[0, 0, text]]}, dtype, "CSR")
    assert t.dtype == dtype and t.values[0] == value


def test_errors_are_placed_as_a_page_counts():
    """In UTF-16, of which a letter beyond the basic plane takes two."""
    text = "CSR # \U0001d518ü\n + fxx"
    e = ask(text)["format"]["error"]
    begin, end = e["where"]
    assert text.encode("utf-16-le")[2 * begin : 2 * end].decode("utf-16-le") == "fxx"
    assert e["kind"] == "FormatError" and "^~~" in e["message"] and e["expected"]
    with pytest.raises(st.FormatError) as raised:
        st.Format(text)
    assert e["message"] == str(raised.value)


@pytest.mark.parametrize(
    "text,mended",
    [
        ("(i, j) -> (i: dense, j: compresed)", "(i, j) -> (i: dense, j: compressed)"),
        ("CRS", "CSR"),
        ("BSR(2, 2) + CO", "BSR(2, 2) + COO"),
        ("BSR(2)", None),  # the remedy is a pattern
        ("(i, j) -> (i: dense", None),
    ],
)
def test_what_can_be_mended(text, mended):
    assert ask(text)["format"]["error"].get("mended") == mended


@pytest.mark.parametrize(
    "text,got",
    [("(i) -> (i : dense)", "1 in"), ("COO(3)", "3 in"), ("x" * 501, "501"), ("CSR\0", "\\x00"), ("\ud800", "\\ud800")],
)
def test_formats_that_are_not_shown(text, got):
    e = ask(text)["format"]["error"]
    assert e["kind"] == "FormatError" and got in e["got"]


@pytest.mark.parametrize("format", [f for f in FORMATS if "+" not in f])
def test_the_bound_of_slots_is_one(format):
    for name in ("random", "2:4", "empty"):
        a = array_of(matrices.preset(name, 9, 12))
        try:
            t = st.from_dense(a, format)
        except st.TensorError:
            continue
        crd = [
            t.crd(k).size
            for k, level in enumerate(t.format.levels)
            if level.kind in ("compressed", "delta", "padded", "structured")
        ]
        assert max([t.values.size, *crd]) <= answer.slots(t.format, t.shape, np.count_nonzero(a))


@pytest.mark.parametrize(
    "format",
    [
        "BSR(2000000000, 2000000000)",
        "(i, j) -> (i / 100000 : dense, j : compressed, i % 100000 : dense)",
        "(i, j) -> (i : dense, j : padded(1000000000))",
        "COO + BSR(30000, 30000)",
    ],
)
def test_what_would_take_all_memory_is_refused(format):
    found = ask(format, matrices.preset("example"), expression=SPMV)
    assert "too many slots" in found["tensor"]["error"]["what"]
    assert "error" in found["code"] or format.startswith(
        "(i, j) -> (i / 100000"
    )  # its blocks are thin: 200 columns fit


def test_presets():
    for name in matrices.PRESETS:
        for shape in ((8, 8), (0, 0), (0, 5), (5, 0), (1, 1), (1, 32), (32, 7), (32, 32)):
            found = matrices.preset(name, *shape, seed=1)
            if name not in ("example", "blog"):
                assert (found["rows"], found["columns"]) == shape
            assert np.count_nonzero(array_of(found)) == len(found["cells"])  # each once, none a zero
    banded = array_of(matrices.preset("banded", 9, 6))
    assert (banded == sp.diags_array([banded.diagonal(k) for k in (-1, 0, 1)], offsets=[-1, 0, 1], shape=(9, 6))).all()
    pairs = array_of(matrices.preset("2:4", 6, 12)).reshape(6, 3, 4)
    assert (np.count_nonzero(pairs, axis=2) == 2).all()
    lengths = np.sort(np.count_nonzero(array_of(matrices.preset("power law", 20, 20)), axis=1))[::-1]
    assert list(lengths) == [round(20 / k) for k in range(1, 21)]
    blocks = array_of(matrices.preset("blocks", 16, 16)).reshape(8, 2, 8, 2).swapaxes(1, 2).reshape(-1, 4)
    assert sorted({*np.count_nonzero(blocks, axis=1)}) == [0, 1, 4]
    assert not matrices.preset("empty", 3, 3)["cells"]
    assert matrices.preset("random", seed=1) != matrices.preset("random", seed=2) == matrices.preset("random", seed=2)
    for wrong in (
        ("none",),
        ("random", 33, 3),
        ("random", -1, 3),
        ("random", 2.0, 3),
        ("random", 3, 3, -1),
        ("random", True, 3),
    ):
        with pytest.raises(st.Error):
            matrices.preset(*wrong)


@pytest.mark.parametrize("expression", answer.EXPRESSIONS)
def test_code_is_what_strata_show_prints(expression):
    for format in ("CSR", "delta(2)", "BSR(2, 2) + COO", "dense"):
        code = ask(format, expression=expression)["code"]
        operands = {name: format for name in answer.EXPRESSIONS[expression][1]}
        shown = st._core.show_expression(expression, operands, 1000)
        for kind in ("loops", "c"):
            text = re.sub(r"^--- .* ---\n", "", code[kind], flags=re.MULTILINE)
            assert all(line in shown for line in text.split("\n"))
            assert bool(code[kind]) == ("--- C" in shown)
        assert "kernel" in code["c"] or "hand-written" in code["schedule"]
        assert f'A="{format}"' in code["command"] and "serves" in code["plan"]


def test_code_of_what_cannot_hold_any_matrix():
    """Elements at random stand in for data where several operands are sparse; 2:4 cannot hold just any."""
    for expression in (SPMV, "C(i,j) = A(i,j) + B(i,j)"):
        code = ask("structured(2, 4)", expression=expression)["code"]
        assert "function kernel" in code["loops"] and "error" not in code


def test_long_code_is_cut(monkeypatch):
    monkeypatch.setattr(answer, "_LONGEST_TEXT", 10)
    code = ask("BSR(64, 64)", expression=SPMV)["code"]["c"]
    assert code.count("\n") == 10 and code.endswith("strata show prints them")


# ---- who is answered -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served():
    with server.Explorer() as s:
        threading.Thread(target=s.serve_forever, daemon=True).start()
        yield s
        s.shutdown()


def request(s, method="POST", path="explore", body=b'{"format": "CSR"}', token=None, **headers):
    """(status, answer): of JSON, or the text of a page."""
    c = http.client.HTTPConnection("127.0.0.1", s.server_port, timeout=20)
    known = {"Content-Type": "application/json"} if method == "POST" else {}
    given = {k.replace("_", "-"): v for k, v in headers.items()}
    c.request(method, f"/{s.token if token is None else token}/{path}", body, {**known, **given})
    r = c.getresponse()
    content = r.read()
    c.close()
    assert r.headers["X-Content-Type-Options"] == "nosniff" and r.headers["Cache-Control"] == "no-store"
    if r.headers.get_content_type() == "text/html":
        return r.status, content.decode()
    found = json.loads(content)
    if r.status != 200:
        assert set(found) == {"error"} and found["error"]["message"].startswith(found["error"]["what"])
    return r.status, found


def test_it_answers(served):
    assert served.socket.getsockname()[0] == "127.0.0.1"
    status, text = request(served, "GET", "", None)
    assert status == 200 and "format explorer" in text
    matrix = request(served, path="matrix", body=json.dumps({"preset": "banded", "rows": 4, "columns": 5}))[1]["matrix"]
    query = {"format": "BSR(2, 2)", "matrix": matrix, "expression": SPMV}
    assert request(served, body=json.dumps(query)) == (200, json.loads(json.dumps(answer.answer(query))))
    assert request(served, body='{"format": "CRS"}')[1]["format"]["error"]["fix"] == "write 'CSR'"
    for host in ("localhost", f"localhost:{served.server_port}", "127.0.0.1:1"):  # a tunnel may end on another port
        assert request(served, Host=host, Origin=f"http://{host}")[0] == 200


def test_the_page_has_no_way_out(served):
    text = request(served, "GET", "", None)[1]
    assert {u for u in re.findall(r"https?://[\w./]+", text)} <= {"http://www.w3.org/2000/svg"}
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy and "default-src 'none'" in policy
    assert not re.search(r"\son\w+=", text.split("<script")[0]) and served.token not in text


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "localhost.evil.example:80"},
        {"Host": "localhost:80@evil.example"},
        {"Host": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1"},
    ],
    ids=str,
)
def test_other_hosts_and_pages_are_refused(served, headers):
    for method, path in (("GET", ""), ("POST", "explore")):
        status, found = request(served, method, path, **headers)
        assert status == 403 and "another" in found["error"]["what"], (method, headers)


@pytest.mark.parametrize("token", ["", "x", "..", "%00", "a" * 5000])
def test_the_token_is_needed(served, token):
    for method, path in (("GET", ""), ("POST", "explore"), ("POST", "matrix")):
        status, found = request(served, method, path, token=token)
        assert status == 403 and "token" in found["error"]["what"]
    assert request(served, token=served.token[:-1])[0] == 403
    assert request(served, "GET", "", token=f"x/../{served.token}")[0] == 403


@pytest.mark.parametrize(
    "path", ["page.js", "..", "../../etc/passwd", "/etc/passwd", "%2e%2e/page.html", "explore/", "?x"]
)
def test_no_file_is_served(served, path):
    for method in ("GET", "POST"):
        assert request(served, method, path)[0] == 404


def test_other_methods(served):
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "BREW"):
        status, found = request(served, method)
        assert status == 501 and method in found["error"]["what"]


@pytest.mark.parametrize(
    "body,status,what",
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"\xff\xfe", 400, "no JSON"),
        (b"[" * 60000, 400, "no JSON"),
        (b"[]", 400, "an object"),
        (b"null", 400, "an object"),
        (b"{}", 400, "by its text"),
        (b'{"format": ["CSR"]}', 400, "by its text"),
        (b'"' + b"x" * (1 << 16) + b'"', 413, "too long"),
        (b" " * (4 << 20), 413, "too long"),
    ],
    ids=lambda x: str(x)[:20],
)
def test_queries_that_are_none(served, body, status, what):
    found = request(served, body=body)
    assert found[0] == status and what in found[1]["error"]["what"]
    assert request(served, path="matrix", body=body)[0] == status or body == b"{}"


@pytest.mark.parametrize(
    "matrix",
    [
        [],
        "banded",
        {},
        {"rows": 2, "columns": 2},
        {"rows": 2, "columns": 2, "cells": {}},
        {"rows": 1e9, "columns": 2, "cells": []},
        {"rows": 33, "columns": 2, "cells": []},
        {"rows": -1, "columns": 2, "cells": []},
        {"rows": True, "columns": 2, "cells": []},
        {"rows": 1, "columns": 1, "cells": [[0, 0, "1"], [0, 0, "1"]]},
        {"rows": 2, "columns": 2, "cells": [[0, 2, "1"]]},
        {"rows": 2, "columns": 2, "cells": [[0, -1, "1"]]},
        {"rows": 2, "columns": 2, "cells": [[0, 0, 1]]},
        {"rows": 2, "columns": 2, "cells": [[0, 0]]},
        {"rows": 2, "columns": 2, "cells": ["abc"]},
    ],
    ids=str,
)
def test_matrices_that_are_none(served, matrix):
    status, found = request(served, body=json.dumps({"format": "CSR", "matrix": matrix}))
    assert status == 200 and found["format"]["name"] == "CSR"
    assert found["tensor"]["error"]["kind"] in ("ArgumentError", "TensorError") and found["tensor"]["error"]["expected"]


def raw(s, data, wait=10):
    """Everything that comes back for these bytes, until the connection is closed."""
    with socket.create_connection(("127.0.0.1", s.server_port), timeout=wait) as c:
        c.sendall(data)
        out = b""
        while piece := c.recv(1 << 16):
            out += piece
    return out


def test_lengths_and_types(served):
    head = f"POST /{served.token}/explore HTTP/1.1\r\nHost: localhost\r\n"
    typed = head + "Content-Type: application/json\r\n"
    for text, status in (
        (head + "Content-Length: 2\r\n\r\n{}", 415),
        (head + "Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415),
        (typed + "\r\n{}", 411),
        (typed + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 411),
        (typed + "Content-Length: -2\r\n\r\n{}", 411),
        (typed + "Content-Length: +2\r\n\r\n{}", 411),
        (typed + "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n{}", 411),
        (typed + "Content-Length: 99999999999999999999\r\n\r\n{}", 411),
        (typed + "Content-Length: 999999999\r\n\r\n{}", 413),
        (typed + "Host: localhost\r\nContent-Length: 2\r\n\r\n{}", 403),
        (f"POST /{served.token}/explore HTTP/1.0\r\n\r\n", 403),  # no host at all
        ("GET /" + "x" * (1 << 17) + " HTTP/1.1\r\n\r\n", 414),
        (head + "".join(f"X{k}: y\r\n" for k in range(200)) + "\r\n", 431),
        ("nonsense\r\n\r\n", 400),
    ):
        came = raw(served, text.encode())
        assert re.match(rb"(HTTP/1\.\d (\d+) |\{)", came), (text[:80], came[:80])
        assert came.startswith(b"{") or came.split()[1] == str(status).encode(), (text[:80], came[:80])
        assert json.loads(came.partition(b"\r\n\r\n")[2] or came)["error"]["what"]


def test_who_is_slow_is_not_waited_for(served, monkeypatch):
    monkeypatch.setattr(server, "PATIENCE", 0.3)
    monkeypatch.setattr(server._Handler, "timeout", 0.3)
    head = f"POST /{served.token}/explore HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n"
    start = time.monotonic()
    assert b" 408 " in raw(served, (head + '{"format"').encode())
    assert raw(served, b"GET /") == b""
    assert time.monotonic() - start < 8
    with socket.create_connection(("127.0.0.1", served.server_port), timeout=10) as c:  # a byte now and then
        c.sendall(head.encode())
        start = time.monotonic()
        try:
            while time.monotonic() - start < 5:
                c.sendall(b" ")
                time.sleep(0.1)
        except OSError:
            pass  # it has closed
        assert time.monotonic() - start < 4


def test_connections_are_bounded(served):
    held = [socket.create_connection(("127.0.0.1", served.server_port), timeout=10) for _ in range(server.CONNECTIONS)]
    try:
        until = time.monotonic() + 10
        while served._free._value and time.monotonic() < until:
            time.sleep(0.01)
        assert raw(served, b"") == b""  # closed at once
    finally:
        for c in held:
            c.close()
    until = time.monotonic() + 10
    while served._free._value < server.CONNECTIONS and time.monotonic() < until:
        time.sleep(0.01)
    assert request(served)[0] == 200


def test_a_bug_of_ours_is_told(served, monkeypatch):
    monkeypatch.setattr(answer, "answer", lambda query: 1 // 0)
    status, found = request(served)
    assert status == 500 and found["error"]["kind"] == "ZeroDivisionError" and found["error"]["what"]


def test_whatever_is_typed_is_answered(served):
    """Formats with letters changed, dropped and doubled: each is a format or an error that names its place, within a second."""
    rng = random.Random(0)
    texts = [
        *FORMATS,
        "(i, j) -> ((i % 4) / 2 : dense, i / 4 : compressed, i % 2 : range, j : singleton)",
        "NestedBSR(4, 4, 2, 2)",
    ]
    letters = "ij()->:/%+, 0123456789dense\n#"
    for k in range(300):
        text = rng.choice(texts)
        for _ in range(rng.randint(1, 3)):
            at = rng.randrange(len(text) + 1)
            text = (
                text[:at]
                + rng.choice(["", rng.choice(letters), text[at : at + 3] * 2])
                + text[at + rng.randint(0, 2) :]
            )
        query = {"format": text, "matrix": matrices.preset(rng.choice(matrices.PRESETS), seed=k)}
        if k % 5 == 0:
            query["expression"] = rng.choice(list(answer.EXPRESSIONS))
        start = time.monotonic()
        status, found = request(served, body=json.dumps(query))
        assert status == 200 and time.monotonic() - start < 5, text
        if "error" in found["format"]:
            e = found["format"]["error"]
            assert e["kind"] == "FormatError" and e["what"], text
            assert "where" not in e or 0 <= e["where"][0] <= e["where"][1] <= len(text), text
        else:
            t = found["tensor"]
            assert t["error"]["what"] if "error" in t else t["storage"].startswith("<svg"), text


# ---- the page as a file, the command -------------------------------------------------------------------------------------


def recording(content):
    start = json.loads(re.search(r'id="start">(.*?)</script>', content.decode(), re.DOTALL)[1])
    return start, json.loads(gzip.decompress(base64.b64decode(start["recorded"])))


def test_the_file_has_the_same_answers():
    formats = ["CSR", "delta(2)", "structured(2, 4)", record.MISTAKE]
    given = [run.matrix("blog"), run.matrix("random:5x6"), run.matrix("2:4:4x8")]
    content = record.file(formats, given)
    start, recorded = recording(content)
    assert content == record.file(formats, given)  # nothing of the day or the machine
    assert [m["name"] for m in start["matrices"]] == ["blog", "random", "2:4"]
    assert (given[1]["matrix"]["rows"], given[1]["matrix"]["columns"]) == (5, 6)
    assert [f["text"] for f in start["formats"]] == formats == list(recorded)
    for format in formats:
        found = recorded[format]
        assert found.get("error") == ask(format)["format"].get("error")
        if format == record.MISTAKE:
            assert "compresed" in found["error"]["message"] and "tensors" not in found
            continue
        for m in given:
            assert found["tensors"][m["name"]] == ask(format, m["matrix"])["tensor"]
        for e in answer.EXPRESSIONS:
            assert found["codes"][e] == ask(format, expression=e)["code"]


def strata(*args, **options):
    return subprocess.run(
        [sys.executable, "-m", "strata", *map(str, args)], capture_output=True, text=True, timeout=120, **options
    )


def test_export(tmp_path):
    sp_matrix = sp.random_array((6, 7), density=0.3, rng=np.random.default_rng(0))
    st.write(tmp_path / "mine.mtx", st.from_scipy(sp_matrix.tocsr()))
    out = strata("explore", "--export", tmp_path / "x.html", "--format", "CSR", "--matrix", tmp_path / "mine.mtx")
    assert out.returncode == 0 and "1 formats, 1 matrices" in out.stdout, out.stderr
    content = (tmp_path / "x.html").read_bytes()
    start, recorded = recording(content)
    np.testing.assert_array_equal(array_of(start["matrices"][0]["matrix"]), sp_matrix.toarray())
    assert "mine.mtx" in recorded["CSR"]["tensors"]
    assert {u for u in re.findall(rb"https?://[\w./]+", content)} <= {b"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("dtype", [bool, "int8", "float16", "float32", "int64", "complex64"])
def test_matrices_of_files(dtype):
    a = np.array([[0, 1, 0], [3, 0, 1e-3]]).astype(dtype)
    t = st.from_coo(([0, 1, 1, 1], [1, 0, 1, 2]), np.array([a[0, 1], a[1, 0], 0, a[1, 2]], dtype), (2, 3), "CSC")
    if dtype == "complex64":
        with pytest.raises(st.DTypeError, match="real"):
            matrices.of_tensor(t)
        return
    found = matrices.of_tensor(t)
    assert (array_of(found) == a.astype(float)).all() and [1, 1, "0"] in found["cells"]
    with pytest.raises(st.TensorError, match="2 dimensions"):
        matrices.of_tensor(st.from_dense(np.ones(3), "dense(1)"))


def test_mistakes_of_the_command(tmp_path):
    st.write(tmp_path / "large.mtx", st.eye(33))
    for arguments, words in (
        (["--format", "CRS"], "write 'CSR'"),
        (["--format", "COO(3)"], "2 dimensions"),
        (["--matrix", "none"], "neither a preset nor a file"),
        (["--matrix", "random:8"], "random:8x8"),
        (["--matrix", "random:99x2"], "at most 32 x 32"),
        (["--matrix", tmp_path / "large.mtx"], "at most 32 x 32"),
        (["--matrix", tmp_path / "none.mtx"], "cannot open"),
        (["--export", tmp_path / "x.txt"], ".html"),
        (["--export", tmp_path / "x.html", "--port", "80"], "not served"),
        (["--export", tmp_path / "none" / "x.html", "--format", "CSR", "--matrix", "blog"], "none"),
        (["--port", "65536"], "0 to 65535"),
    ):
        out = strata("explore", *arguments)
        assert out.returncode == 1 and words in out.stderr and "Traceback" not in out.stderr, (arguments, out.stderr)
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.parametrize("sign,status", [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_it_ends_cleanly(sign, status):
    with subprocess.Popen(
        [sys.executable, "-m", "strata", "explore", "--no-browser", "--format", "delta(2)", "--matrix", "banded:4x4"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as p:
        url = re.search(r"http://127\.0\.0\.1:(\d+)/([\w-]{32})/\n", p.stdout.readline())
        c = http.client.HTTPConnection("127.0.0.1", int(url[1]), timeout=20)
        c.request("GET", f"/{url[2]}/")
        text = c.getresponse().read().decode()
        start = json.loads(re.search(r'id="start">(.*?)</script>', text, re.DOTALL)[1])
        assert start["format"] == "delta(2)" and start["matrix"]["rows"] == 4 and start["recorded"] is None
        taken = strata("explore", "--no-browser", "--port", url[1])
        assert taken.returncode == 1 and f"port {url[1]} cannot be listened on" in taken.stderr
        with socket.create_connection(("127.0.0.1", int(url[1]))):  # one that is in the middle of something
            os.kill(p.pid, sign)
            said = p.communicate(timeout=30)[1]
    assert p.returncode == status and said == ""
