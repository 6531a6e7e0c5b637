"""benchmarks/compare: two revisions in one run."""

import pytest

from strata_bench import compare


@pytest.mark.parametrize(
    "ratios, said",
    [
        ([1.1] * 10, "faster"),
        ([1.1] * 9 + [0.9], "faster"),
        ([1.1] * 8 + [0.9] * 2, ""),  # too few agree
        ([0.9] * 10, "slower"),
        ([1.01] * 10, ""),  # sure, and nothing
        ([0.985] * 10, ""),
    ],
)
def test_verdict(ratios, said):
    assert compare.verdict(ratios) == said


def test_cases():
    names = [name for _, name, _ in compare.cases(compare.parser().parse_args(["a", "b", "--quick"]))]
    assert {"call A @ x", "call A + A", "spgemm uniform"} <= set(names)
    assert any(n.startswith("spmm64 ") for n in names) and any(n.startswith("CSR->CSC ") for n in names)
    assert len(names) == len(set(names))
    only = compare.cases(
        compare.parser().parse_args(["a", "b", "--what", "calls,layers", "--only", "A @ A", "--only", "dw "])
    )
    assert {what for what, _, _ in only} == {"calls", "layers"}


def test_the_tree_beside_itself(monkeypatch, capsys):
    """Every small call runs, and gives the same on both sides."""
    import sys

    monkeypatch.setattr(compare, "python_of", lambda revision: sys.executable)
    how = ". . --quick --what calls,matrices --only call --only CSR->BSR --threads 1 --rounds 2 --budget 0.002".split()
    assert compare.main(how) == 0
    out = capsys.readouterr().out
    lines = [line for line in out.splitlines() if " 1T " in line]
    assert len(lines) >= len(compare.CALLS) + 1 and "DIFFER" not in out
    assert "geometric mean" in out and "beyond noise: " in out
