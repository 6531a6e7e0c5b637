"""./run: what is wrong is told before anything is built, paths are the caller's, what is built already starts at once."""

import os
import pathlib
import shutil
import subprocess

import pytest

from strata import cli

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture
def checkout(tmp_path):
    """A checkout whose command strata, already there, says where it was called and with what."""
    root = tmp_path / "a checkout"
    for name in ("run", "scripts/setup.sh"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    for name in ("CMakeLists.txt", "pyproject.toml", "LICENSE", "NOTICE", "README.md"):
        (root / name).write_text("")
    for name in ("cmake", "include", "src", "python", ".venv/bin"):
        (root / name).mkdir(parents=True)
        (root / name / "file").write_text("1")
    command = root / ".venv" / "bin" / "strata"
    command.write_text('#!/bin/sh\necho "in $PWD: $*"\nexit ${DEMO_STATUS:-0}\n')
    command.chmod(0o755)
    made = 'cd "$0"; . scripts/setup.sh; echo "$(sources) demo" >.venv/strata-installed'
    subprocess.run(["bash", "-c", made, root], check=True)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "my.mtx").write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n")
    return root


def run(checkout, *arguments, **environment):
    return subprocess.run(
        ["../a checkout/run", *arguments],
        cwd=checkout.parent / "data",
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def installed(checkout):
    code = 'cd "$0"; . scripts/setup.sh; installed demo'
    return subprocess.run(["bash", "-c", code, checkout]).returncode == 0


def test_paths_are_the_caller_s(checkout):
    out = run(checkout, "my.mtx", "--threads", "2", "--quick")
    assert out.returncode == 0, out.stderr
    assert out.stdout.startswith(f"in {checkout.parent / 'data'}: demo my.mtx --threads 2 --quick\n")


def test_it_says_how_to_go_on(checkout):
    text = run(checkout).stdout
    assert "source ../a\\ checkout/.venv/bin/activate\n" in text
    for line in ("strata show", "strata demo mine.mtx", "first_steps.py"):
        assert line in text
    assert "To go on" not in run(checkout, "--json").stdout
    out = run(checkout, DEMO_STATUS="7")
    assert out.returncode == 7 and "To go on" not in out.stdout


def test_help_needs_nothing(checkout):
    shutil.rmtree(checkout / "scripts")
    shutil.rmtree(checkout / ".venv")
    for word in ("--help", "-h"):
        out = run(checkout, word)
        assert out.returncode == 0 and out.stdout.startswith("./run [FILE.mtx]") and not out.stderr
    demo = cli.parser()._subparsers._group_actions[0].choices["demo"]
    for action in demo._actions:
        for word in action.option_strings:
            assert word in out.stdout or word == "-h"


@pytest.mark.parametrize(
    "arguments,said",
    [
        (["none.mtx"], "cannot open none.mtx"),
        (["."], "cannot read ."),
        (["my.tns"], "suffix"),
        (["other.mtx"], "no Matrix Market file"),
        (["empty.mtx"], "no Matrix Market file"),
        (["my.mtx", "my.mtx"], "two files"),
        (["--fast"], "there is no option --fast"),
        (["--threads"], "--threads needs a number"),
        (["--threads", "-1"], "got       -1"),
        (["--threads=two"], "got       two"),
    ],
)
def test_mistakes_are_told_before_anything_is_built(checkout, arguments, said):
    shutil.rmtree(checkout / "scripts")  # whatever would build fails
    data = checkout.parent / "data"
    for name, text in (("my.tns", "1 1 1\n"), ("other.mtx", "\0\1\2 binary"), ("empty.mtx", "")):
        (data / name).write_text(text)
    out = run(checkout, *arguments)
    assert out.returncode == 1 and not out.stdout
    assert out.stderr.startswith("strata: ") and said in out.stderr and "expected" in out.stderr


def test_what_changed_is_built_again(checkout):
    assert installed(checkout)
    (checkout / "src" / "__pycache__").mkdir()
    (checkout / "src" / "__pycache__" / "x.pyc").write_text("")
    assert installed(checkout)
    (checkout / "src" / "new.cpp").write_text("")
    assert not installed(checkout)
    (checkout / "src" / "new.cpp").unlink()
    assert installed(checkout)
    (checkout / "python" / "file").write_text("22")
    assert not installed(checkout)
