#!/usr/bin/env bash
# Builds everything for the platforms that have no tests of their own, and runs the tests of the kernels for arm64 in qemu. Without qemu it
# says so and passes.
set -euo pipefail
cd "$(dirname "$0")/.."
for platform in linux/arm64 darwin/arm64 windows/amd64; do
	GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go build ./...
done
if ! qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64); then
	echo "arm64: qemu-user-static is not installed, so the kernels for arm64 were built but not run" >&2
	exit 0
fi
if [ "$(uname -m)" = aarch64 ]; then qemu=; fi
packages=$(printf './kernels/cpu/internal/%s ' gemm vec conv micro flush) # the longest first
export GOOS=linux GOARCH=arm64 CGO_ENABLED=0
# shellcheck disable=SC2086
go vet $packages
# shellcheck disable=SC2086
go test -short -vet=off -timeout 30m ${qemu:+-exec "$qemu"} $packages
