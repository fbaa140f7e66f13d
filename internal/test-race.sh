#!/usr/bin/env bash
# Runs tests under the race detector: those of packages that start goroutines, share memory or use unsafe code; with "all" those of every package below
# the same folders. SHORT=1 takes the tests that the table below names: where goroutines meet, one test of each way in which they do, and what moves elements
# by unsafe pointers, which the race detector's build checks.
set -euo pipefail
cd "$(dirname "$0")/.."
export CGO_ENABLED=1
export CGO_CFLAGS="${CGO_CFLAGS:--g -O2} -Wno-deprecated-declarations" # go-nvml declares deprecated functions, of which gcc would warn
folders="data distribute keras callbacks kernels/cpu kernels/exec kernels/cuda/internal/nvml" # the last one calls its library in another way with cgo
case "${1:-}$([ -z "${SHORT:-}" ] || echo short)" in
all*)
	# shellcheck disable=SC2046
	exec go test -race -short -vet=off -timeout 60m $(printf './%s/... ' $folders)
	;;
"")
	# shellcheck disable=SC2046,SC2086
	exec go test -race -short -vet=off -timeout 30m $(./internal/race-packages.sh $folders)
	;;
esac
selected() {
	cat <<'END'
data Loader|ParallelMap|Prefetch|GatherRuns|PanicsReach
distribute WorkersOverlap|Communicators|CrossDeviceAbort|ErrorOnOneReplica
distribute/collective SharedAllReduce|SameBitsOnEveryTransport|Landing|Cancel|Fail|Leave|Lending
distribute/parameterserver ThreadsSchedule|ServerComesBack|RoundOnTwoServers|Lanes
distribute/multiworker WorkersEqualOneReplica|Restart
callbacks NoGoroutineIsLeft|TraceShowsOverlap
kernels/exec .
kernels/cpu ConcurrentExecutables|ManyRounds|Abort|Overlapped|SameBitsForAnyWorkers|MoveRows|FillElement|GatherE|CopyAgainstLoops|ConcatenationsKeepBits
kernels/cpu/internal/block InPlace
kernels/cpu/internal/pool .
kernels/cuda/internal/nvml Survey
keras PredictConcurrently|PredictDuringFit|ConcurrentPredictions|ProgramsAreCompiledOnce|FailedCollective|Fed|RandomKeptMeanwhile|SavedMeanwhile
END
}
one() { # folder, tests: fails where there is none of them, too
	local output
	output=$(go test ./"$1" -race -short -vet=off -count=1 -timeout 15m -run "^Test($2)" 2>&1) && [[ $output != *"no tests to run"* ]] && echo "$output" && return
	echo "$output"
	echo "./$1: $2: these tests fail, or there are none" >&2
	return 255
}
export -f one
selected | xargs -P 3 -L 1 bash -c 'one "$0" "$1"'
