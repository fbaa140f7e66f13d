#!/usr/bin/env bash
# Regenerates everything that is generated and fails when the result differs from what is committed.
set -euo pipefail
cd "$(dirname "$0")/.."
./internal/asmgen/check.sh

# The list of all that programs can name. Its file changes when the API does, on purpose: make api, and an entry in CHANGELOG.md.
api=$(mktemp)
trap 'rm -f "$api"' EXIT
go run ./internal/api >"$api"
if ! diff -u docs/api.txt "$api" >&2; then
	echo "the API is not that of docs/api.txt; if that is meant: make api, and say so in CHANGELOG.md" >&2
	exit 1
fi
