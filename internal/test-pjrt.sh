#!/usr/bin/env bash
# Runs the tests of kernels/pjrt and keras/distribution on XLA's plugin for CPUs, and those that compile for TPUs with libtpu, and fails when one of them does not run.
# GOKERAS_PJRT_CPU and GOKERAS_LIBTPU name the libraries; without them, the Python packages that hold them are downloaded into a cache folder
# (PJRT_TEST_DIR) and unpacked there. SHORT=1 takes a program or two of each op and one of each kind of device. "test-pjrt.sh plugin" and "test-pjrt.sh libtpu" only do that and print the file.
set -euo pipefail
cd "$(dirname "$0")/.."

# library FOLDER LIST NAME OPTIONS...: the file of the given name in the package that a list of requirements names
library() {
	local folder=${PJRT_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}}/$1 list=$2 name=$3 file
	shift 3
	if ! cmp -s "$list" "$folder/installed.txt"; then
		rm -rf "$folder"
		mkdir -p "$folder"
		python3 -m pip download --quiet --no-deps --only-binary=:all: "$@" --require-hashes --dest "$folder" -r "$list" >"$folder/log" 2>&1 ||
			{ echo "$name cannot be downloaded: $(tail -n 1 "$folder/log")" >&2; exit 1; }
		python3 -m zipfile -e "$folder"/*.whl "$folder"
		rm -f "$folder"/*.whl
		cp "$list" "$folder/installed.txt"
	fi
	file=$(find "$folder" -name "$name" | head -n 1)
	[ -n "$file" ] || { echo "there is no $name in $folder" >&2; exit 1; }
	echo "$file"
}
plugin() { library gokeras-pjrt internal/requirements-pjrt.txt 'pjrt_c_api_cpu_plugin.so' --platform manylinux_2_27_x86_64; }
libtpu() { library gokeras-libtpu internal/requirements-libtpu.txt libtpu.so --platform manylinux_2_31_x86_64 --python-version 3.11 --implementation cp --abi cp311; }

case ${1:-} in
plugin | libtpu) "$1"; exit ;;
esac
GOKERAS_PJRT_CPU=${GOKERAS_PJRT_CPU:-$(plugin)}
GOKERAS_LIBTPU=${GOKERAS_LIBTPU-$(libtpu)} # set but empty: there is none, and what compiles for TPUs is left out
export GOKERAS_PJRT_CPU GOKERAS_LIBTPU
leave=()
[ -n "$GOKERAS_LIBTPU" ] || leave=(-skip '^TestTarget')
[ -z "${SHORT:-}" ] || leave+=(-short)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
go test -count=1 -v -timeout 40m "${leave[@]}" ./kernels/pjrt ./keras/distribution >"$log" 2>&1 || status=$?
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
