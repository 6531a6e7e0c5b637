#!/bin/sh
# Renews python/strata/_core.pyi from the installed extension. Give another file to compare instead.
set -e
here=$(cd "$(dirname "$0")/.." && pwd)
cd /
"${PYTHON:-python3}" "$here/scripts/make_stubs.py" "$here/python/bind/stubs.pat" "${1:-$here/python/strata/_core.pyi}"
