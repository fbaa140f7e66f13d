#!/usr/bin/env bash
# Runs the tests that compare with programs in Python, and fails when one of them does not run: a test that is skipped here says nothing.
# GOKERAS_PYTHON names the Python; without it, an environment is made in a cache folder (PYTHON_TEST_DIR). TESTS, a regular expression, picks
# some of the tests, and SHORT=1 those of the list below. "test-python.sh environment" only makes the environment and prints its Python, "test-python.sh list" prints the tests.
set -euo pipefail
cd "$(dirname "$0")/.."
. internal/passes.sh

environment() {
	./internal/python-environment.sh "${PYTHON_TEST_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/gokeras-python}/venv" internal/requirements-test.txt
}

# Prints "folder test" for each test that mentions GOKERAS_PYTHON, itself or in a function of its package that it uses. What is between two
# lines that begin with func belongs to the first: a test too many costs time, one that is missed would never run.
list() {
	local folder
	for folder in $(git ls-files '*_test.go' | xargs grep -l GOKERAS_PYTHON | xargs -n1 dirname | sort -u); do
		awk -v folder="$folder" '
			/^\/\// { next }
			/^func / { name = $2; sub(/[^A-Za-z0-9_].*/, "", name); if (name == "") { name = $0; sub(/^func \([^)]*\) /, "", name); sub(/[^A-Za-z0-9_].*/, "", name) } }
			name != "" { sub(/^func (\([^)]*\) )?[A-Za-z0-9_]*/, ""); body[name] = body[name] "\n" $0 }
			END {
				words = "GOKERAS_PYTHON"
				for (found = 1; found;) {
					found = 0
					for (name in body) if (!(name in needs) && body[name] ~ "(^|[^A-Za-z0-9_])(" words ")([^A-Za-z0-9_]|$)") {
						needs[name]; found = 1; if (name !~ /^Test/) words = words "|" name
					}
				}
				for (name in needs) if (name ~ /^Test/) print folder, name
			}' "$folder"/*_test.go
	done | sort
}

case ${1:-} in
environment) environment; exit ;;
list) list; exit ;;
esac

elsewhere=$(git ls-files '*.go' | grep -v '_test\.go$' | xargs grep -l GOKERAS_PYTHON || true)
if [ -n "$elsewhere" ]; then
	echo "only files of tests may mention GOKERAS_PYTHON, because the list of tests to run is made of them: $elsewhere" >&2
	exit 1
fi
GOKERAS_PYTHON=${GOKERAS_PYTHON:-$(environment)} # a statement of its own, so that a failure ends the script
export GOKERAS_PYTHON PYTHONDONTWRITEBYTECODE=1
unset KERAS_BACKEND # each script knows which one it needs
# One of each kind of comparison: whole networks, what Keras opens, trains on and computes, what TensorBoard and h5py read, what ONNX Runtime runs.
short='TestTensorBoardReadsTheFiles|TestH5pyReadsOurs|TestReadsAsThisH5py|TestAwkwardWordsSurviveFiles|TestKerasOpensWeights|TestRuntimeRunsFileCases|TestKerasOpensSpaces|TestRuntimePredictsTheSame|TestKerasOpensNewLayers|TestCallParametersOfKeras|TestRecipes'
if [ -n "${SHORT:-}" ] && [ -z "${TESTS:-}" ]; then
	all=$(list)
	for name in ${short//|/ }; do
		[[ "$all"$'\n' == *" $name"$'\n'* ]] || { echo "there is no test $name that needs Python; take it from the list of short ones" >&2; exit 1; }
	done
	TESTS=" ($short)\$"
fi
tests=$(list | grep -E -e "${TESTS:-.}") || { echo "no test that needs Python matches ${TESTS:-.}" >&2; exit 1; }
folders=$(echo "$tests" | sed 's/^/.\//; s/ .*//' | sort -u)
pattern=$(echo "$tests" | sed 's/.* //' | sort -u | paste -sd '|')
# shellcheck disable=SC2086
passes -vet=off -timeout 15m -run "^($pattern)\$" $folders
module=$(go list -m)
ran=$(awk -v module="$module/" '
	/^--- PASS: / { passed[$3] }
	/^ok / { for (name in passed) print substr($2, length(module) + 1), name; split("", passed) }' "$log" | sort)
missing=$(comm -23 <(echo "$tests") <(echo "$ran"))
if [ -n "$missing" ]; then
	echo "these tests did not run:" >&2
	echo "$missing" >&2
	exit 1
fi
echo "$(echo "$tests" | wc -l) tests with Python passed, none skipped"
