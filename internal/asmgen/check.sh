#!/bin/sh
# Fails if the committed assembly is not what the generators write, or a test of theirs fails. It puts the committed files back.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
keep=$(mktemp -d)
trap 'rm -rf "$keep"' EXIT
status=0
go -C "$root/internal/asmgen" test ./... >&2 || status=1
for package in amx micro vec jit quant; do
	dir=$root/kernels/cpu/internal/$package
	mkdir "$keep/$package"
	find "$dir" -name "*_a*64.s" ! -name "enter_*" -exec cp {} "$keep/$package/" \;
	find "$dir" -name "*_gen_a*64.go" -exec cp {} "$keep/$package/" \;
	(cd "$dir" && go generate .)
	for file in "$keep/$package"/*; do
		if ! cmp -s "$file" "$dir/$(basename "$file")"; then
			echo "kernels/cpu/internal/$package/$(basename "$file") is stale: run go generate ./kernels/cpu/internal/$package" >&2
			status=1
		fi
	done
	cp "$keep/$package"/* "$dir/"
done
exit $status
