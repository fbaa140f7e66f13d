#!/usr/bin/env bash
# Prints the packages that the race detector looks at: those below the folders that are named whose code or tests start goroutines, share memory between them, or
# hand work to the pool of workers, and those with unsafe code, whose pointers the same build checks. What only computes cannot race by itself; "make race-all"
# runs everything.
set -euo pipefail
cd "$(dirname "$0")/.."
for folder in $(git ls-files -- "$@" | grep '_test\.go$' | xargs -n1 dirname | sort -u); do
	if grep -qE '^[[:space:]]+go [a-z]|\.Go\(|"sync"|"sync/atomic"|"unsafe"|internal/pool"|t\.Parallel\(' "$folder"/*.go; then
		echo "./$folder"
	fi
done
