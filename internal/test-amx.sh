#!/usr/bin/env bash
# Tests the kernels for Intel's matrix registers (AMX): as they are where the processor has these, else in an emulator that
# takes each of their instructions apart (internal/amxemulator); everything else runs as it is, so AVX-512 with BF16 and
# VNNI has to be there. With SHORT=1, what CI has time for.
set -euo pipefail
cd "$(dirname "$0")/.."
features=$(grep -m1 '^flags' /proc/cpuinfo || true)
for feature in avx512_bf16 avx512_vnni; do
	if [[ " $features " != *" $feature "* ]]; then
		echo "test-amx: this processor has no $feature: the kernels for AMX are not tested here" >&2
		exit 0
	fi
done
# run REQUIRED PACKAGE PATTERN: the tests of a package, which have to have executed these instructions. The emulator counts them; it knows only
# what a processor refuses, so that it is of no use where the processor has the registers.
if [[ " $features " == *" amx_bf16 "* && " $features " == *" amx_int8 "* ]]; then
	. internal/passes.sh
	run() { passes -vet=off -run "$3" ${SHORT:+-short} "$2"; }
else
	emulator=$(mktemp -d)
	trap 'rm -rf "$emulator"' EXIT
	go build -o "$emulator/amxemulator" ./internal/amxemulator
	if [[ "$("$emulator/amxemulator" true 2>&1)" == *"not permitted"* ]]; then
		echo "test-amx: processes may not be traced here: the kernels for AMX are not tested" >&2
		exit 0
	fi
	isa=github.com/gokeras/gokeras/kernels/cpu/internal/isa
	run() {
		go test -vet=off -count=1 ${VERBOSE:+-v} -exec "$emulator/amxemulator -require $1 -v" -ldflags "-X $isa.assumed=amxtile+amxint8+amxbf16" -run "$3" ${SHORT:+-short} "$2"
	}
fi
run TDPBF16PS,TDPBSUD,TDPBSSD,TILERELEASE ./kernels/cpu/internal/amx .
run TDPBF16PS ./kernels/cpu/internal/micro "Pairs"
run TDPBF16PS ./kernels/cpu/internal/gemm "Half"
run TDPBF16PS ./kernels/cpu/internal/conv "Pairs|MatrixRegisters"
run TDPBSUD,TDPBUSD,TDPBSSD ./kernels/cpu/internal/quant .
run TDPBF16PS ./keras TrainingInSixteenBits
run TDPBF16PS,TDPBSUD ./kernels/cpu 'Half|Halves|OfInt8|AttentionInBlocks|AttentionInPairs|Excess|PairsFor|WeightsThat'
