#!/usr/bin/env bash
# Builds the programs without cgo and fails when one asks for a program interpreter, that is, is not static.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
programs=./examples/...
if [ -d cmd ]; then programs="$programs ./cmd/..."; fi
# shellcheck disable=SC2086
CGO_ENABLED=0 go build -o "$out/" $programs
for program in "$out"/*; do
	if LC_ALL=C grep -qa '/lib64/ld-linux' "$program"; then
		echo "$(basename "$program") is dynamic: it names a program interpreter" >&2
		exit 1
	fi
done

# What a program with one Dense and the command weigh, stripped. A dependency that makes them much larger is to be seen; these bounds go down when they can,
# and up only on purpose. What made them smaller: functions of the set-up that return closures, or that hundreds of places call, are marked go:noinline (a copy
# in each caller weighed 200 kB); registries hold types (internal/config) and no function for each, which generic functions would write out for each type
# (410 kB); reductions of integers know the size of an element and not its type (380 kB), and so do elementwise kernels of integers where the sign does not
# matter (200 kB). What go inlines most can be seen in the tables of inlined calls, with the bytes of each: shapes and axes are joined by internal/ints for that.
cat >"$out/dense.go" <<'END'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

func main() {
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, keras.InputShape(2))
	if err == nil {
		err = model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "mse"})
	}
	if err == nil {
		_, err = model.Fit(context.Background(), data.Arrays([][]float32{{1, 2}}, []float32{3}))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
END
weigh() { # name, bound in kilobytes, what go build takes
	local size name=$1 bound=$2
	shift 2
	# The paths of the sources and the state of the checkout are part of a binary: a checkout in a longer folder would weigh more.
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags='-s -w' -o "$out/weighed" "$@"
	size=$(wc -c <"$out/weighed")
	echo "$name weighs $((size / 1000)) kB stripped, bound $bound kB"
	if [ "$size" -gt $((bound * 1000)) ]; then
		echo "$name weighs $((size / 1000)) kB stripped; its bound is $bound kB (go tool nm -size and go build -ldflags=-dumpdep tell what is in it and why)" >&2
		return 1
	fi
}
weigh "a program with one Dense" 17455 "$out/dense.go"
weigh "the command keras, built as the README says," 29740 -tags grpcnotrace,nethttpomithttp2 ./cmd/keras
weigh "the command keras without build tags" 35250 ./cmd/keras
