#!/bin/sh
# Renews python/strata/_core.pyi from the installed extension. Give another file to compare instead.
set -e
here=$(cd "$(dirname "$0")/.." && pwd)
cd /
"${PYTHON:-python3}" -c 'import sys; from strata import _calls; _calls.as_bound(); from nanobind.stubgen import main; main(sys.argv[1:])' \
  -q -m strata._core -p "$here/python/bind/stubs.pat" -o "${1:-$here/python/strata/_core.pyi}"
