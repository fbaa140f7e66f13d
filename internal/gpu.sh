#!/usr/bin/env bash
# Builds what a machine with an NVIDIA GPU needs to test and time kernels/cuda: a folder with a program and the command run.sh, which wants nothing there but the
# driver, and xz or Python to unpack. gpu.sh [FOLDER [TESTS]] (build/gpu, those whose names begin with TestHardware). run.sh runs the suite, the training tests, two
# minutes of random shapes and all cases recorded from Keras (internal/testdevice) on cuda:0, compute-sanitizer and PyTorch where they are found, and writes gpu.md,
# gpu.json, torch.md and torch.json, or many*.md, into FOLDER/results. Where this machine has a GPU, it is run at once.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/gpu}
tests=${2:-TestHardware}
mkdir -p "$folder"
# The programs share most of their code, which xz packs once.
programs="cuda.test"
CGO_ENABLED=0 go test -c -ldflags '-s -w' -o "$folder/cuda.test" ./kernels/cuda
if [ "$tests" = TestHardware ]; then
	for package in layers losses metrics optimizers keras; do
		CGO_ENABLED=0 go test -c -tags cuda -ldflags '-s -w' -o "$folder/$package.test" "./$package"
		programs="$programs $package.test"
	done
fi
(cd "$folder" && tar c $programs | xz --x86 --lzma2=preset=2,dict=256MiB >programs.tar.xz && rm $programs)
cp internal/gpu_torch.py internal/gpu_many_torch.py "$folder" # a torch.py would be what they import
cat >"$folder/run.sh" <<'RUN'
#!/bin/sh
# Tests and times kernels/cuda on cuda:0. Each test is a process of its own: one that spoils its context spoils no other.
cd "$(dirname "$0")"
export GOKERAS_GPU="$PWD/results"
export CUDA_CACHE_PATH="$PWD/cache" # of the driver's compiler, empty at the start
rm -rf "$CUDA_CACHE_PATH"
mkdir -p "$GOKERAS_GPU"
if [ ! -e cuda.test ]; then
	if command -v xz >/dev/null; then xz -dc programs.tar.xz | tar x; else python3 -c 'import tarfile; tarfile.open("programs.tar.xz").extractall()'; fi || exit 1
fi
: >"$GOKERAS_GPU/log"
status=0
for name in $(./cuda.test -test.list 'TESTS'); do
	echo "=== $name" >>"$GOKERAS_GPU/log"
	if ./cuda.test -test.run "^$name\$" -test.timeout 5m -test.v >"$GOKERAS_GPU/last" 2>&1; then
		grep -E '^---' "$GOKERAS_GPU/last"
	else
		status=1
		grep -E -A 6 'Error:|^panic:|^ *--- FAIL' "$GOKERAS_GPU/last" | head -60
	fi
	cat "$GOKERAS_GPU/last" >>"$GOKERAS_GPU/log"
done
rm -f "$GOKERAS_GPU/last"
# The cases recorded from Keras, with their tolerances. The programs run beside each other, because much of their time goes to the driver's compiler.
if [ -e layers.test ]; then
	cases() { # PROGRAM TESTS
		if GOKERAS_TEST_DEVICE=cuda:0 ./$1.test -test.run "$2" -test.timeout 4m -test.v >"$GOKERAS_GPU/keras-$1.log" 2>&1; then
			echo "Keras's cases of $1: $(grep -c '^ *--- PASS' "$GOKERAS_GPU/keras-$1.log") passed"
		else
			echo "Keras's cases of $1: $(grep -c '^ *--- FAIL' "$GOKERAS_GPU/keras-$1.log") failed, $(grep -c '^ *--- PASS' "$GOKERAS_GPU/keras-$1.log") passed"
			grep '^ *--- FAIL' "$GOKERAS_GPU/keras-$1.log" | head -20
			: >"$GOKERAS_GPU/keras-failed"
		fi
	}
	rm -f "$GOKERAS_GPU/keras-failed"
	cases layers '^(TestKeras|TestKerasSequence|TestOperationsLikeKeras)$' &
	cases losses '^TestAgainstKeras$' &
	cases metrics '^TestAgainstKeras$' &
	cases optimizers '^TestAgainstKeras$' &
	cases keras '^(TestConformance|TestFitVectors)$' &
	wait
	[ ! -e "$GOKERAS_GPU/keras-failed" ] || status=1
fi
SANITIZER=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -1)
if [ -n "$SANITIZER" ] && ./cuda.test -test.list 'TESTS' | grep -q '^TestHardwareRandom$'; then
	for tool in memcheck racecheck; do
		if GOKERAS_GPU_SECONDS=20 timeout 120 "$SANITIZER" --tool $tool --error-exitcode 9 ./cuda.test -test.run '^TestHardwareRandom$' -test.v >"$GOKERAS_GPU/$tool.log" 2>&1; then
			echo "compute-sanitizer $tool: nothing found"
		else
			echo "compute-sanitizer $tool: see $GOKERAS_GPU/$tool.log"; status=1
		fi
	done
else
	echo "compute-sanitizer: not run"
fi
if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	export PYTHONDONTWRITEBYTECODE=1
	gpus=$(python3 -c 'import torch; print(torch.cuda.device_count())')
	case "TESTS" in
	*Many*)
		if [ "$gpus" -gt 1 ]; then
			timeout 600 python3 -m torch.distributed.run --standalone --nproc-per-node="$gpus" gpu_many_torch.py "$GOKERAS_GPU" || echo "gpu_many_torch.py failed"
		else
			echo "PyTorch's DDP: not run, there is one GPU"
		fi
		;;
	*) timeout 300 python3 gpu_torch.py "$GOKERAS_GPU" || echo "gpu_torch.py failed" ;;
	esac
else
	echo "PyTorch: not run, there is none that finds the GPU"
fi
cat "$GOKERAS_GPU"/*.md 2>/dev/null
exit $status
RUN
sed -i "s/TESTS/$tests/" "$folder/run.sh"
chmod +x "$folder/run.sh"
size=$(du -sm "$folder" | cut -f1)
[ "$size" -le 60 ] || { echo "$folder has $size MB, more than the 60 that can be carried" >&2; exit 1; }
echo "$folder has $size MB: carry it to a machine with an NVIDIA driver and run run.sh there"
if [ -e /dev/nvidia0 ]; then exec "$folder/run.sh"; fi
