"""2,000 conversions and 2,000 expressions per run, in blocks so that workers share them. Longer runs:
tests/campaign.py.

The first 200 expressions run on whatever engine the plan chooses (most of them are compiled), the others on the
interpreter.
"""

import pytest
import strata as st
from differential import check_conversion, check_expression

BLOCKS, PER_BLOCK = 20, 100

# Seeds that once failed.
CONVERSIONS = []
EXPRESSIONS = []


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
