"""Packages that a test needs and that ./test installs: without one the test is skipped, but not where CI=true."""

import importlib
import os

import pytest


def needed(name):
    return importlib.import_module(name) if os.environ.get("CI") == "true" else pytest.importorskip(name)
