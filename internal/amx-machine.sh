#!/usr/bin/env bash
# Builds what a processor with AMX needs to test and time the kernels for 16 bits and for bytes: a folder with programs and the command run.sh, which wants nothing there
# but xz, and Python with PyTorch for the rows beside it. amx-machine.sh [FOLDER] (build/amx). run.sh [SECONDS] writes logs into FOLDER/results, the most telling first;
# where three processors that share no core are free, it measures on each of them, else on one. Where this machine has AMX, it is run at once.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/amx}
mkdir -p "$folder/bin" "$folder/benchpeers"
export CGO_ENABLED=0
go build -ldflags '-s -w' -o "$folder/bin/worker" ./internal/benchpeers/worker
for package in amx micro gemm conv quant; do go test -c -vet=off -ldflags '-s -w' -o "$folder/bin/$package.test" "./kernels/cpu/internal/$package"; done
go test -c -vet=off -ldflags '-s -w' -o "$folder/bin/cpu.test" ./kernels/cpu
go test -c -vet=off -ldflags '-s -w' -o "$folder/bin/keras.test" ./keras
gcc -O3 -funroll-loops -static -pthread -mavx512f -mavx512bw -mavx512bf16 -mamx-tile -mamx-bf16 -mamx-int8 -o "$folder/bin/amx_instructions" internal/benchpeers/amx_instructions.c ||
	echo "there is no gcc that knows AMX: what instructions cost will not be measured" >&2
cp -r internal/benchpeers/halves.py internal/benchpeers/peers "$folder/benchpeers"
(cd "$folder" && tar c bin | xz -T0 --x86 --lzma2=preset=2,dict=64MiB >bin.tar.xz && rm -r bin)
cat >"$folder/run.sh" <<'RUN'
#!/bin/sh
# run.sh [SECONDS]: see amx-machine.sh. Jobs on processors that share a core, or that other work uses, slow each other down by up to two.
cd "$(dirname "$0")" || exit
limit=${1:-400} begin=$(date +%s) here=$PWD
out=$here/results
rm -rf "$out" && mkdir -p "$out"
[ -d bin ] || xz -dc bin.tar.xz | tar x
export OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 CUDA_VISIBLE_DEVICES= JAX_PLATFORMS=cpu
at() { printf '%4d s  %s\n' $(($(date +%s) - begin)) "$*" | tee -a "$out/log"; }
# on CPU NAME COMMAND... writes what a command prints into NAME.txt
on() {
	cpu=$1 name=$2
	shift 2
	left=$((limit - $(date +%s) + begin))
	[ $left -ge 1 ] || left=1
	(cd bin && taskset -c "$cpu" timeout -k 2 $left "$@") >"$out/$name.txt" 2>&1
	at "$name: $?"
}
halves() { on "$1" "$2" python3 -u "$here/benchpeers/halves.py" --worker "$here/bin/worker" --torch python3 --jax "${JAX:-}" --cpu "$1" --json "$out/$2.json" "$3" "$4" "$2"; }
lscpu >"$out/machine.txt" 2>&1
processors=$(getconf _NPROCESSORS_ONLN) sibling=-1
if [ -x bin/amx_instructions ]; then
	on 0 siblings ./amx_instructions 0 siblings
	sibling=$(awk '/^sibling/ { if (!seen || $3 < least) { least = $3; which = $2; seen = 1 } } END { print seen && least < 0.8 ? which : -1 }' "$out/siblings.txt")
fi
at "$(grep 'Model name' "$out/machine.txt"), $processors processors; 0 shares its core with $sibling"
first() { # instructions, products
	[ ! -x bin/amx_instructions ] || on "$1" instructions ./amx_instructions "$1"
	on "$1" convolutions ./conv.test -test.run XXX -test.bench Pairs -test.benchtime 40ms
	halves "$1" products --rounds=3 --secs=0.1
	on "$1" rates ./gemm.test -test.run XXX -test.bench 'HalfRates|HalfPacks|Few' -test.benchtime 20ms
}
tests() {
	for p in amx quant micro gemm conv; do on "$1" test-$p ./$p.test -test.short -test.v; done
	on "$1" test-keras ./keras.test -test.short -test.v -test.run TrainingInSixteenBits
	on "$1" test-cpu ./cpu.test -test.short -test.v -test.run 'Half|Halves|OfInt8|AttentionInBlocks|AttentionInPairs|Excess|PairsFor|WeightsThat|Norm'
}
second() { # training
	halves "$1" training --rounds=3 --secs=1
	for k in W4-adamw W3-mom W6-adamw; do
		for p in mixed_bfloat16 float32; do on "$1" profile-$k-$p ./worker --threads 1 --table --profile --rounds 2 --secs 1 --policy $p $k:batch; done
	done
	halves "$1" small --rounds=2 --secs=0.4
}
third() { # networks drawn at random, quantized layers
	on "$1" attention ./cpu.test -test.run XXX -test.bench AttentionInPairs -test.benchtime 60ms
	on "$1" drawn ./worker --threads 1 --halves --rounds 2 --secs 0.1 --drawn 5 --seed 9500
	halves "$1" quantized --rounds=3 --secs=0.3
}
if [ "$processors" -ge 6 ]; then
	case $sibling in 1 | -1) cpus="0 2 4" ;; 2) cpus="0 1 4" ;; *) cpus="0 1 2" ;; esac
	set -- $cpus
	(
		first "$1"
		[ "$processors" -ge 12 ] || tests "$1"
	) &
	second "$2" &
	third "$3" &
	[ "$processors" -lt 12 ] || tests 8 &
	wait
else
	second 0
	third 0
	first 0
	tests 0
fi
cat "$out/training.txt" "$out/products.txt" "$out/quantized.txt"
grep -L '^PASS' "$out"/test-*.txt | sed 's/^/not passed: /'
at "the end"
RUN
chmod +x "$folder/run.sh"
echo "$folder has $(du -sm "$folder" | cut -f1) MB: carry it to a machine with AMX and run run.sh there"
if grep -q amx_bf16 /proc/cpuinfo; then exec "$folder/run.sh"; fi
