# One word each, over the scripts and CMake presets. `just` alone lists them.
#
#     .venv/bin/pip install rust-just pre-commit     (behind ./run, which makes .venv)

set positional-arguments

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")

[private]
default:
    @just --list --unsorted

# the Python package and the C++ library with its tests, in build/release; again, only what changed is compiled
build:
    bash -c '. scripts/setup.sh && toolchain && install_strata test STRATA_TESTS=ON STRATA_LIBRARY=ON'

# C++ alone, by another preset of CMakePresets.json: debug, clang, asan
preset name:
    cmake --preset "$1"
    cmake --build --preset "$1"

# everything built, C++ and Python tests; arguments go to pytest: just test -k row_sums
test *args:
    ./test "$@"

# C++ and Python as clang-format and ruff have them
fmt:
    scripts/lint --fix

# what is not formatted is an error, and a folder includes only folders above it; the hooks look at Markdown too
lint:
    scripts/lint
    pre-commit run --all-files

# how an expression runs, without data: just show "y(i) = A(i,j) * x(j)" A=csr
show *args:
    @strata show "$@"

# beside other libraries: just bench --quick
bench *args:
    @strata bench "$@"

# renew tests/golden from what the compiler gives now, and the pictures of docs; read the difference
golden: build
    STRATA_GOLDEN=update build/release/test_compiler -tc='golden*'
    python scripts/pictures.py
    git diff --stat tests/golden docs/_static/pictures

# renew python/strata/_core.pyi from the installed extension
stubs: build
    PYTHON="$(command -v python)" scripts/stubs.sh

# renew docs/reference/surface.md from the SciPy, NumPy, torch and pydata/sparse that are installed
names: build
    python scripts/surface.py

# the reference site
site *args:
    scripts/site "$@"

# what a change must pass
ci:
    .ci/run

# what is slow and rarely fails: just nightly fuzz campaign
nightly *args:
    scripts/nightly "$@"
