# One word each, over the scripts and CMake presets. `just` alone lists them.
#
#     .venv/bin/pip install rust-just pre-commit     (behind ./run, which makes .venv)

set positional-arguments

export PATH := justfile_directory() / ".venv/bin:" + env("PATH")

[private]
default:
    @just --list --unsorted

# C++ library, its tests and examples: release, debug, clang, asan (CMakePresets.json)
build preset="release":
    cmake --preset {{ preset }}
    cmake --build --preset {{ preset }}

# everything built, C++ and Python tests; arguments go to pytest (-k row_sums)
test *args:
    ./test "$@"

# format C++, Python and C as the hooks of .pre-commit-config.yaml do
fmt:
    -pre-commit run --all-files

# the same, but what is not formatted is an error; and folders include only folders above them
lint:
    pre-commit run --all-files --show-diff-on-failure
    python3 scripts/check_layers.py

# how an expression runs, without data: just show "y(i) = A(i,j) * x(j)" A=csr
show *args:
    @strata show "$@"

# beside other libraries: just bench --quick
bench *args:
    @strata bench "$@"

# renew tests/golden from what the compiler gives now; read the difference
golden preset="release":
    cmake --preset {{ preset }}
    cmake --build --preset {{ preset }} --target test_compiler
    STRATA_GOLDEN=update build/{{ preset }}/test_compiler -tc='*golden*'
    git diff --stat tests/golden

# renew python/strata/_core.pyi from the installed extension
stubs:
    PYTHON=python scripts/stubs.sh

# the reference site
site *args:
    scripts/site "$@"

# what a change must pass
ci:
    .ci/run

# what is slow and rarely fails: campaigns, long fuzzing, other compilers and versions
nightly *args:
    scripts/nightly "$@"
