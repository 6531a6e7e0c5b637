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


@pytest.fixture
def settings():
    """What runs kernels on how many threads; as it was behind the test."""
    import strata as st

    names = "engine", "threads", "jit"
    before = {name: getattr(st.settings, name) for name in names}
    yield st.settings
    for name in names:
        setattr(st.settings, name, before[name])


@pytest.fixture(params=[1, 3])
def threads(request, settings):
    """How many threads compute."""
    settings.threads = request.param
    return request.param


@pytest.fixture(params=["auto", "interpreter"])
def engine(request, settings):
    """What runs kernels."""
    settings.engine = request.param
    return request.param


@pytest.fixture(params=["auto", "interpreter", "general"])
def evaluate(request, settings):
    """evaluate() by compiled code, by the interpreter, by the general path."""
    import strata as st

    general = request.param == "general"
    settings.engine = "auto" if general else request.param
    return lambda text, named: st._core.evaluate(text, named, general=general)
