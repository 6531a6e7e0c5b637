"""Schedules: every legal one gives the same numbers, every illegal one is refused with what forbids it."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st
from strata import Schedule


def sparse(rng, shape, format="CSR", density=0.2):
    a = np.where(rng.random(shape) < density, rng.integers(-4, 5, shape), 0).astype(np.float64)
    return a, st.from_dense(a, format)


def dense_of(x):
    return np.asarray(x if isinstance(x, np.ndarray) else x.to_dense())


@pytest.fixture
def AB():
    rng = np.random.default_rng(1)
    a, A = sparse(rng, (30, 20))
    b, B = sparse(rng, (20, 50))
    return a, A, b, B


SPGEMM = "C(i,k) = A(i,j) * B(j,k)"


@pytest.mark.parametrize(
    "schedule",
    [
        "reorder(i, j, k)",
        "reorder(i, k, j)",
        "reorder(j, i, k)",
        "reorder(k, i)",
        "parallelize(i)",
        "parallelize(k)",
        "assemble(workspace); reorder(i, j, k)",
        "assemble(append)",
        "split(j, jo, ji, 4); reorder(i, jo, ji, k)",
        "split(i, io, ii, 7); reorder(io, ii, j, k); parallelize(io)",
        "split(k, ko, ki, 16); reorder(i, ko, j, ki)",
        "split(j, jo, jr, 10); split(jr, jm, ji, 5); unroll(ji)",
        "split(j, jo, jr, 9); split(jr, jm, ji, 4)",
        "precompute(T(j,k) = 2 * B(j,k))",
    ],
)
@pytest.mark.parametrize("format", [None, "CSR", "CSC", "dense", "BSR(5, 5)"])
def test_products(AB, schedule, format):
    a, A, b, B = AB
    if "reorder(j, i, k)" in schedule and format != "dense":
        with pytest.raises(st.ScheduleError, match="i, k of the result would stand inside the sum over j"):
            st.evaluate(SPGEMM, A=A, B=B, schedule=schedule, format=format)
        return
    if "unroll(ji)" in schedule:
        with pytest.raises(st.ScheduleError, match="walks what [AB].* stores"):
            st.evaluate(SPGEMM, A=A, B=B, schedule=schedule, format=format)
        return
    if "assemble" in schedule and format == "dense":
        with pytest.raises(st.ScheduleError, match="a dense result is not assembled"):
            st.evaluate(SPGEMM, A=A, B=B, schedule=schedule, format=format)
        return
    spec = "C(i,k) = A(i,j) * (2 * B(j,k))" if "precompute" in schedule else SPGEMM
    got = st.evaluate(spec, A=A, B=B, schedule=schedule, format=format)
    if isinstance(got, st.Tensor):
        got.validate()
        assert got.format == st.Format(format or "CSR")
    assert np.array_equal(dense_of(got), (2 if "precompute" in schedule else 1) * (a @ b))


def test_the_loops_stand_as_asked(AB):
    a, A, b, B = AB
    for order in ("i, j, k", "i, k, j"):
        how = st.explain(SPGEMM, A=A, B=B, schedule=f"reorder({order})")
        assert f"schedule  reorder({order})" in how and f"loops over {order} " in how
    assert "workspace over" in st.explain(SPGEMM, A=A, B=B, schedule="assemble(workspace)")
    assert "workspace over" not in st.explain(SPGEMM, A=A, B=B, schedule="assemble(append)")
    how = st.explain(SPGEMM, A=A, B=B, schedule="split(i, io, ii, 8); reorder(io, ii, j, k)")
    assert "loops over io, ii, j, k " in how


def test_dense_operands_vectors_and_unrolling():
    rng = np.random.default_rng(2)
    a, A = sparse(rng, (40, 30))
    x = rng.integers(-3, 4, (30, 24)).astype(np.float64)
    spec = "Y(i,k) = A(i,j) * X(j,k)"
    for schedule in (
        "vectorize(k)",
        "reorder(i, j, k); vectorize(k); parallelize(i)",
        "split(k, ko, ki, 8); reorder(ko, i, j, ki); vectorize(ki)",
        "split(k, ko, ki, 4); reorder(i, j, ko, ki); unroll(ki)",
        "split(k, ko, ki, 7); reorder(i, ko, j, ki); unroll(ki)",
        "split(i, io, ii, 16); reorder(io, k, ii, j); parallelize(io)",
    ):
        got = st.evaluate(spec, A=A, X=x, schedule=schedule)
        assert np.array_equal(got, a @ x), schedule
        assert np.array_equal(st.evaluate(spec, A=A, X=np.asfortranarray(x), schedule=schedule), a @ x), schedule
    shown = st._core.show_expression(spec, {"A": "CSR"}, schedule="reorder(i, j, k); vectorize(k)")
    assert "simd k = 0 .. " in shown and "SIMD\n" in shown
    schedule = "split(k, ko, ki, 4); reorder(i, j, ko, ki); unroll(ki)"
    shown = st._core.show_expression(spec, {"A": "CSR"}, schedule=schedule)
    assert "unrolled " in shown and "UNROLL(4)" in shown


def test_precompute():
    rng = np.random.default_rng(3)
    (a, A), (b, B), (c, C) = sparse(rng, (12, 15)), sparse(rng, (15, 18)), sparse(rng, (18, 9))
    spec = "R(i,l) = A(i,j) * B(j,k) * C(k,l)"
    for workspace in ("T(i,k) = A(i,j) * B(j,k)", "T(i,k) = A(i,j) * B(j,k) : COO", "T(j,l) = B(j,k) * C(k,l)"):
        schedule = f"precompute({workspace})"
        how = st.explain(spec, A=A, B=B, C=C, schedule=schedule)
        assert "first T(" in how and ("COO" in how) == ("COO" in workspace)
        assert np.array_equal(dense_of(st.evaluate(spec, A=A, B=B, C=C, schedule=schedule)), a @ b @ c)
    with pytest.raises(st.ScheduleError, match=r"an index that is needed after it(.|\n)*k in C\(k,l\)"):
        st.evaluate(spec, A=A, B=B, C=C, schedule="precompute(T(i) = A(i,j) * B(j,k))")
    with pytest.raises(st.ScheduleError, match="does not hold what is to be precomputed"):
        st.evaluate(spec, A=A, B=B, C=C, schedule="precompute(T(i,k) = A(i,j) * A(j,k))")
    # Below a function, as a whole.
    spec = "r(i) = sum(j, exp(sum(k, A(i,k) * B(k,j))))"
    got = st.evaluate(spec, A=A, B=B, schedule="precompute(T(i,j) = A(i,k) * B(k,j))")
    np.testing.assert_allclose(dense_of(got), np.exp(a @ b).sum(1))
    # A workspace may use the one before.
    spec = "R(i,l) = A(i,j) * B(j,k) * C(k,l)"
    s = Schedule().precompute("T(i,k) = A(i,j) * B(j,k)").precompute("U(i,l) = T(i,k) * C(k,l)", format="CSC")
    assert np.array_equal(dense_of(st.evaluate(spec, A=A, B=B, C=C, schedule=s)), a @ b @ c)


@pytest.mark.parametrize(
    "schedule,message",
    [
        ("reorder(i, m)", "there is no loop over 'm'"),
        ("reorder(i, j, i)", "a loop stands twice"),
        ("reorder(i, j); reorder(j, i)", "ordered twice"),
        ("parallelize(j)", "chunks of j would add to the same elements of C"),
        ("parallelize(i); reorder(k, i)", "no order of loops obeys"),
        ("parallelize(i); parallelize(k)", "two loops cannot be the outermost"),
        ("vectorize(j)", "the sum over j adds its terms one after the other"),
        ("vectorize(k)", "walks what B(.*) stores"),
        ("unroll(k)", "only a loop whose extent is known"),
        ("split(i, j, ii, 4)", "names of their own"),
        ("split(i, io, io, 4)", "names of their own"),
        ("split(q, qo, qi, 4)", "there is no loop over 'q'"),
        ("assemble(pattern)", "has not the pattern of an operand"),
        ("precompute(A(i,j) = B(i,j))", "needs a name of its own"),
        ("precompute(T(i,j) = Z(i,j))", "names an operand that is not there"),
    ],
)
def test_illegal_schedules(AB, schedule, message):
    a, A, b, B = AB
    with pytest.raises(st.ScheduleError, match=message):
        st.evaluate(SPGEMM, A=A, B=B, schedule=schedule)
    with pytest.raises(st.ScheduleError, match=message):
        st.explain(SPGEMM, A=A, B=B, schedule=schedule)


@pytest.mark.parametrize(
    "text,message",
    [
        ("reorde(i)", "write 'reorder'"),
        ("split(i, io, ii)", "something is missing"),
        ("split(i, io, ii, 0)", "a whole number from 1 on"),
        ("split(i, io, ii, 99999999999999999999)", "a whole number from 1 on"),
        ("assemble(heap)", "no way to assemble"),
        ("vectorize(i) unroll(j)", "';' or the end"),
        ("precompute(T(i) = )", "is missing"),
        ("reorder()", "an index is missing"),
        ("vectorize(i", "'\\)'"),
    ],
)
def test_texts_that_are_none(text, message):
    with pytest.raises(st.ExpressionError, match=message):
        Schedule(text)


def test_texts_and_objects():
    s = Schedule().split("k", "ko", "ki", 64).reorder("ko", "i", "j", "ki").parallelize("ko").vectorize("ki")
    s.unroll("ki").precompute("T(i,k) = A(i,j) * B(j,k)", format="CSR").assemble("workspace")
    assert Schedule(str(s)) == s and hash(Schedule(str(s))) == hash(s) and repr(s) == f"strata.Schedule('{s}')"
    assert str(Schedule("  split( k ,ko,ki, 64 ) ;\n vectorize(ki);")) == "split(k, ko, ki, 64); vectorize(ki)"
    assert str(Schedule()) == "" and Schedule("") == Schedule()
    with pytest.raises(st.ExpressionError, match="a strata.Schedule"):
        st.evaluate("y(i) = A(i)", A=np.ones(3), schedule=3)


def test_an_einsum_takes_a_schedule(AB):
    a, A, b, B = AB
    got = st.einsum("ij,jk->ik", A, B, schedule="split(j, jo, ji, 4); reorder(i, jo, ji, k)")
    assert got.format == st.Format("CSR") and np.array_equal(dense_of(got), a @ b)
    out = np.ones((30, 50))
    assert st.einsum("ij,jk->ik", A, b, out=out, alpha=2, beta=3, schedule="reorder(i, k, j)") is out
    assert np.array_equal(out, 2 * (a @ b) + 3)
    with pytest.raises(st.ScheduleError, match="i, k of the result would stand inside the sum over j"):
        st.einsum("ij,jk->ik", A, B, schedule="reorder(j, i, k)")


def test_what_takes_no_schedule():
    rng = np.random.default_rng(4)
    a, A = sparse(rng, (5, 6))
    with pytest.raises(st.Unsupported, match="a reduction stands inside it: precompute that"):
        st.evaluate("y(i) = exp(sum(j, A(i,j)))", A=A, schedule="reorder(i, j)")
    with pytest.raises(st.Unsupported, match="it adds to what is there"):
        st.evaluate("y(i) += A(i,j)", y=np.zeros(5), A=A, schedule="reorder(i, j)")


@pytest.mark.parametrize("semiring", ["min-plus", "or-and"])
def test_semirings_and_blocks(semiring):
    rng = np.random.default_rng(5)
    a = np.where(rng.random((18, 18)) < 0.3, rng.integers(1, 5, (18, 18)), 0).astype(np.float64)
    want = None
    for format in ("CSR", "BSR(3, 3)", "COO"):
        A = st.from_dense(a, format)
        spec = "C(i,k) = A(i,j) * A(j,k)"
        free = dense_of(st.evaluate(spec, A=A, semiring=semiring))
        want = free if want is None else want
        assert np.array_equal(free, want)
        splits = ("split(j, jo, ji, 5); reorder(i, jo, ji, k)", "split(i, io, ii, 3); parallelize(io)")
        for schedule in ("reorder(i, j, k)", *splits):
            assert np.array_equal(dense_of(st.evaluate(spec, A=A, semiring=semiring, schedule=schedule)), want)


def test_reductions_that_count(AB):
    a, A, b, B = AB
    got = st.evaluate("m(i) = max(j, A(i,j))", A=A, schedule="split(j, jo, ji, 5)")
    assert np.array_equal(dense_of(got), a.max(1))
    for size in (7, 3, 100):  # sizes that do not divide
        got = st.evaluate("m(i) = max(j, A(i,j))", A=A, schedule=f"split(j, jo, ji, {size})")
        assert np.array_equal(dense_of(got), a.max(1))
    with pytest.raises(st.ScheduleError, match="must be complete before"):
        st.evaluate("m(i) = max(j, A(i,j))", A=A, schedule="reorder(j, i)")


@pytest.mark.parametrize("format", ["CSR", "CSC", "COO", "BSR(4, 3)", "dense"])
@pytest.mark.parametrize("shape", [(10, 11), (12, 9), (5, 7), (1, 13)])
def test_reductions_of_blocks_that_do_not_divide(format, shape):
    """What lies beyond the matrix is not absent: a row without an absent element has no 0 among its values."""
    rng = np.random.default_rng(shape[1])
    a = np.where(rng.random(shape) < 0.6, rng.integers(1, 9, shape), 0).astype(float)
    a[0], a[-1, -1] = rng.integers(1, 9, shape[1]), 4  # a full row
    schedules = [
        None,
        "split(j, jo, ji, 4)",
        "split(j, jo, ji, 4); split(jo, jp, jq, 2)",
        "split(i, io, ii, 3); split(j, jo, ji, 5)",
    ]
    for sign in (1, -1):
        A = st.from_dense(sign * a, format)
        x = sign * a
        for text, want in (
            ("max(j, A(i,j))", x.max(1)),
            ("min(j, A(i,j))", x.min(1)),
            ("any(j, A(i,j))", x.any(1)),
            ("all(j, A(i,j))", x.all(1)),
            ("max(i, max(j, A(i,j)))", x.max()),
            ("min(i, min(j, A(i,j)))", x.min()),
        ):
            left = "m(i)" if want.ndim else "m"
            for schedule in schedules:
                how = {"schedule": schedule} if schedule else {}
                got = st.evaluate(f"{left} = {text}", A=A, format="dense" if want.ndim else None, **how)
                assert np.array_equal(dense_of(got) if want.ndim else got, want), (text, schedule)


def test_blocks_keep_their_loops():
    rng = np.random.default_rng(6)
    a, A = sparse(rng, (24, 24), "BSR(4, 4)")
    spec = "C(i,k) = A(i,j) * A(j,k)"
    order = "reorder(i_block, j_block, k_block, i_in, j_in, k_in); vectorize(k_in)"
    how = st.explain(spec, A=A, format="BSR(4, 4)", schedule=order)
    assert "loops over i_block, j_block, k_block, i_in, j_in, k_in " in how
    got = st.evaluate(spec, A=A, format="BSR(4, 4)", schedule="vectorize(k_in); unroll(j_in)")
    assert np.array_equal(got.to_dense(), a @ a)


def test_random_schedules():
    """Orders, splits and formats at random: what is not refused is right."""
    rng = np.random.default_rng(7)
    done = 0
    for _ in range(150):
        n = rng.integers(1, 30, 3)
        (a, A), (b, B) = (
            sparse(rng, (n[0], n[1]), str(rng.choice(["CSR", "CSC", "COO", "BSR(2, 3)", "DIAI"]))),
            sparse(rng, (n[1], n[2]), str(rng.choice(["CSR", "CSC", "DCSR", "BSR(3, 2)"]))),
        )
        loops, verbs = list("ijk"), []
        for i in "ijk":
            if rng.random() < 0.4:
                loops[loops.index(i)] = i + "o"
                loops.append(i + "i")
                verbs.append(f"split({i}, {i}o, {i}i, {rng.integers(1, 9)})")
        if rng.random() < 0.7:
            some = [str(x) for x in rng.permutation(loops)[: rng.integers(1, len(loops) + 1)]]
            verbs.append(f"reorder({', '.join(some)})")
        format = str(rng.choice(["CSR", "dense", "CSC", "BSR(2, 2)"]))
        try:
            got = st.evaluate(SPGEMM, A=A, B=B, schedule="; ".join(verbs), format=format)
        except st.ScheduleError:
            continue
        done += 1
        assert np.array_equal(dense_of(got), a @ b), (verbs, format)
    assert done > 60


def test_the_command(capsys):
    from strata.cli import main

    assert main(["show", SPGEMM, "A=csr", "B=csr", "--schedule", "reorder(i, k, j)", "--explain"]) in (0, None)
    assert "schedule  reorder(i, k, j)" in capsys.readouterr().out
    assert main(["show", "y(i) = A(i,j) * x(j)", "A=csr", "--schedule", "parallelize(j)"]) not in (0, None)
    assert "chunks of j would add to the same elements of y" in capsys.readouterr().err


def test_bits_do_not_depend_on_threads(settings):
    rng = np.random.default_rng(8)
    A = st.from_scipy(sp.random(3000, 3000, 0.003, format="csr", random_state=1))
    x = rng.standard_normal((3000, 8))
    results = []
    for threads in (1, 2, 7):
        settings.threads = threads
        y = st.evaluate("Y(i,k) = A(i,j) * X(j,k)", A=A, X=x, schedule="reorder(i, j, k); vectorize(k)")
        results.append(y.tobytes())
    assert results[0] == results[1] == results[2]


def test_a_format_of_another_rank():
    A = st.from_dense(np.eye(4), "CSR")
    with pytest.raises(st.Unsupported, match="the format has another rank"):
        st.evaluate("y(i) = A(i,j)", A=A, format="CSR", schedule="split(i, io, ii, 2)")
