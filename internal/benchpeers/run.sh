#!/usr/bin/env bash
# Measures this library beside TensorFlow, JAX, ONNX Runtime, PyTorch and GoMLX: makes Python environments with pinned versions, builds our
# worker and GoMLX's, and runs run.py with the arguments given. TF_PY and TORCH_PY name Python binaries to use instead of new environments; the
# word "none" leaves those frameworks out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${BENCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-bench}
mkdir -p "$work"

environment() { # name, requirements: prints the Python binary
	"$root/internal/python-environment.sh" "$work/$1" "$here/$2"
}

if [ -z "${TF_PY:-}" ]; then TF_PY=$(environment tensorflow requirements-tensorflow.txt) || { echo "TensorFlow, JAX and ONNX Runtime cannot be installed" >&2; TF_PY=; }; fi
if [ -z "${TORCH_PY:-}" ]; then TORCH_PY=$(environment torch requirements-torch.txt) || { echo "PyTorch cannot be installed" >&2; TORCH_PY=; }; fi
[ "$TF_PY" != none ] || TF_PY=
[ "$TORCH_PY" != none ] || TORCH_PY=
(cd "$root" && CGO_ENABLED=0 go build -o "$work/worker" ./internal/benchpeers/worker)
# GoMLX's fast products exist only with this experiment.
GOMLX_WORKER=$work/gomlx
(cd "$here/gomlx" && CGO_ENABLED=0 GOEXPERIMENT=simd go build -o "$GOMLX_WORKER" .) || { echo "GoMLX cannot be built" >&2; GOMLX_WORKER=; }
export TF_PY TORCH_PY GO_WORKER=$work/worker GOMLX_WORKER
export BENCH_DIR=$work
if [ "${1:-}" = models ]; then shift; exec python3 "$here/models.py" "$@"; fi
if [ "${1:-}" = concurrent ]; then shift; exec "$TF_PY" "$here/callers.py" "$@"; fi
if [ "${1:-}" = lengths ]; then shift; exec "$TORCH_PY" "$here/lengths.py" "$@"; fi
if [ "${1:-}" = parts ]; then shift; exec python3 "$here/parts.py" "$@"; fi
exec python3 "$here/run.py" "$@"
