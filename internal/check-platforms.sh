#!/usr/bin/env bash
# Checks the types of everything for the platforms that have no tests of their own, and runs the tests of the kernels for arm64 in qemu. Without qemu it
# says so and passes. With "compile" everything is compiled instead. SHORT=1 takes a selection of the tests: an emulator is slow.
set -euo pipefail
cd "$(dirname "$0")/.."
platforms="linux/arm64 darwin/arm64 windows/amd64 linux/riscv64" # the last one has no kernels of its own
if [ "${1:-}" = compile ]; then
	for platform in $platforms; do
		GOOS=${platform%/*} GOARCH=${platform#*/} CGO_ENABLED=0 go build ./...
	done
	exit
fi
# shellcheck disable=SC2086
go run ./internal/platforms $platforms
if ! qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64); then
	echo "arm64: qemu-user-static is not installed, so the kernels for arm64 were built but not run" >&2
	exit 0
fi
if [ "$(uname -m)" = aarch64 ]; then qemu=; fi
packages=$(printf './kernels/cpu/internal/%s ' gemm vec conv micro quant isa flush) # the longest first
short='^Test(TileAgainstFloat64|ChannelsAgainstFloat64|SlideAgainstFloat64|GroupedAgainstFloat64|PackPanel|AddRowProduct|RunPooled|NothingOutsideIsTouched|Mode|CallLayout|ExactUnary|Binary|Reductions|SoftmaxRows|LstmCell|GruCell|LayerNorm|HalfPrecision|AdamGolden|MaxPool2x2|AgainstNaive|Pairs|PairsAgainstFloat64|HalfRowsAreIndependent|HalfReadsNoNeighbours|ProductsAreExact|Detected|SameBitsForAnyWorkers.*|FastShapes|RandomWords|Drop|BitsOfDoubles)$'
export GOOS=linux GOARCH=arm64 CGO_ENABLED=0
# shellcheck disable=SC2086
go vet $packages
# shellcheck disable=SC2086
go test -short -vet=off -timeout 30m ${SHORT:+-run "$short"} ${qemu:+-exec "$qemu"} $packages
