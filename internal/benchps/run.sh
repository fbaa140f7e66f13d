#!/usr/bin/env bash
# Parameter servers beside TensorFlow's, as processes of this machine that do the same: closures, an MLP of 10 MB on three workers
# with batches of several sizes (and its steps in one process, which is what they compute), and look-ups in a table of
# ten million rows over two servers, and in one that grows. TensorFlow's part needs the Python that GOKERAS_PYTHON names. "-log" is ours with the log of updates, which
# TensorFlow's servers do not have. The benchmarks of distribute/parameterserver measure the parts.
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${BENCHPS_SECONDS:-10} rows=${BENCHPS_ROWS:-10000000}
program=$(mktemp)
trap 'rm -f "$program"' EXIT
go build -o "$program" ./internal/benchps
theirs() {
  if [ -n "${GOKERAS_PYTHON:-}" ]; then
    timeout 600 "$GOKERAS_PYTHON" internal/benchps/tensorflow_servers.py "$@" 2>/dev/null || echo "TensorFlow's side did not end: $*"
  fi
}
"$program" -kind closure -seconds "$seconds"
for batch in 8 16 32 64 128 256; do
  "$program" -kind fit -batch "$batch" -seconds "$seconds"
  "$program" -kind dense -batch "$batch" -seconds "$seconds"
  theirs dense 3 "$seconds" "$batch"
done
"$program" -kind dense -seconds "$seconds" -log
"$program" -kind embedding -workers 2 -rows "$rows" -seconds "$seconds"
"$program" -kind dynamic -workers 2 -rows "$rows" -seconds "$seconds"
theirs embedding 2 "$seconds" "$rows"
"$program" -kind embedding -workers 2 -rows "$rows" -seconds "$seconds" -log
if [ -z "${GOKERAS_PYTHON:-}" ]; then
  echo "TensorFlow's side: set GOKERAS_PYTHON to a Python with TensorFlow"
fi
