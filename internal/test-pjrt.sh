#!/usr/bin/env bash
# Runs the tests of kernels/pjrt and keras/distribution on XLA's plugin for CPUs, and those that compile for TPUs with libtpu, and fails when one of them does not run.
# GOKERAS_PJRT_CPU and GOKERAS_LIBTPU name the libraries; without them, the Python packages that hold them are downloaded into a cache folder
# (PJRT_TEST_DIR) and unpacked there. The oldest plugin that can be installed (GOKERAS_PJRT_OLDEST) runs a selection too: programs of each op, training, replicas
# and meshes. SHORT=1 takes a program or two of each op and one of each kind of device. "test-pjrt.sh plugin", "test-pjrt.sh oldest" and "test-pjrt.sh libtpu" only
# get a library and print its file.
set -euo pipefail
cd "$(dirname "$0")/.."
. internal/passes.sh

library() {
	./internal/python-library.sh "${PJRT_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}}/$1" "${@:2}"
}
plugin() { library gokeras-pjrt internal/requirements-pjrt.txt 'pjrt_c_api_cpu_plugin.so' --platform manylinux_2_27_x86_64; }
oldest() { library gokeras-pjrt-oldest internal/requirements-pjrt-oldest.txt 'xla_cpu_pjrt.so' --platform manylinux_2_27_x86_64; }
libtpu() { library gokeras-libtpu internal/requirements-libtpu.txt libtpu.so --platform manylinux_2_31_x86_64 --python-version 3.11 --implementation cp --abi cp311; }

case ${1:-} in
plugin | oldest | libtpu) "$1"; exit ;;
esac
GOKERAS_PJRT_CPU=${GOKERAS_PJRT_CPU:-$(plugin)}
GOKERAS_LIBTPU=${GOKERAS_LIBTPU-$(libtpu)} # set but empty: there is none, and what compiles for TPUs is left out
GOKERAS_PJRT_OLDEST=${GOKERAS_PJRT_OLDEST-$(oldest)} # set but empty: the newest alone
export GOKERAS_PJRT_CPU GOKERAS_LIBTPU
left='Hardware|TargetModels|OpenerOfTPU|HostOfPod' # for a TPU: make tpu; for hours: make test-tpu-models; started by others
[ -n "$GOKERAS_LIBTPU" ] || left='Hardware|Target|OpenerOfTPU|HostOfPod|TwoProcesses'
leave=(-skip "^Test($left)")
[ -z "${SHORT:-}" ] || leave=(-short -skip "^Test($left|PodResumes)")
passes -timeout 40m "${leave[@]}" ./kernels/pjrt ./keras/distribution
if [ -n "$GOKERAS_PJRT_OLDEST" ]; then
	tests='^Test(Training|Replicas|TPUStrategy|ModelParallelGPT)$'
	[ -n "${SHORT:-}" ] || tests='^Test(Conformance|Training|Replicas|TPU|ModelParallel|DataParallel|Mesh|Cache|Loop|Devices).*'
	echo "with the oldest plugin:"
	GOKERAS_PJRT_CPU=$GOKERAS_PJRT_OLDEST passes -timeout 40m -short -run "$tests" ./kernels/pjrt
fi
