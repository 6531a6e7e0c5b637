"""Fixtures of all Python tests. Modules that tests share lie in tests/, which pyproject.toml puts on the path."""

import importlib.util
import sys

import pytest

if (torch := importlib.util.find_spec("torch")) and torch.origin is None:
    sys.modules["torch"] = None  # it is not installed: what was found is the folder of its tests


@pytest.fixture
def no_copies(recwarn):
    """Fails a test in which something was copied."""
    import strata as st

    yield
    copies = [w for w in recwarn.list if issubclass(w.category, st.CopyWarning)]
    assert not copies, [str(w.message) for w in copies]


@pytest.fixture(params=[1, 3])
def threads(request):
    """How many threads compute."""
    import strata as st

    before = st.settings.threads
    st.settings.threads = request.param
    yield request.param
    st.settings.threads = before


@pytest.fixture(params=["auto", "interpreter"])
def engine(request):
    """What runs kernels."""
    import strata as st

    before = st.settings.engine
    st.settings.engine = request.param
    yield request.param
    st.settings.engine = before


@pytest.fixture(params=["auto", "interpreter", "general"])
def evaluate(request):
    """evaluate() by compiled code, by the interpreter, by the general path."""
    import strata as st

    before = st.settings.engine
    general = request.param == "general"
    st.settings.engine = "auto" if general else request.param
    yield lambda text, named: st._core.evaluate(text, named, general=general)
    st.settings.engine = before
