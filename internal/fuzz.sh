#!/usr/bin/env bash
# Runs every fuzz target for the given time each (default 30s).
set -euo pipefail
cd "$(dirname "$0")/.."
# What asks for too much memory must fail here, not on the machine.
ulimit -v $((24 << 20))
export GOMEMLIMIT=${GOMEMLIMIT:-3GiB}
for package in $(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/func //' | sort -u); do
		echo "== $package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}" -fuzzminimizetime 20x "$package"
	done
done
