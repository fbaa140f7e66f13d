#!/usr/bin/env bash
# test-paths.sh [FAMILY...]: runs the tests of what computes once for each family of kernels that is named; by default those below the one that this
# machine uses by itself. The packages of the kernels are left out: their tests go through all families. SHORT=1 takes whole programs alone, and of the
# models a few.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# = 0 ]; then
	set -- portable
	if grep -qw avx512f /proc/cpuinfo 2>/dev/null; then set -- portable avx2; fi
fi
# The variable is read before the tests begin, where go test does not see it: results of another family must not count.
for family in "$@"; do
	echo "GOKERAS_CPU=$family"
	export GOKERAS_CPU=$family
	if [ -n "${SHORT:-}" ]; then
		go test -count=1 -short -vet=off -timeout 10m -run '^Test(Conformance|FusedEqualsUnfused|SameBitsForAnyWorkers|LossFalls|ScanBlocks)$' ./kernels/cpu
		go test -count=1 -short -vet=off -timeout 10m -run '^Test(FitVectors|TransferLearning)$' ./keras
	else
		go test -count=1 -vet=off -timeout 30m ./kernels/cpu ./kernels/cpu/rows ./kernels/exec ./kernels/kernelstest/... \
			./keras ./keras/ops/... ./layers/... ./losses/... ./metrics/... ./optimizers/...
	fi
done
