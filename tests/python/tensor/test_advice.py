"""Advice on a storage: `to` takes it, and what the demo says of timings is what they are worth."""

import numpy as np
import pytest
import scipy.sparse as sp

import strata as st
from strata._timing import machine
from strata.demo import advice as demo

FORMATS = ["CSR", "CSC", "COO", "BSR(2, 2)", "DIA", "delta(4)", "bitmap", "BSR(4, 4) + COO", "dense"]


def stencil(n):
    return sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n), format="csr")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("for_", ["product", "memory"])
def test_advice_can_be_used_as_it_is(format, for_):
    a = sp.random(40, 60, density=0.1, format="csr", random_state=np.random.RandomState(0))
    A = st.from_scipy(a).to(format)
    advice = st.advise(A, for_=for_)
    B = A.to(advice)
    assert np.array_equal(B.to_dense(), a.toarray())
    assert B.format == st.Format(advice.format)
    assert B.nbytes == advice.nbytes
    assert st.equal(eval(str(advice), {"A": A}), B)
    assert advice.why


def test_widths_are_part_of_it():
    a = sp.random(300, 300, density=0.02, format="csr", random_state=np.random.RandomState(0))
    advice = st.advise(st.from_scipy(a))
    assert (advice.format, advice.crd_dtype) == ("CSR", "uint16")
    assert str(advice) == 'A.to("CSR", crd_dtype="uint16")'
    B = st.from_scipy(a).to(advice)
    assert B.crd_dtype == np.uint16
    assert st.from_scipy(a).to(advice, crd_dtype="int64").crd_dtype == np.int64  # what is written counts
    assert st.from_scipy(a).to(format=advice).crd_dtype == np.uint16


def test_auto_is_the_advice():
    for a in (stencil(50), sp.kron(stencil(20), np.ones((3, 3)), format="csr")):
        A = st.from_scipy(a)
        assert st.equal(A.to("auto"), A.to(st.advise(A))) and st.equal(A.to("auto"), A.to(format="Auto"))
        assert np.array_equal(A.to("auto").to_dense(), a.toarray())
    assert A.to("auto", dtype="float32").dtype == np.float32
    assert st.from_scipy(stencil(200)).to("auto").format == st.formats.DIAI


@pytest.mark.parametrize("shape", [(), (40,), (5, 6, 7), (2, 3, 4, 5)])
@pytest.mark.parametrize("density", [0, 0.05, 1])
def test_any_rank(shape, density):
    rng = np.random.default_rng(0)
    a = np.where(rng.random(shape) < density, rng.random(shape), 0)
    t = st.from_dense(a, st.Format("COO", rank=len(shape)) if shape else "Scalar")
    advice = st.advise(t)
    B = t.to("auto")
    assert np.array_equal(B.to_dense(), a) and B.nbytes <= advice.nbytes
    assert B.format.is_all_dense == (density == 1 or not shape)


def test_an_empty_matrix_and_a_fill():
    assert st.from_dense(np.zeros((0, 4)), "CSR").to("auto").shape == (0, 4)
    t = st.from_dense(np.array([[7.0, 1, 7], [7, 7, 2]]), "CSR", fill=7)
    assert np.array_equal(t.to("auto").to_dense(), t.to_dense()) and t.to("auto").fill == 7


def test_mistakes():
    with pytest.raises(st.TensorError, match="product.*memory"):
        st.advise(st.from_dense(np.eye(3), "CSR"), for_="speed")
    with pytest.raises(st.TensorError, match="from_package"):
        st.advise(np.eye(3))


def info():
    return st.describe_structure(st.from_scipy(stencil(2000)))  # the model says DIAI


def timed(**microseconds):
    variants = {name.replace("_", " "): {"seconds": us * 1e-6} for name, us in microseconds.items()}
    best = min(variants, key=lambda name: variants[name]["seconds"])
    result = {"seconds": variants[best]["seconds"], "variant": best, "variants": variants, "spread": 1.01}
    return {"spmv": {"strata": result}}


def test_noise_is_called_noise():
    said = demo.advised(info(), [], timed(CSR=100, CSR_uint16=98, DIAI=200))
    assert said["format"] == "CSR" and said["crd_dtype"] is None  # 2 % are no reason for another storage
    said = demo.advised(info(), [], timed(CSR=100, CSR_uint16=98, DIAI=101))
    assert said["format"] == "DIAI" and "within the noise (5 %)" in said["why"][0]
    said = demo.advised(info(), [], timed(CSR=100, DIAI=50))
    assert said["call"] == 'A.to("DIAI")' and "2.00 times" in said["why"][0]
    said = demo.advised(info(), [], timed(CSR=100, CSR_uint16=60, DIAI=90))
    assert said["call"] == 'A.to("CSR", crd_dtype="uint16")' and said["crd_dtype"] == "uint16"
    said = demo.advised(info(), [], timed(CSR=6, DIAI=3))
    assert "mostly the call" in said["why"][0]
    said = demo.advised(info(), [], timed(CSR=100, DIAI=90), busy=True)
    assert "this machine is busy: 25 %" in said["why"][0]
    assert demo.advised(info(), [], {})["format"] == "DIAI"


def test_a_busy_machine_is_noticed(monkeypatch):
    cores = len(machine.os.sched_getaffinity(0))
    for idle, busy in ((100, 0.0), (0, cores), (50, cores / 2)):
        ticks = iter([(1000, 500), (1100, 500 + idle)])
        monkeypatch.setattr(machine, "_ticks", lambda ticks=ticks: next(ticks))
        assert machine.taken_by_others(0) == pytest.approx(busy)
    monkeypatch.setattr(machine, "_ticks", lambda: None)
    assert machine.taken_by_others(0) == 0
    monkeypatch.undo()
    assert 0 <= machine.taken_by_others(0.05) <= cores
