import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))  # tests/: differential.py


@pytest.fixture
def no_copies(recwarn):
    """Fails a test in which something was copied."""
    import strata as st

    yield
    copies = [w for w in recwarn.list if issubclass(w.category, st.CopyWarning)]
    assert not copies, [str(w.message) for w in copies]
