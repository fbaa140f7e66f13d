#!/usr/bin/env bash
# Measures 16-bit floats and quantized layers beside float32, ours beside PyTorch and JAX on one processor: builds our worker and runs halves.py
# with the arguments given. TORCH_PY and JAX_PY name Python binaries; without TORCH_PY an environment is made, and JAX is that one's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${BENCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-bench}
mkdir -p "$work"
if [ -z "${TORCH_PY:-}" ]; then TORCH_PY=$("$root/internal/python-environment.sh" "$work/torch" "$here/requirements-torch.txt"); fi
(cd "$root" && CGO_ENABLED=0 go build -o "$work/worker" ./internal/benchpeers/worker)
exec "$TORCH_PY" "$here/halves.py" --worker "$work/worker" --torch "$TORCH_PY" --jax "${JAX_PY:-$TORCH_PY}" "$@"
