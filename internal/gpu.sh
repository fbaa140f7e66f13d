#!/usr/bin/env bash
# Builds what a machine with an NVIDIA GPU needs to test and time kernels/cuda: a folder with a program and the command run.sh, which wants nothing there but the
# driver. gpu.sh [FOLDER [TESTS]] (build/gpu, those whose names begin with TestHardware). run.sh runs the suite and the training tests on cuda:0 and writes gpu.md and gpu.json into FOLDER/results. Where this
# machine has a GPU, it is run at once.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/gpu}
tests=${2:-TestHardware}
mkdir -p "$folder"
CGO_ENABLED=0 go test -c -ldflags '-s -w' -o "$folder/cuda.test" ./kernels/cuda
gzip -9 -c "$folder/cuda.test" >"$folder/cuda.test.gz"
rm "$folder/cuda.test"
cat >"$folder/run.sh" <<'RUN'
#!/bin/sh
# Tests and times kernels/cuda on cuda:0.
cd "$(dirname "$0")"
export GOKERAS_GPU="$PWD/results"
mkdir -p "$GOKERAS_GPU"
[ -e cuda.test ] || gunzip -k cuda.test.gz; chmod +x cuda.test
./cuda.test -test.run 'TESTS' -test.timeout 9m -test.v >"$GOKERAS_GPU/log" 2>&1
status=$?
grep -E '^(---|FAIL|PASS|ok)' "$GOKERAS_GPU/log"
[ $status = 0 ] || grep -A 3 -- '--- FAIL' "$GOKERAS_GPU/log" | head -60
cat "$GOKERAS_GPU"/*.md 2>/dev/null
exit $status
RUN
sed -i "s/TESTS/$tests/" "$folder/run.sh"
chmod +x "$folder/run.sh"
size=$(du -sm "$folder" | cut -f1)
[ "$size" -le 60 ] || { echo "$folder has $size MB, more than the 60 that can be carried" >&2; exit 1; }
echo "$folder has $size MB: carry it to a machine with an NVIDIA driver and run run.sh there"
if [ -e /dev/nvidia0 ]; then exec "$folder/run.sh"; fi
