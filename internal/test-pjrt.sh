#!/usr/bin/env bash
# Runs the tests of kernels/pjrt on XLA's plugin for CPUs, and fails when one of them does not run. GOKERAS_PJRT_CPU names the plugin's file; without
# it, the Python package that holds one is downloaded into a cache folder (PJRT_TEST_DIR) and unpacked there. "test-pjrt.sh plugin" only does that
# and prints the file.
set -euo pipefail
cd "$(dirname "$0")/.."

plugin() {
	local folder=${PJRT_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-pjrt} file
	if ! cmp -s internal/requirements-pjrt.txt "$folder/installed.txt"; then
		rm -rf "$folder"
		mkdir -p "$folder"
		python3 -m pip download --quiet --no-deps --only-binary=:all: --platform manylinux_2_27_x86_64 --require-hashes --dest "$folder" \
			-r internal/requirements-pjrt.txt >"$folder/log" 2>&1 || { echo "the plugin cannot be downloaded: $(tail -n 1 "$folder/log")" >&2; exit 1; }
		python3 -m zipfile -e "$folder"/*.whl "$folder"
		cp internal/requirements-pjrt.txt "$folder/installed.txt"
	fi
	file=$(find "$folder" -name '*.so' | head -n 1)
	[ -n "$file" ] || { echo "there is no library in $folder" >&2; exit 1; }
	echo "$file"
}

if [ "${1:-}" = plugin ]; then plugin; exit; fi
GOKERAS_PJRT_CPU=${GOKERAS_PJRT_CPU:-$(plugin)}
export GOKERAS_PJRT_CPU
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
go test -count=1 -v -timeout 40m ./kernels/pjrt >"$log" 2>&1 || status=$?
if [ $status != 0 ]; then
	grep -vE '^ *(=== |--- PASS)' "$log" || true
	exit $status
fi
if grep -q -- '--- SKIP' "$log"; then
	echo "these tests were skipped, in whole or in part:" >&2
	grep -A 2 -- '--- SKIP' "$log" >&2
	exit 1
fi
grep -E '^(---|ok )' "$log"
