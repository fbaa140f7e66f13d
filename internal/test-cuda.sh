#!/usr/bin/env bash
# Runs the tests of kernels/cuda with NVIDIA's assembler, which compiles the kernels of the suite for all architectures. No GPU is needed. GOKERAS_PTXAS
# names the assembler; without it, the Python package that holds one is downloaded into a cache folder (CUDA_TEST_DIR) and unpacked there.
# "test-cuda.sh assembler" only does that and prints the file; other arguments go to go test. SHORT=1 takes a part of the kernels.
set -euo pipefail
cd "$(dirname "$0")/.."

assembler() {
	local folder=${CUDA_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-cuda} file
	if ! cmp -s internal/requirements-cuda.txt "$folder/installed.txt"; then
		rm -rf "$folder"
		mkdir -p "$folder"
		python3 -m pip download --quiet --no-deps --only-binary=:all: --platform manylinux2010_x86_64 --require-hashes --dest "$folder" \
			-r internal/requirements-cuda.txt >"$folder/log" 2>&1 || { echo "the assembler cannot be downloaded: $(tail -n 1 "$folder/log")" >&2; exit 1; }
		python3 -m zipfile -e "$folder"/*.whl "$folder"
		cp internal/requirements-cuda.txt "$folder/installed.txt"
	fi
	file=$(find "$folder" -name ptxas -type f | head -n 1)
	[ -n "$file" ] || { echo "there is no ptxas in $folder" >&2; exit 1; }
	chmod +x "$file"
	echo "$file"
}

if [ "${1:-}" = assembler ]; then
	assembler
	exit
fi
GOKERAS_PTXAS=${GOKERAS_PTXAS:-$(assembler)}
export GOKERAS_PTXAS
go test -count=1 -vet=off -run TestMeetAssembles ./kernels/cuda
go test -count=1 -vet=off ${SHORT:+-short} -timeout 40m "$@" ./kernels/cuda/internal/lower
[ $# = 0 ] || exit 0
# The cases recorded from Keras, with kernels in the interpreter.
export GOKERAS_TEST_DEVICE=ptx:0
go test -count=1 -vet=off -tags cudafake -run '^TestAgainstKeras$' ./losses ./metrics ./optimizers
go test -count=1 -vet=off ${SHORT:+-short} -tags cudafake -run PTX ./cmd/keras
[ -z "${SHORT:-}" ] || exit 0
go test -count=1 -vet=off -tags cudafake -run '^(TestKeras|TestKerasSequence|TestOperationsLikeKeras)$' ./layers
go test -count=1 -vet=off -tags cudafake -run '^(TestConformance|TestFitVectors)$' ./keras
