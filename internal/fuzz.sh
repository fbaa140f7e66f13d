#!/usr/bin/env bash
# Runs every fuzz target for the given time each (default 30s).
set -euo pipefail
cd "$(dirname "$0")/.."
# What asks for too much memory must fail here, not on the machine.
ulimit -v $((24 << 20))
export GOMEMLIMIT=${GOMEMLIMIT:-3GiB}
# Go ends a call after ten seconds of the clock, which a busy machine may need for little: five minutes here. FuzzConfigValues bounds its processor time itself.
worker=$(go env GOROOT)/src/internal/fuzz/worker.go overlay=$(mktemp -d)
trap 'rm -rf "$overlay"' EXIT
sed 's/time.AfterFunc(10\*time.Second, func/time.AfterFunc(5*time.Minute, func/' "$worker" >"$overlay/worker.go"
if cmp -s "$worker" "$overlay/worker.go"; then
	echo "this version of Go has its limit of ten seconds elsewhere: it stays" >&2
fi
printf '{"Replace":{"%s":"%s"}}' "$worker" "$overlay/worker.go" >"$overlay/overlay.json"
for package in $(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n1 dirname | sort -u); do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/func //' | sort -u); do
		echo "== $package $target"
		go test -overlay "$overlay/overlay.json" -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}" -fuzzminimizetime 20x "$package"
	done
done
