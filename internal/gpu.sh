#!/usr/bin/env bash
# Builds what a machine with an NVIDIA GPU needs to test and time kernels/cuda: a folder with a program and the command run.sh, which wants nothing there but the
# driver, and xz or Python to unpack. gpu.sh [FOLDER [TESTS]] (build/gpu, those whose names begin with TestHardware). run.sh runs the suite, the training tests, two
# minutes of random shapes and all cases recorded from Keras (internal/testdevice) on cuda:0, compute-sanitizer and PyTorch where they are found, and writes gpu.md,
# gpu.json, torch.json, or many*.md, profiles and logs into FOLDER/results. Where this machine has a GPU, it is run at once. TAGS=cudafake and the variables that run.sh reads
# (GOKERAS_GPU_DEVICE=fakecuda:0, GOKERAS_GPU_SPEED=countcuda:0, GOKERAS_GPU_KERAS=ptx:0) try all of it with interpreted kernels.
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
		CGO_ENABLED=0 go test -c -tags "cuda${TAGS:+,$TAGS}" -ldflags '-s -w' -o "$folder/$package.test" "./$package"
		programs="$programs $package.test"
	done
fi
(cd "$folder" && tar c $programs | xz --x86 --lzma2=preset=2,dict=256MiB >programs.tar.xz && rm $programs)
cp internal/gpu_torch.py internal/gpu_many_torch.py "$folder" # a torch.py would be what they import
cat >"$folder/run.sh" <<'RUN'
#!/bin/sh
# Tests and times kernels/cuda on cuda:0, in the order of what matters most, and stops in time: GOKERAS_GPU_LIMIT seconds, 570 by default. Whatever is known by then
# is in results. Each test is a process of its own: one that spoils its context, or hangs, spoils no other. run.sh SECONDS is the same. The exit status is 1 where
# anything failed.
cd "$(dirname "$0")"
limit=${1:-${GOKERAS_GPU_LIMIT:-570}}
[ 'TESTS' = TestHardware ] || limit=${1:-${GOKERAS_GPU_LIMIT:-3600}} # a selection has the time that it needs
begin=$(date +%s)
left() { # what is left of the time, at most $1 seconds
	n=$((limit - $(date +%s) + begin))
	[ $n -le "$1" ] || n=$1
	[ $n -ge 1 ] || n=1
	echo $n
}
at() { printf '%4d s  %s\n' $(($(date +%s) - begin)) "$*" | tee -a "$GOKERAS_GPU/log"; }
export GOKERAS_GPU="$PWD/results" PYTHONDONTWRITEBYTECODE=1
export CUDA_CACHE_PATH="$PWD/cache" # of the driver's compiler
export GOKERAS_CUDA_CACHE="$PWD/kernels" # compiled kernels
rm -rf "$CUDA_CACHE_PATH" "$GOKERAS_CUDA_CACHE" "$GOKERAS_GPU"
mkdir -p "$GOKERAS_GPU" "$CUDA_CACHE_PATH" "$GOKERAS_CUDA_CACHE"
if [ ! -e cuda.test ]; then
	if command -v xz >/dev/null; then xz -dc programs.tar.xz | tar x; else python3 -c 'import tarfile; tarfile.open("programs.tar.xz").extractall()'; fi || exit 1
