#!/usr/bin/env bash
# Builds what a TPU VM needs to test and time kernels/pjrt: a folder with a program and the command run.sh, which wants nothing there but libtpu (the Python package,
# or TPU_LIBRARY_PATH). tpu.sh [FOLDER] (build/tpu). run.sh runs the suite, training, and the strategies over all cores on tpu:0, tpu:1, ... and writes tpu.md into
# FOLDER/results. Where this machine has a TPU it is run at once. With GOKERAS_TPU_KIND=xla it runs here on the plugin that GOKERAS_PJRT_PLUGIN names, which tries the
# command out and says nothing about TPUs.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/tpu}
mkdir -p "$folder"
CGO_ENABLED=0 go test -c -ldflags '-s -w' -o "$folder/pjrt.test" ./kernels/pjrt
cat >"$folder/run.sh" <<'RUN'
#!/bin/sh
# Tests and times kernels/pjrt on the TPU of this machine; arguments are the test program's.
cd "$(dirname "$0")"
export GOKERAS_TPU="$PWD/results"
mkdir -p "$GOKERAS_TPU"
./pjrt.test -test.run '^TestHardware' -test.timeout 60m -test.v "$@" >"$GOKERAS_TPU/log" 2>&1
status=$?
grep -E '^(---|FAIL|PASS|ok)' "$GOKERAS_TPU/log"
[ $status = 0 ] || grep -A 3 -- '--- FAIL' "$GOKERAS_TPU/log" | head -60
cat "$GOKERAS_TPU"/*.md 2>/dev/null
exit $status
RUN
chmod +x "$folder/run.sh"
echo "$folder: carry it to a TPU VM and run run.sh there"
if [ -e /dev/accel0 ] || ls /dev/vfio/[0-9]* >/dev/null 2>&1 || [ -n "${GOKERAS_TPU_KIND:-}" ]; then exec "$folder/run.sh"; fi
