"""1,000 conversions and 1,000 expressions per run, in blocks so that workers share them. Longer runs:
tests/campaign.py.

The first 200 expressions run on whatever engine the plan chooses (most of them are compiled), the others on the
interpreter.
"""

import pytest
from differential import check_conversion, check_expression
from random_expressions import check as check_evaluation

import strata as st

BLOCKS, PER_BLOCK = 10, 100

# Seeds that once failed.
CONVERSIONS = [20225, 68633, 89388, 172755, 211209, 908002, 911113, 922562]
EXPRESSIONS = [2107784]
EVALUATIONS = [
    146414,
    161694,
    200125,
    206432,
    210357,
    225955,
    720072,
    720281,
    730498,
    761503,
    780794,
    2062740,
    2203419,
    2284416,
    12062226,
    12078086,
    12359565,
    50037123,
    50111173,
    50118296,
    70108023,
    70108442,
    70110501,
    70112434,
    91009258,
    91016432,
    123018472,
    123027248,
    200002745,
    404011837,
]


@pytest.mark.parametrize("block", range(BLOCKS))
def test_conversions(block):
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        check_conversion(seed)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_expressions(block, monkeypatch):
    if block >= 2:
        monkeypatch.setattr(st.settings, "engine", "interpreter")
    for seed in range(block * PER_BLOCK, (block + 1) * PER_BLOCK):
        check_expression(seed)


@pytest.mark.parametrize("seed", CONVERSIONS)
def test_conversions_that_failed_once(seed):
    check_conversion(seed)


@pytest.mark.parametrize("seed", EXPRESSIONS)
def test_expressions_that_failed_once(seed):
    check_expression(seed)


@pytest.mark.parametrize("seed", EVALUATIONS)
def test_evaluations_that_failed_once(seed):
    check_evaluation(seed)


def test_campaigns_know_every_kind(tmp_path, monkeypatch):
    """A run adds its line, and the next one begins where it ended."""
    import campaign

    monkeypatch.setattr(campaign, "LEDGER", tmp_path / "ledger.csv")
    monkeypatch.setattr(st.settings, "engine", "interpreter")
    for kind in campaign.KINDS:
        for first in (0, 3):
            monkeypatch.setattr("sys.argv", ["campaign.py", "--kind", kind, "--count", "3", "--engine", "interpreter"])
            assert campaign.main() == 0
            assert campaign.next_seed(kind, "interpreter") == first + 3
    assert (tmp_path / "ledger.csv").read_text().count("\n") == 1 + 2 * len(campaign.KINDS)
