#!/usr/bin/env bash
# Builds the programs without cgo and fails when one asks for a program interpreter, that is, is not static.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
programs=./examples/...
if [ -d cmd ]; then programs="$programs ./cmd/..."; fi
# shellcheck disable=SC2086
CGO_ENABLED=0 go build -o "$out/" $programs
for program in "$out"/*; do
	if LC_ALL=C grep -qa '/lib64/ld-linux' "$program"; then
		echo "$(basename "$program") is dynamic: it names a program interpreter" >&2
		exit 1
	fi
done
