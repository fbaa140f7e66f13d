package quant

import (
	"encoding/binary"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// If many rows share a block of a panel, it is unpacked once, to bytes in one worker's cache, with the zero points
// subtracted. The digits are then unsigned (plus 128), and the sums start from a number that cancels that. The sums are
// the same integers that the packed panel gives, so results have the same bits.

const (
	unpackMinRows = 6  // fewest rows for which unpacking pays
	maxZeroPoint  = 48 // zero points from -48 up to 47: differences of four-bit numbers and these are bytes whose sums fit into 32 bits
)

// unpackedRoom returns the bytes that a worker needs for a block of a panel, or 0 if it is not unpacked.
func unpackedRoom(m, k, block int) int {
	if m < unpackMinRows {
		return 0
	}
	return tileRoom(groups(blockOf(block, k)))
}

// fitBytes reports whether all numbers fit into bytes after their zero points are subtracted. It checks eight zero
// points at a time.
func fitBytes(zero []int8, excess int32) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	fits := func(z int8) bool {
		v := int32(z) + excess - nibbleZero
		return v >= -maxZeroPoint && v < maxZeroPoint
	}
	least, count := int32(-maxZeroPoint), uint64(2*maxZeroPoint) // the least zero point that fits, and how many fit
	if excess == zeroByte {
		least, count = -zeroByte, maxZeroPoint+nibbleZero
	}
	words := len(zero) / 8
	if words > 0 && (excess == zeroByte || excess == nibbleZero) {
		less, beyond := uint64(uint8(-least))*each, (128-count)*each
		for _, w := range unsafe.Slice((*[8]byte)(unsafe.Pointer(&zero[0])), words) {
			v := binary.LittleEndian.Uint64(w[:])
			v = v&^high + less&^high ^ (v^less)&high // each byte plus least, without carries between bytes
			if (v+beyond|v)&high != 0 {              // a carry means that a byte is out of range
				return false
			}
		}
		zero = zero[8*words:]
	}
	for _, z := range zero {
		if !fits(z) {
			return false
		}
	}
	return true
}

// beginRows sets rows of a panel to the values that their sums start from.
func (a *NibbleArgs) beginRows(panel, first, last int) {
	for i := first; i < last; i++ {
		switch to := a.C[i*a.N+panel*Width:][:min(Width, a.N-panel*Width)]; {
		case !a.Accumulate:
			a.begin(to, panel)
		case a.Bias != nil:
			vec.Add(to, to, a.Bias[panel*Width:][:len(to)])
		}
	}
}

// unpackedRows computes rows of a panel, block by block.
func (a *NibbleArgs) unpackedRows(worker, panel, first, last int) {
	rows, blocks, all := nibbleShape(a.K, a.Block)
	b := a.B[panel*all*group*halfWidth:][:all*group*halfWidth]
	memory, sums := a.tileMemory(worker)
	columns := min(Width, a.N-panel*Width)
	var start [Width]int32
	var edge [2 * Width]float32
	var own ownScales
	a.beginRows(panel, first, last)
	for block := range blocks {
		count := min(rows, a.K-block*rows)
		s, z := a.scales(block, panel, &own)
		unpackBytes(memory, b[block*groups(rows)*group*halfWidth:], z, a.excess(), start[:], count)
		if a.tiles {
			a.tiledRows(panel, block, first, last, memory, sums, start[:], z, s)
			continue
		}
		for i := first; i < last; {
			n, x := min(last-i, 2), a.x[i*digits*a.plane+block*groups(rows)*group:]
			y, ld := a.C[i*a.N+panel*Width:], a.N
			factors := a.factors[i : i+n]
			infinite := factors[0] != factors[0] || factors[n-1] != factors[n-1]
			if columns < Width || infinite {
				y, ld = edge[:], Width
				for r := range n {
					copy(edge[r*Width:], a.C[(i+r)*a.N+panel*Width:][:columns])
				}
			}
			addDigits(n, columns, y, ld, x, a.plane, memory, start[:], s, factors, groups(count))
			if columns < Width || infinite {
				for r, f := range factors {
					if y := a.C[(i+r)*a.N+panel*Width:][:columns]; f == f {
						copy(y, edge[r*Width:])
					} else {
						a.infinite(y, i+r, block, panel, z, s)
					}
				}
			}
			i += n
		}
	}
}
