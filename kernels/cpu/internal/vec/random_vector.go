//go:build amd64 || arm64

package vec

import "unsafe"

func drop32(dst, x []float32, words []uint32, scale float32, threshold uint32) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	n := whole(wide, len(dst))
	for i := 0; i < n; i += callElements {
		callDrop(wide, unsafe.Pointer(&dst[i]), unsafe.Pointer(&x[i]), unsafe.Pointer(&words[i]), uintptr(min(callElements, n-i)),
			unsafe.Pointer(&scale), unsafe.Pointer(&threshold))
	}
	return n
}

// The order of blocks in a vector, which puts even numbers first; see internal/asmgen/vec.
var (
	fourBlocks  = [4]uint32{0, 2, 1, 3}
	eightBlocks = [8]uint32{0, 4, 1, 5, 2, 6, 3, 7}
)

func randomWords32(dst []uint32, counter [4]uint32, key [2]uint32) int {
	wide, ok := vectors()
	if !ok {
		return 0
	}
	order := fourBlocks[:]
	if wide {
		order = eightBlocks[:]
	}
	args := [6 + len(eightBlocks)]uint64{uint64(counter[1]), uint64(counter[2]), uint64(counter[3]), uint64(key[0]), uint64(key[1]), uint64(len(order))}
	words := len(dst) / (4 * len(order)) * (4 * len(order))
	for i := 0; i < words; i += callElements {
		for lane, block := range order {
			args[6+lane] = uint64(counter[0] + uint32(i/4) + block)
		}
		callRandomWords(wide, unsafe.Pointer(&dst[i]), unsafe.Pointer(&args[0]), uintptr(min(callElements, words-i)/4))
	}
	return words
}
