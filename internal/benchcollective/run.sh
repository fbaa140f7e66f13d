#!/usr/bin/env bash
# Measures the all-reduce between processes beside torch's gloo and TensorFlow's RING: makes Python environments with pinned versions, those of
# internal/benchpeers, builds our program, and runs it with the arguments given. TF_PY and TORCH_PY name Python binaries to use instead
# of new environments; the word "none" leaves those frameworks out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${BENCH_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-bench}
mkdir -p "$work"

environment() { # name, requirements: prints the Python binary
	"$root/internal/python-environment.sh" "$work/$1" "$root/internal/benchpeers/$2"
}

if [ -z "${TF_PY:-}" ]; then TF_PY=$(environment tensorflow requirements-tensorflow.txt) || { echo "TensorFlow cannot be installed" >&2; TF_PY=; }; fi
if [ -z "${TORCH_PY:-}" ]; then TORCH_PY=$(environment torch requirements-torch.txt) || { echo "PyTorch cannot be installed" >&2; TORCH_PY=; }; fi
[ "$TF_PY" != none ] || TF_PY=
[ "$TORCH_PY" != none ] || TORCH_PY=
(cd "$root" && CGO_ENABLED=0 go build -o "$work/benchcollective" ./internal/benchcollective)
export TF_PY TORCH_PY
"$work/benchcollective" -peers "$here/peers" "$@"
if [ $# = 0 ]; then # and what it is for: training
	(cd "$root" && CGO_ENABLED=0 go build -o "$work/worker" ./internal/benchpeers/worker)
	echo
	"$work/worker" --scaling --rounds 9
fi
