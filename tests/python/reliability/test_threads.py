"""Threads share tensors, formats and plans without a lock of the user's. With a GIL they meet where kernels let go of
it; the same tests race in earnest on an interpreter without one."""

import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sps

import strata as st

FORMATS = ["CSR", "CSC", "COO", "DCSR", "DIA", "BSR(3, 3)", "ELL", "bitmap", "delta(3)", "BSR(2, 2) + COO"]


@pytest.fixture(autouse=True)
def switch_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*jobs):
    """Runs the jobs at the same time; the first exception of one is raised here."""
    start, failures = threading.Barrier(len(jobs)), []

    def run(job):
        try:
            start.wait(20)
            job()
        except BaseException as e:  # noqa: BLE001
            failures.append(e)

    threads = [threading.Thread(target=run, args=(j,)) for j in jobs]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
        assert not t.is_alive()
    if failures:
        raise failures[0]


def sample(seed=0):
    rng = np.random.default_rng(seed)
    a = sps.random_array((60, 45), density=0.15, rng=rng, format="csr")
    a.data = rng.integers(1, 9, a.nnz).astype(float)  # sums are exact in any order
    return a, rng.integers(-5, 5, 45).astype(float)


@pytest.mark.filterwarnings("ignore::strata.CopyWarning")  # of to_scipy()
@pytest.mark.parametrize("seed", range(3))
def test_shared_tensors(seed):
    a, x = sample(seed)
    d, y = a.toarray(), a @ x
    A = st.from_scipy(a)
    made = [A.to(f) for f in FORMATS]  # fresh: nothing has been counted, named or planned yet

    def job(turn):
        def run():
            for k in range(len(made)):
                t = made[(k + turn) % len(made)]
                assert t.nse >= a.nnz and repr(t) and str(t.format) and t.format.name is not None
                assert t[3, 4] == d[3, 4] and hash(t.format) == hash(st.Format(str(t.format)))
                assert sum(v for _, v in t.items()) == d.sum()
                assert np.array_equal(t @ x, y)
                assert np.array_equal(st.einsum("ij,j->i", t, x), y)
                assert np.array_equal(t.to(FORMATS[(k + 3 * turn) % len(FORMATS)]).to_dense(), d)
                assert t.to_scipy().shape == a.shape and t.copy().equal(t, storage=True)
                assert "stored" in str(t.draw_storage())

        return run

    together(*[job(turn) for turn in range(4)])


def test_one_matmul_used_freed_and_given_other_operands():
    """What a running product needs is its own: nobody can take it away."""
    rng = np.random.default_rng(1)
    a = sps.random_array((3000, 3000), density=0.01, rng=rng, format="csr")
    others = [st.from_scipy((k * a).tocsr()) for k in (1, 2, 3)]
    x = rng.standard_normal((3000, 8))
    expected = [k * (a @ x) for k in (1, 2, 3)]
    for _ in range(10):
        mm = st.Matmul(others[0], x)
        mm.plan()
        freed = threading.Event()

        def multiply(mm=mm, freed=freed):
            try:
                while True:
                    c = mm.execute()
                    assert any(np.allclose(c, e) for e in expected)
            except st.PlanError:
                assert freed.is_set()

        def change(mm=mm, freed=freed):
            for k in range(12):
                mm.reset_operands(a=others[k % 3])
                mm.plan()
            freed.set()
            mm.free()

        together(multiply, multiply, change)


def test_one_iterator():
    a, _ = sample()
    it = st.from_scipy(a).items()
    taken = [[], []]
    together(lambda: taken[0].extend(it), lambda: taken[1].extend(it))
    assert sorted(c for c, _ in taken[0] + taken[1]) == sorted(zip(*(int_list(i) for i in a.nonzero())))


def int_list(array):
    return [int(i) for i in array]


def test_names_and_kernels_registered_meanwhile():
    a, x = sample()
    A, y = st.from_scipy(a), a @ x

    def register(k):
        def run():
            for n in range(10):
                st.register_format(f"Mine{k}x{n}", "(i, j) -> (i : dense, j : compressed)")
                assert st.Format(f"mine{k}x{n}") == st.Format("CSR")

        return run

    def use():
        for n in range(40):
            assert np.array_equal(A @ x, y)
            assert st.Format("CSR").name and st.plan("ij,j->i", A, x).explain()

    together(register(0), register(1), use, use)


@pytest.mark.filterwarnings("ignore::strata.CopyWarning")
@pytest.mark.parametrize("engine", ["auto", "interpreter"])
def test_expressions_of_several_sparse_operands(engine, monkeypatch):
    """Cold kernels, the same and different ones at once; every thread has operands of its own formats and shares them."""
    monkeypatch.setattr(st.settings, "engine", engine)
    a, _ = sample(7)
    b, _ = sample(8)
    d, e = a.toarray(), b.toarray()
    A = [st.from_scipy(a).to(f) for f in FORMATS]
    B = [st.from_scipy(b).to(f) for f in FORMATS]
    spread = np.where(d == 0, np.inf, d)

    def job(turn):
        def run():
            for k in range(turn, turn + 4):
                x, y = A[k % len(A)], B[(k + turn) % len(B)]
                assert np.array_equal(st.evaluate("C(i,j) = A(i,j) + B(i,j)", A=x, B=y).to_dense(), d + e)
                product = st.einsum("ij,kj->ik", x, y)
                assert np.array_equal(product if isinstance(product, np.ndarray) else product.to_dense(), d @ e.T)
                least = st.evaluate("m(i) = A(i,j)", A=x, semiring="min-plus")
                least = least if isinstance(least, np.ndarray) else least.to_dense()
                assert np.array_equal(least, spread.min(axis=1))
                assert "result" in str(st.explain("C(i,j) = A(i,j) * B(i,j)", A=x, B=y))

        return run

    together(*[job(turn) for turn in (0, 0, 3, 5)])


def test_settings_are_read_and_written_meanwhile(settings):
    """Whoever changes them while others compute gets the old or the new ones, and right results."""
    a, x = sample()
    A, y = st.from_scipy(a), a @ x

    def change():
        for n in range(60):
            settings.threads = 1 + n % 3
            assert "STRATA_ENGINE" in repr(st.settings)

    def use():
        for _ in range(60):
            assert np.array_equal(A @ x, y)

    together(change, use, use)