fi
# one NAME PATTERN SECONDS runs tests and says how it went.
one() {
	out="$GOKERAS_GPU/$1.log"
	timeout -k 5 "$(left "$3")" ./cuda.test -test.run "$2" -test.timeout 10m -test.v >"$out" 2>&1
	rc=$?
	case "$2" in # a test inside of another that is not there would be passed in silence
	*/*) [ $rc != 0 ] || grep -q '^ *--- PASS.*/' "$out" || rc=66 ;;
	esac
	if [ $rc = 0 ] && grep -q 'no tests to run' "$out"; then rc=66; fi
	case $rc in
	0)
		if grep -q '^ *--- PASS' "$out"; then
			at "$1: passed, $(grep -c '^ *--- PASS' "$out") tests"
		else
			at "$1: SKIPPED: $(grep -B 1 '^ *--- SKIP' "$out" | head -1 | sed 's/^ *//')"
		fi
		;;
	124 | 137)
		at "$1: NOT FINISHED in its time; $(grep -c '^=== RUN' "$out") tests were begun, and $(grep -c 'Error Trace' "$out") things found wrong"
		grep -E -A 3 'Error:' "$out" | head -20
		echo 1 >"$GOKERAS_GPU/failed"
		;;
	*)
		at "$1: FAILED ($rc): $(grep -c '^ *--- FAIL' "$out") failed, $(grep -c '^ *--- PASS' "$out") passed"
		grep -E -A 6 'Error:|^panic:|^ *--- FAIL|^SIG|fatal error' "$out" | head -40
		echo 1 >"$GOKERAS_GPU/failed"
		;;
	esac
	return $rc
}
(nvidia-smi || echo "there is no nvidia-smi") >"$GOKERAS_GPU/nvidia-smi.txt" 2>&1
at "$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,power.limit --format=csv,noheader 2>/dev/null | head -1)"
if [ 'TESTS' != TestHardware ]; then # a selection
	for name in $(./cuda.test -test.list 'TESTS'); do one "$name" "^$name\$" 300; done
	gpus=$(timeout 60 python3 -c 'import torch; print(torch.cuda.device_count())' 2>/dev/null || echo 0)
	if [ "$gpus" -gt 1 ]; then
		timeout -k 5 "$(left 300)" python3 -m torch.distributed.run --standalone --nproc-per-node="$gpus" gpu_many_torch.py "$GOKERAS_GPU" || at "gpu_many_torch.py failed"
	else
		at "PyTorch's DDP: not run, PyTorch finds $gpus GPUs"
	fi
	cat "$GOKERAS_GPU"/*.md 2>/dev/null
	[ ! -e "$GOKERAS_GPU/failed" ]
	exit
fi
# 1. Does anything work? If not, nothing else can.
one facts '^TestHardwareFacts$' 60
grep -E '^ +hardware_test.go' "$GOKERAS_GPU/facts.log"
one instructions '^TestHardwareInstructions$' 60
# 2. The first start, while nothing is compiled, and the second.
row() { (export GOKERAS_GPU_DEVICE="${GOKERAS_GPU_SPEED:-${GOKERAS_GPU_DEVICE:-}}"; one "speed-$1" "^TestHardwareSpeed\$/^$1\$" "$2"); }
rm -rf "$CUDA_CACHE_PATH" "$GOKERAS_CUDA_CACHE"
row start-nothing-cached 60
row start-kernels-cached 60
# 3. Is it right? Parts of the suite, training, random shapes, and the cases recorded from Keras with their tolerances run beside each other, because much of their
# time goes to the driver's compiler.
parts=${GOKERAS_GPU_PARTS:-8}
i=0
while [ $i -lt "$parts" ]; do
	(export GOKERAS_TEST_SHARD=$i/$parts; one suite-$i '^TestHardwareConformance$' 200) &
	i=$((i + 1))
done
one plain-products '^TestHardwarePlainProducts$' 200 &
one training '^TestHardwareTraining$' 200 &
(export GOKERAS_GPU_SECONDS="${GOKERAS_GPU_SECONDS:-120}"; one random '^TestHardwareRandom$' 200) &
cases() { # PROGRAM TESTS [PART]: a part of many tests is a process of its own
	name=$1${3:+-$3} out="$GOKERAS_GPU/keras-$1${3:+-$3}.log"
	GOKERAS_TEST_DEVICE=${GOKERAS_GPU_KERAS:-cuda:0} timeout -k 5 "$(left 200)" ./$1.test -test.run "$2" -test.timeout 10m -test.v >"$out" 2>&1
	rc=$?
	if [ $rc = 0 ]; then
		at "Keras's cases of $name: $(grep -c '^ *--- PASS' "$out") passed"
	else
		at "Keras's cases of $name: $(grep -c '^ *--- FAIL' "$out") FAILED ($rc), $(grep -c '^ *--- PASS' "$out") passed, $(grep -c '^=== RUN' "$out") begun"
		grep '^ *--- FAIL' "$out" | head -20
		echo 1 >"$GOKERAS_GPU/failed"
	fi
}
if [ -e layers.test ]; then
	cases layers '^TestKeras$' &
	cases layers '^TestKerasSequence$' sequence &
	cases layers '^TestOperationsLikeKeras$/^[a-l]' operations &
	cases layers '^TestOperationsLikeKeras$/^[^a-l]' more-operations &
	cases losses '^TestAgainstKeras$' &
	cases metrics '^TestAgainstKeras$' &
	cases optimizers '^TestAgainstKeras$' &
	cases keras '^(TestConformance|TestFitVectors)$' &
fi
wait
# 4. How fast is it? Each row alone, the most telling first; with a profile of what a step does.
for name in mlp-784-512-512 mnist-cnn-adam-batch square-bfloat16-product predict-one-example-mlp predict-one-example-mnist gpt-2-124m-mixed resnet-50-mixed-bfloat16 \
	lstm-128-over-100 own-bfloat16-convolution ; do
	row $name 60
done
grep -q 'cuBLASLt.*: found, used' "$GOKERAS_GPU/facts.log" && row square-bfloat16-product-by 60
grep -q 'cuDNN.*: found, used' "$GOKERAS_GPU/facts.log" && row bfloat16-convolution-by-cudnn 60
one small-steps '^TestHardwareSmallSteps$' 60 # small-steps.txt: where the time of small steps goes
one table '^TestHardwareTable$' 20
# 5. PyTorch, if there is one, on the same card.
if timeout "$(left 60)" python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
	timeout -k 5 "$(left 150)" python3 gpu_torch.py "$GOKERAS_GPU" >"$GOKERAS_GPU/torch.log" 2>&1 || at "gpu_torch.py did not come to its end; see torch.log"
	one table '^TestHardwareTable$' 20
else
	at "PyTorch: not run, there is none that finds the GPU"
fi
# 6. The other tests, and what NVIDIA's tools find in kernels of random shapes.
one two-processes '^TestHardwareTwoProcesses$' 60
one overlap '^TestHardwareOverlap$' 60
one replicas '^TestHardwareReplicasOnOneDevice$' 60
one nccl '^TestHardwareNCCLOneRank$' 30
SANITIZER=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -1)
if [ -n "$SANITIZER" ]; then
	for tool in memcheck racecheck; do
		if GOKERAS_GPU_SECONDS=15 timeout -k 5 "$(left 90)" "$SANITIZER" --tool $tool --error-exitcode 9 ./cuda.test -test.run '^TestHardwareRandom$' -test.v >"$GOKERAS_GPU/$tool.log" 2>&1; then
			at "compute-sanitizer $tool: nothing found"
		else
			at "compute-sanitizer $tool: see $tool.log: $(tail -1 "$GOKERAS_GPU/$tool.log")"
			echo 1 >"$GOKERAS_GPU/failed"
		fi
	done
else
	at "compute-sanitizer: not run, there is none"
fi
[ ! -e "$GOKERAS_GPU/gpu.md" ] || cat "$GOKERAS_GPU/gpu.md"
at "the end"
[ ! -e "$GOKERAS_GPU/failed" ]
RUN
sed -i "s/TESTS/$tests/" "$folder/run.sh"
chmod +x "$folder/run.sh"
size=$(du -sm "$folder" | cut -f1)
[ "$size" -le 60 ] || { echo "$folder has $size MB, more than the 60 that can be carried" >&2; exit 1; }
echo "$folder has $size MB: carry it to a machine with an NVIDIA driver and run run.sh there"
if [ -e /dev/nvidia0 ]; then exec "$folder/run.sh"; fi
