"""STRATA_DUMP prints each stage that it names, of products and of whole expressions, to stderr and nothing else."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import strata as st

START = """
import numpy as np
import strata as st
a = np.where(np.arange(42).reshape(6, 7) % 3 == 0, np.arange(42.0).reshape(6, 7), 0)
"""
PRODUCT = "print(st.einsum('ij,j->i', st.from_dense(a, 'delta(2)'), np.ones(7)).tolist())"  # no kernel is registered
WHOLE = """
R = st.evaluate('R(i,j) = A(i,j) + B(i,j)', A=st.from_dense(a, 'CSR'), B=st.from_dense(a, 'CSC'))
print(R.to_dense().tolist())
"""
A = np.where(np.arange(42).reshape(6, 7) % 3 == 0, np.arange(42.0).reshape(6, 7), 0)
EVERY = "graph,schedule,loops,source"


def stages(code, dump, **env):
    """(what is printed, [(stage, text)]) of a process of its own."""
    given = {k: v for k, v in os.environ.items() if k != "STRATA_DUMP"} | env | ({"STRATA_DUMP": dump} if dump else {})
    p = subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True, timeout=120, env=given)
    assert p.returncode == 0, p.stderr
    before, *pieces = re.split(r"^--- (\w+) ---\n", p.stderr, flags=re.M)
    assert before == ""
    return eval(p.stdout), list(zip(pieces[::2], pieces[1::2]))


def test_a_product():
    result, found = stages(PRODUCT, EVERY)
    assert result == A.sum(1).tolist()
    assert [name for name, _ in found] == EVERY.split(",")
    text = dict(found)
    assert text["graph"] == text["schedule"] == "for i in all\n  for j in t0\n\n"
    assert text["loops"].startswith("function kernel(") and "\n  for i = begin .. end\n" in text["loops"]
    assert re.search(r"total = fma\(\w+, \w+, total\)", text["loops"])
    source = text["source"]
    assert "  for (i64 i = begin; i < end; ++i) {\n" in source and "total = __builtin_fma(" in source
    assert "i32 kernel(void* const* buffers, const i64* scalars, i64 begin, i64 end, i64 chunk) {" in source
    assert source.count("{") == source.count("}")


def test_a_whole_expression():
    result, found = stages(WHOLE, "schedule,loops,source")
    assert result == (2 * A).tolist()
    assert [name for name, _ in found] == ["schedule", "loops", "source"]
    text = dict(found)
    assert text["schedule"] == "for i in all\n  for j in t0 or t1\n\n"
    assert "    while pjt0 < jt0_end && pjt1 < jt1_end\n" in text["loops"] and "v_t0 + v_t1" in text["loops"]
    assert "  for (i64 i = begin; i < end; ++i) {\n" in text["source"]
    assert "    while (pjt0 < jt0_end && pjt1 < jt1_end) {\n" in text["source"] and "v_t0 + v_t1" in text["source"]


def test_the_graph_of_a_whole_expression():
    _, found = stages(WHOLE, "graph")
    assert [name for name, _ in found] == ["graph"] and "for j in t0 or t1" in found[0][1]


@pytest.mark.parametrize("code", [PRODUCT, WHOLE], ids=["product", "whole"])
def test_what_is_not_asked_for_is_not_printed(code):
    assert stages(code, None)[1] == []
    loops = stages(code, "loops")[1]
    assert [name for name, _ in loops] == ["loops"]
    assert stages(code, "loops", STRATA_ENGINE="interpreter")[1] == loops  # before it is decided what runs them
    assert [name for name, _ in stages(code, "source,loops")[1]] == ["loops", "source"]  # in the order of the work


def test_the_setting_does_as_the_variable(capfd):
    """A format that no other test has, so that its kernel is not there yet."""
    before = st.settings.dump
    st.settings.dump = "loops"
    try:
        st.einsum("ij,j->i", st.from_dense(A, "(i, j) -> (i: bitmap, j: delta(7))"), np.ones(7))
    finally:
        st.settings.dump = before
    assert capfd.readouterr().err.startswith("--- loops ---\nfunction kernel(")


def test_a_stage_that_does_not_exist_is_told():
    before = st.settings.dump
    with pytest.raises(st.PlanError, match="graph, schedule, loops, source"):
        st.settings.dump = "graph,c"
    assert st.settings.dump == before
