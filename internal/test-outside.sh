#!/usr/bin/env bash
# Runs the tests that need programs of others: Python with Keras, plugins of PJRT, NVIDIA's assembler, and all of MNIST. Where one of
# them cannot be had, it says so and does without. SHORT=1 takes a selection of each.
set -euo pipefail
cd "$(dirname "$0")/.."
if python=$(./internal/test-python.sh environment 2>&1); then
	GOKERAS_PYTHON=$python ./internal/test-python.sh
else
	echo "the tests that need Python are left out: $python"
fi
if plugin=$(./internal/test-pjrt.sh plugin 2>&1); then
	libtpu=$(./internal/test-pjrt.sh libtpu) || libtpu= # what is missing is said above
	GOKERAS_PJRT_CPU=$plugin GOKERAS_LIBTPU=$libtpu ./internal/test-pjrt.sh
else
	echo "the tests of PJRT plugins are left out: $plugin"
fi
if [ -z "${SHORT:-}" ]; then
	GOKERAS_MNIST=${GOKERAS_MNIST:-download} go test -vet=off -count=1 -v ./data/datasets -run TestFullDatabase # -v, so that a failed download is seen
fi
if ptxas=$(./internal/test-cuda.sh assembler 2>&1); then
	GOKERAS_PTXAS=$ptxas ./internal/test-cuda.sh
else
	echo "the kernels for NVIDIA's GPUs are not assembled: $ptxas"
fi
