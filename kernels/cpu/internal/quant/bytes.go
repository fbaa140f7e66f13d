package quant

import (
	"encoding/binary"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Where many rows share a block of a panel, it is unpacked to bytes once, zero points subtracted, for one worker's
// cache. The digits are without a sign then, 128 more, and the sums begin with what that adds to them. They are the
// integers that the panel as it is gives, so that the results have the same bits.

const (
	unpackMinRows = 6  // that unpacking pays for
	mostZero      = 48 // zero points whose differences with numbers of four bits are bytes that 32 bits have room for the sums of: from minus this on, and below it
)

// unpackedRoom is the number of bytes that a worker needs for a block of a panel; 0: it is not unpacked.
func unpackedRoom(m, k, block int) int {
	if m < unpackMinRows {
		return 0
	}
	return tileRoom(groups(blockOf(block, k)))
}

// fitBytes reports whether bytes hold what the numbers are after zero points are subtracted. It looks at eight zero
// points at a time.
func fitBytes(zero []int8, excess int32) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	fits := func(z int8) bool {
		v := int32(z) + excess - nibbleZero
		return v >= -mostZero && v < mostZero
	}
	least, count := int32(-mostZero), uint64(2*mostZero) // of zero points that fit, and how many there are
	if excess == zeroByte {
		least, count = -zeroByte, mostZero+nibbleZero
	}
	words := len(zero) / 8
	if words > 0 && (excess == zeroByte || excess == nibbleZero) {
		less, beyond := uint64(uint8(-least))*each, (128-count)*each
		for _, w := range unsafe.Slice((*[8]byte)(unsafe.Pointer(&zero[0])), words) {
			v := binary.LittleEndian.Uint64(w[:])
			v = v&^high + less&^high ^ (v^less)&high // each plus less, without carries
			if (v+beyond|v)&high != 0 {              // a carry comes from a byte that is beyond itself
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

// beginRows sets rows of a panel to what sums begin with.
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
