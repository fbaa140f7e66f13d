#!/usr/bin/env bash
# Runs the tests of kernels/cuda with NVIDIA's assembler, which compiles the kernels of the suite for all architectures, and fails when one of them does not run. No
# GPU is needed. GOKERAS_PTXAS names the assembler; without it, the Python package that holds one is downloaded into a cache folder (CUDA_TEST_DIR) and unpacked there. Without SHORT also
# NVIDIA's cuDNN, which GOKERAS_CUDNN may name, accepts our descriptors.
# "test-cuda.sh assembler" only does that and prints the file; other arguments go to go test. SHORT=1 takes a part of the kernels.
set -euo pipefail
cd "$(dirname "$0")/.."
. internal/passes.sh

folder=${CUDA_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-cuda}

assembler() {
	local file
	file=$(./internal/python-library.sh "$folder" internal/requirements-cuda.txt ptxas --platform manylinux2010_x86_64)
	chmod +x "$file"
	echo "$file"
}

if [ "${1:-}" = assembler ]; then
	assembler
	exit
fi
GOKERAS_PTXAS=${GOKERAS_PTXAS:-$(assembler)}
export GOKERAS_PTXAS
passes -vet=off -run TestMeetAssembles ./kernels/cuda
passes -vet=off ${SHORT:+-short} -timeout 40m "$@" ./kernels/cuda/internal/lower
[ $# = 0 ] || exit 0
if [ -z "${SHORT:-}" ]; then # NVIDIA's cuDNN is 370 MB
	GOKERAS_CUDNN=${GOKERAS_CUDNN:-$(./internal/python-library.sh "$folder-cudnn" internal/requirements-cudnn.txt libcudnn.so.9 --platform manylinux_2_27_x86_64)}
	export GOKERAS_CUDNN
	passes -vet=off -run TestRealLibrary ./kernels/cuda/internal/cudnn
fi
# The cases recorded from Keras, with kernels in the interpreter.
export GOKERAS_TEST_DEVICE=ptx:0
passes -vet=off -tags cudafake -run '^TestAgainstKeras$' ./losses ./metrics ./optimizers
passes -vet=off ${SHORT:+-short} -tags cudafake -run PTX ./cmd/keras
[ -z "${SHORT:-}" ] || exit 0
passes -vet=off -tags cudafake -run '^(TestKeras|TestKerasSequence|TestOperationsLikeKeras)$' ./layers
passes -vet=off -tags cudafake -run '^(TestConformance|TestFitVectors)$' ./keras
