#!/usr/bin/env bash
# What stands before a network, beside Keras on TensorFlow: layers that are adapted, text, files and datasets. Prints the
# processor time of both in milliseconds and TensorFlow's by ours. Arguments: a part of the names of cases.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
go build -o "$folder/benchdata" ./internal/benchdata
"$folder/benchdata" make "$folder"
"$folder/benchdata" measure "$folder" "$@" >"$folder/ours"
if [ -z "${GOKERAS_PYTHON:-}" ]; then
  echo "TensorFlow's side: set GOKERAS_PYTHON to a Python with Keras and TensorFlow"
  cat "$folder/ours"
  exit
fi
"$GOKERAS_PYTHON" internal/benchdata/peer.py "$folder" "$@" 2>/dev/null >"$folder/theirs"
join -t "$(printf '\t')" <(sort "$folder/ours") <(sort "$folder/theirs") |
  awk -F '\t' 'BEGIN { print "| case | ours, ms | Keras on TensorFlow, ms | ratio |\n|---|---|---|---|" }
    { printf "| %s | %s | %s | %.2f |\n", $1, $2, $3, $3 / $2 }'
