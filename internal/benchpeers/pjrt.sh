#!/usr/bin/env bash
# Measures training steps and predictions through XLA's plugin for CPUs beside JAX on the same plugin; arguments are those of pjrt.py. JAX_PY
# names a Python binary that has JAX, GOKERAS_PJRT_CPU the plugin; without them they are downloaded into cache folders.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${BENCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-bench}
mkdir -p "$work"
JAX_PY=${JAX_PY:-$("$root/internal/python-environment.sh" "$work/tensorflow" "$here/requirements-tensorflow.txt")}
GOKERAS_PJRT_PLUGIN=${GOKERAS_PJRT_CPU:-$("$root/internal/test-pjrt.sh" plugin)}
(cd "$root" && CGO_ENABLED=0 go build -tags pjrt -o "$work/worker-pjrt" ./internal/benchpeers/worker)
export JAX_PY GOKERAS_PJRT_PLUGIN GO_WORKER=$work/worker-pjrt
exec python3 "$here/pjrt.py" "$@"
