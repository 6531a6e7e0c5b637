"""A few of torch's own operators, with torch's own samples, on sparse tensors: what scripts/opinfo.py does with all of them."""

import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")
import strata.torch as stt  # noqa: E402
from strata.torch._tensor import FUNCTIONS  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))
import opinfo  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")
OURS = ("strata CSR", "strata COO", "strata BSR")
#: operator: what becomes of its samples
SPARSE = {
    **dict.fromkeys(
        "T mul neg sum mm index_select reshape tril gather take flip chunk where unbind mean amax".split(), "all"
    ),
    **dict.fromkeys(
        "add cat clamp_max maximum lt masked_fill nn.functional.linear nn.functional.embedding".split(), "some"
    ),
    "exp": "dense",
}


@pytest.fixture(scope="module")
def operators():
    return {opinfo.name_of(op): op for op in opinfo.operators()}


@pytest.fixture(autouse=True)
def few_samples(monkeypatch):
    monkeypatch.setattr(opinfo, "SAMPLES", 5)
    monkeypatch.setattr(opinfo, "KINDS", {kind: opinfo.KINDS[kind] for kind in OURS})


@pytest.mark.parametrize("name", SPARSE)
def test_operators(name, operators):
    verdict = opinfo.examine(operators[name])
    assert set(verdict) == set(OURS)
    for forward, backward in verdict.values():
        assert opinfo.WRONG not in (forward, backward) and opinfo.REFUSED not in (forward, backward)
        assert forward == SPARSE[name] or SPARSE[name] == "some" and forward == "all"


def test_a_wrong_operator_is_found(operators, monkeypatch):
    right = FUNCTIONS[torch.neg]
    for wrong in (
        lambda x: right(right(x)),
        lambda x: right(x).detach(),
        lambda x: stt.Tensor(right(x).values().double(), x.pattern),
        lambda x: right(x)[:1],
    ):
        monkeypatch.setitem(FUNCTIONS, torch.neg, wrong)
        assert all(opinfo.WRONG in found for found in opinfo.examine(operators["neg"]).values())


def test_the_page_counts_them(operators):
    text = opinfo.page({"neg": opinfo.examine(operators["neg"])})
    assert "| strata CSR | 1 | 0 | 0 | 0 | 0 | 1 |" in text and "| `neg` | all / all |" in text
