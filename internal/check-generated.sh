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

# How each operation runs on GPUs.
go run ./kernels/cuda/internal/lower/table >"$api"
if ! diff -u docs/cuda_operations.md "$api" >&2; then
	echo "docs/cuda_operations.md is not what the code says: go run ./kernels/cuda/internal/lower/table >docs/cuda_operations.md" >&2
	exit 1
fi
