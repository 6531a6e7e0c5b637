# Sourced by ./run, ./test and .ci/run: gets what is missing, says what it does, and says what cannot be had.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 DEBIAN_FRONTEND=noninteractive
venv=.venv

say() { printf '\033[1m==> %s\033[0m\n' "$*" | if [ -t 1 ]; then cat; else sed 's/\x1b\[[0-9;]*m//g'; fi; }
stop() {
  printf 'strata: %s\n' "$@" >&2
  exit 1
}

# A stage of a long run, with the seconds that it may take on two slow cores (machines differ by a factor of three).
# Its own seconds are printed when the next one begins, and all of them by stages_end; ./test called by .ci/run adds its
# stages to the same list.
stage_name=
stage() {
  stage_done
  stage_name=$1 stage_budget=$2 stage_start=$(date +%s)
  say "$1"
}
stage_done() {
  [ -n "$stage_name" ] || return 0
  local took=$(($(date +%s) - stage_start))
  echo "    $took s (budget $stage_budget s)"
  mkdir -p build
  printf '%s\t%s\t%s\n' "$took" "$stage_budget" "$stage_name" >>"${STRATA_STAGES:=build/stages}"
  stage_name=
}
stages_end() {
  stage_done
  awk -F '\t' 'BEGIN { print " seconds   budget" }
    { printf "%8d %8d   %s%s\n", $1, $2, $3, ($1 > $2 ? "   (over)" : ""); took += $1; budget += $2 }
    END { printf "%8d %8d   in all\n", took, budget }' "$STRATA_STAGES"
}

# Runs a command as root, or fails where that is not possible.
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo -n "$@" || sudo "$@"; else return 1; fi
}

# Debian packages of the list that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || printf '%s ' "$package"
  done
}

apt_updated=
# Installs Debian packages where they are missing; fails, having said so, where they cannot be had.
packages() {
  local missing
  if ! command -v apt-get >/dev/null; then
    echo "    not a Debian system: these packages (or what they contain) must be there already: $*"
    return 1
  fi
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  say "Installing system packages: $missing"
  if [ -z "$apt_updated" ]; then
    as_root apt-get -q update >/dev/null || echo "    apt-get update failed: trying with the lists at hand"
    apt_updated=yes
  fi
  # shellcheck disable=SC2086
  as_root apt-get -q install -y --no-install-recommends $missing >/dev/null || {
    echo "    could not install: $missing(needs root or sudo, and a Debian mirror)"
    return 1
  }
}

# A C++ compiler and Python, without which nothing works; LLVM, without which kernels go through the C compiler.
toolchain() {
  packages g++ python3-dev python3-venv || true
  command -v c++ >/dev/null || stop "no C++ compiler (Debian: apt-get install g++)"
  command -v python3 >/dev/null || stop "no Python 3 (Debian: apt-get install python3-dev python3-venv)"
  packages llvm-19-dev libclang-19-dev lld-19 libzstd-dev zlib1g-dev ||
    echo "    building without LLVM: kernels will be compiled by the machine's C compiler, a little slower"
  packages libeigen3-dev || echo "    Eigen comes from PyPI instead"
  packages ccache || true
  if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    # Precompiled headers are cached too, and so is what another checkout compiled. (CCACHE_SLOPPINESS: as ccache's manual
    # asks for them.)
    export CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  fi
}

# Runs a long build with its output in a file: shows how far it is, and the end of the file where it fails.
with_progress() {
  local log=$1 job last="" now waited=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null &
  job=$!
  trap 'kill "$job" 2>/dev/null || true' INT TERM
  while kill -0 "$job" 2>/dev/null; do
    sleep 1
    now=$(grep -o '\[[0-9]*/[0-9]*\]' "$log" | tail -n 1) || true
    if [ -t 1 ]; then
      [ "$now" = "$last" ] || printf '\r    %s ' "$now"
      last=$now
    elif [ $((++waited % 30)) = 0 ] && [ "$now" != "$last" ]; then
      echo "    $now"
      last=$now
    fi
  done
  if [ -t 1 ]; then printf '\r              \r'; fi
  trap - INT TERM
  wait "$job" || {
    tail -n 60 "$log"
    return 1
  }
}

# A virtual environment of our own with the given Python packages.
environment() {
  if [ ! -x "$venv/bin/python" ]; then
    say "Creating the virtual environment $venv"
    python3 -m venv "$venv" || stop "python3 -m venv failed (Debian: apt-get install python3-venv)"
  fi
  "$venv/bin/pip" install -q "$@" || stop "pip could not install: $*"
  PATH="$PWD/$venv/bin:$PATH"
}

# What an installed package was made from: every source by name, size and time, and what the build is told.
sources() {
  {
    find CMakeLists.txt pyproject.toml LICENSE NOTICE README.md cmake include src python -type f \
      ! -path '*/__pycache__/*' -printf '%p %s %T@\n' | LC_ALL=C sort
    echo "${CMAKE_ARGS:-} ${CC:-} ${CXX:-}"
  } | sha256sum
}

# Is the package there, with the extra EXTRA, as the sources are now?
installed() {
  [ -x "$venv/bin/strata" ] && grep -qxF "$(sources) $1" "$venv/strata-installed" 2>/dev/null
}

# The package itself, from this checkout, in build/release; a second time only what changed is compiled. install_strata
# EXTRA [CMAKE_NAME=VALUE ...]: what else is built there. With STRATA_ISA=host loops are built for this machine alone;
# with STRATA_UNITY=OFF each file is compiled by itself; with STRATA_AOT=OFF all generated kernels are compiled when they
# are asked for.
install_strata() {
  local extra=$1 define made
  local settings=("--config-settings=cmake.define.STRATA_ISA=${STRATA_ISA:-all}"
    "--config-settings=cmake.define.STRATA_UNITY=${STRATA_UNITY:-ON}"
    "--config-settings=cmake.define.STRATA_AOT=${STRATA_AOT:-ON}")
  shift
  for define in "$@"; do settings+=("--config-settings=cmake.define.$define"); done
  made=$(sources)  # what changes while it builds is not in it
  rm -f "$venv/strata-installed"
  environment "scikit-build-core>=0.11" "nanobind>=2.4" "cmake>=3.21" ninja
  [ -e /usr/include/eigen3/Eigen/SparseLU ] || environment "cmeel-eigen>=3.4,<6"
  with_progress build/install.log "$venv/bin/pip" install -v --no-build-isolation --config-settings=build-dir=build/release \
    "${settings[@]}" ".[$extra]" || stop "the build failed: the messages above say where (all of them: build/install.log)"
  # The extra test has all that demo has.
  printf '%s %s\n' "$made" "$extra" "$made" demo >"$venv/strata-installed"
}
