#!/usr/bin/env bash
# python-library.sh FOLDER LIST NAME OPTIONS... downloads the Python package that LIST, a file of requirements with hashes, names, unpacks it in
# FOLDER unless it is there already, and prints the file of it that is called NAME. OPTIONS are those of pip download. Tests alone use it.
set -euo pipefail
folder=$1 list=$2 name=$3
shift 3
if ! cmp -s "$list" "$folder/installed.txt"; then
	rm -rf "$folder"
	mkdir -p "$folder"
	python3 -m pip download --quiet --no-deps --only-binary=:all: "$@" --require-hashes --dest "$folder" -r "$list" >"$folder/log" 2>&1 ||
		{ echo "$name cannot be downloaded: $(tail -n 1 "$folder/log")" >&2; exit 1; }
	python3 -m zipfile -e "$folder"/*.whl "$folder"
	rm -f "$folder"/*.whl
	cp "$list" "$folder/installed.txt"
fi
file=$(find "$folder" -name "$name" -type f | head -n 1)
[ -n "$file" ] || { echo "there is no $name in $folder" >&2; exit 1; }
echo "$file"
