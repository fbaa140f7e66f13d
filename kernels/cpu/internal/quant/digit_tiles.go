package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/amx"
)

// With AMX, the digits of many rows are multiplied in matrix registers, by a block of a panel that was unpacked to
// bytes or by a panel of bytes as it is. The sums are the same integers. They are joined in the first-level cache.

const (
	tileMinRows = 10  // fewest rows for which matrix registers pay if the sums of short blocks have to be joined
	longBlock   = 256 // fewest rows of a block that is not short
	tileRows    = 32  // rows whose sums fit the first-level cache
	tileGroups  = 16  // groups of a step of matrix registers
	tileSums    = tileRows * amx.DigitSums
)

// tileRoom returns the bytes that a worker needs for a block of that many groups.
func tileRoom(groups int) int {
	return (groups+tileGroups-1)/tileGroups*tileGroups*group*Width + 4*tileSums + line
}

// wholeSteps reports whether panels of bytes can be multiplied as they are: a longer step would read the next block.
func wholeSteps(k, block int) bool {
	rows, blocks, _ := nibbleShape(k, block)
	whole := func(rows int) bool { return groups(rows) <= tileGroups || groups(rows)%tileGroups == 0 }
	return whole(rows) && whole(k-(blocks-1)*rows)
}

// inTiles reports whether a product of m rows is computed in matrix registers.
func (f family) inTiles(m, k, block int, bytes bool) bool {
	long := bytes || blockOf(block, k) >= longBlock
	return f == familyAMX && (m >= tileMinRows || long && m >= unpackMinRows) && (!bytes || wholeSteps(k, block))
}

// tileMemory returns a worker's memory for a block and for sums.
func (a *NibbleArgs) tileMemory(worker int) (block []byte, sums []int32) {
	memory := a.bytes[worker*a.room:][:a.room]
	memory = memory[-uintptr(unsafe.Pointer(&memory[0]))%line:]
	at := a.room/line*line - line - 4*tileSums
	return memory[:at], unsafe.Slice((*int32)(unsafe.Pointer(&memory[at])), tileSums)
}

// digitSumsOf computes the sums of n rows, from row i on, times a block of a panel in bytes.
func (a *NibbleArgs) digitSumsOf(sums []int32, i, n, block, columns int, w []byte, count int) {
	rows, _, _ := nibbleShape(a.K, a.Block)
	steps := (groups(count) + tileGroups - 1) / tileGroups
	_, _ = sums[n*amx.DigitSums-1], w[min(groups(count), steps*tileGroups)*group*Width-1]
	amx.MultiplyDigits(&amx.Digits{A: unsafe.Pointer(&a.x[i*digits*a.plane+block*groups(rows)*group]), B: unsafe.Pointer(&w[0]), C: unsafe.Pointer(&sums[0]),
		Signed: a.Bytes, Rows: n, Columns: columns, Groups: groups(count), ARow: digits * a.plane, Plane: a.plane})
}

// tiledRows adds the products of rows and a block of a panel that was unpacked to bytes.
func (a *NibbleArgs) tiledRows(panel, block, first, last int, w []byte, sums, start []int32, zero []int8, scale []float32) {
	rows, _, _ := nibbleShape(a.K, a.Block)
	count, columns := min(rows, a.K-block*rows), min(Width, a.N-panel*Width)
	if left := groups(count) % tileGroups; left > 0 && groups(count) > tileGroups {
		clear(w[groups(count)*group*Width:][:(tileGroups-left)*group*Width])
	}
	var edge [Width]float32
	for i := first; i < last; i += tileRows {
		n := min(tileRows, last-i)
		a.digitSumsOf(sums, i, n, block, columns, w, count)
		for r := 0; r < n; {
			y, f := a.C[(i+r)*a.N+panel*Width:], a.factors[i+r]
			own := sums[r*amx.DigitSums:]
			switch {
			case f != f:
				a.infinite(y[:columns], i+r, block, panel, zero, scale)
			case columns < Width:
				copy(edge[:], y[:columns])
				joinDigits(edge[:], Width, own, start, scale, a.factors[i+r:][:1])
				copy(y[:columns], edge[:])
			default:
				finite := 1
				for r+finite < n && a.factors[i+r+finite] == a.factors[i+r+finite] {
					finite++
				}
				joinDigits(y, a.N, own, start, scale, a.factors[i+r:][:finite])
				r += finite - 1
			}
			r++
		}
	}
}

// byteTiles computes rows of a panel of bytes.
func (a *NibbleArgs) byteTiles(worker, panel, first, last int) {
	rows, blocks, all := nibbleShape(a.K, a.Block)
	b := a.B[panel*all*group*Width:][:all*group*Width]
	columns := min(Width, a.N-panel*Width)
	_, sums := a.tileMemory(worker)
	var own ownScales
	var edge [Width]float32
	a.beginRows(panel, first, last)
	for block := range blocks {
		s, z := a.scales(block, panel, &own)
		w := b[block*groups(rows)*group*Width:]
		for i := first; i < last; i += tileRows {
			n := min(tileRows, last-i)
			a.digitSumsOf(sums, i, n, block, columns, w, min(rows, a.K-block*rows))
			for r := range n {
				y, f := a.C[(i+r)*a.N+panel*Width:], a.factors[i+r]
				if f != f {
					a.infinite(y[:columns], i+r, block, panel, z, s)
					continue
				}
				to := y
				if columns < Width {
					to = edge[:]
					copy(to, y[:columns])
				}
				a.family.combine(to, sums[r*amx.DigitSums:], z, s, &a.sums[(i+r)*blocks+block], joining{f, a.excess()})
				if columns < Width {
					copy(y[:columns], to)
				}
			}
		}
	}
}
