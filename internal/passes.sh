# For scripts that run tests which need a program or a library, and have it: there a skipped test says nothing.

# passes ARGUMENTS...: go test -v must find tests in each package, pass and skip nothing; $log is what it said
passes() {
	local status=0
	if [ -z "${log:-}" ]; then
		log=$(mktemp)
		trap 'rm -f "$log"' EXIT
	fi
	go test -count=1 -v "$@" >"$log" 2>&1 || status=$?
	if [ $status != 0 ]; then
		grep -vE '^ *(=== |--- PASS)' "$log" || true
		exit $status
	fi
	if grep -q -- '--- SKIP' "$log"; then
		echo "these tests were skipped, in whole or in part:" >&2
		grep -B 2 -- '--- SKIP' "$log" >&2
		exit 1
	fi
	if grep -q 'no tests to run' "$log"; then
		echo "go test $* found nothing to run in a package:" >&2
		grep 'no tests to run' "$log" >&2
		exit 1
	fi
	grep -E '^(---|ok )' "$log"
}
