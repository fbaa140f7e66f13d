#!/usr/bin/env bash
# Parameter servers beside TensorFlow's: closures, 10 MB of dense weights, and an embedding of a million rows over two servers. TensorFlow's part needs
# the Python that GOKERAS_PYTHON names. The two sides do not do quite the same: ours keeps a log of updates, and computes no gradients of dense weights.
set -euo pipefail
cd "$(dirname "$0")/../.."
go test -run XXX -bench 'Closure|Dense|Embedding' -benchtime 3s ./distribute/parameterserver | grep Benchmark
if [ -z "${GOKERAS_PYTHON:-}" ]; then
  echo "TensorFlow's side: set GOKERAS_PYTHON to a Python with TensorFlow"
  exit 0
fi
for run in "embedding 2 10 1000000" "dense 3 10"; do
  # shellcheck disable=SC2086
  timeout 300 "$GOKERAS_PYTHON" internal/benchps/tensorflow_servers.py $run 2>/dev/null || echo "TensorFlow's side did not end: $run"
done
