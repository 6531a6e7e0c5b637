"""strata doctor and strata cache."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy

from strata.demo import cache, doctor

ROOT = pathlib.Path(__file__).resolve().parents[3]


def strata(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "strata", *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_doctor_tells_what_is_here():
    out = strata("doctor", "--json")
    known = json.loads(out.stdout)
    assert out.returncode == 0 and known["problem"] is None
    assert known["numpy"] == np.__version__ and known["packages"]["SciPy"] == scipy.__version__
    assert known["threads"] >= 1 and known["processors"] == len(os.sched_getaffinity(0)) and known["memory"] > 1e8
    text = strata("doctor").stdout
    for word in ("python", "numpy", "processor", "threads", "memory", "compiler", "cache", "packages", "checked in"):
        assert word in text
    assert "\x1b" not in text


def test_doctor_tells_what_is_missing_and_how_to_get_it(tmp_path):
    text = strata("doctor", STRATA_JIT="off").stdout
    assert "kernels are interpreted" in text and "unset STRATA_JIT" in text and "checked in" in text
    text = strata("doctor", STRATA_CACHE="off", STRATA_NUM_THREADS="1").stdout
    assert "compiled again in every process" in text
    assert len(os.sched_getaffinity(0)) == 1 or "unset STRATA_NUM_THREADS" in text
    known = {
        "problem": None,
        "compiler": "none: no cc",
        "cache": {"used": True, "directory": str(tmp_path / "none" / "v1")},
        "threads": 4,
        "processors": 4,
        "taken_by_others": 0.0,
        "packages": {},
    }
    said = dict(doctor.advice(known))
    assert said["kernels are interpreted, slowly: no compiler (no cc)"] == "apt-get install gcc, or pip install ziglang"
    assert sorted(how for how in said.values() if how.startswith("pip")) == [
        "pip install mkl",
        "pip install pyamg",
        "pip install scipy",
        "pip install torch",
    ]
    known |= {"compiler": "gcc (gcc 12)", "packages": dict.fromkeys(doctor.PACKAGES, "1")}
    (only,) = doctor.advice(known)
    assert "llvm-19-dev" in only[1]
    known |= {"compiler": "clang (in process)"}
    assert not doctor.advice(known)


def test_the_cache_is_shown_and_cleared(tmp_path):
    there = tmp_path / "cache"
    environment = {"STRATA_CACHE_DIR": str(there)}
    known = json.loads(strata("cache", "--json", **environment).stdout)
    assert (known["kernels"], known["bytes"], known["directory"]) == (0, 0, str(there))
    code = (
        "import numpy as np, strata as st; A = st.from_dense(np.eye(4), 'delta(3)'); "
        "st.evaluate('y(i) = 1.25 * A(i,j) * x(j)', A=A, x=np.ones(4))"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, check=True)
    files = sorted(p.name for p in there.iterdir())
    if not files:
        pytest.skip("nothing compiles here")
    (there / "mine.txt").write_text("stays")
    (there / "kernel.kernel").symlink_to(there / "mine.txt")
    known = json.loads(strata("cache", "--json", **environment).stdout)
    assert known["kernels"] == len(files) and 0 < known["bytes"] <= known["limit"]
    assert f"{len(files)}" in strata("cache", **environment).stdout
    out = strata("cache", "--clear", **environment)
    assert out.returncode == 0 and f"removed {len(files)} kernel" in out.stdout
    assert sorted(p.name for p in there.iterdir()) == ["kernel.kernel", "mine.txt"]
    assert "removed 0 kernels" in strata("cache", "--clear", **environment).stdout


def test_the_limit_is_the_library_s():
    source = (ROOT / "src" / "backend" / "disk_cache.cpp").read_text()
    limit = re.search(r"max_total = ([\d']+);", source)[1].replace("'", "")
    assert int(limit) == cache.LIMIT
