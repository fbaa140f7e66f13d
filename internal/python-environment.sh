#!/usr/bin/env bash
# python-environment.sh FOLDER REQUIREMENTS: makes a virtual environment in FOLDER with the packages that the file lists, unless it is there
# already, and prints its Python. Where it cannot, it says why on one line of stderr.
set -euo pipefail
folder=$1 requirements=$2
python=$folder/bin/python
log=$folder.log

fail() {
	echo "$1" >&2
	exit 1
}

if ! cmp -s "$requirements" "$folder/installed.txt" || ! "$python" -c '' 2>/dev/null; then
	python3 -c '' 2>/dev/null || fail "there is no python3"
	python3 -c 'import ensurepip, venv' 2>/dev/null || fail "python3 has no venv (Debian's package is python3-venv)"
	mkdir -p "$(dirname "$folder")"
	python3 -m venv --clear "$folder" >"$log" 2>&1 || fail "python3 -m venv fails: $(tail -n 1 "$log")"
	"$python" -m pip install --quiet --no-cache-dir --disable-pip-version-check --retries 2 --timeout 60 -r "$requirements" >"$log" 2>&1 ||
		fail "pip cannot install what $requirements lists: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log")"
	cp "$requirements" "$folder/installed.txt"
	rm -f "$log"
fi
echo "$python"
