package quant

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// ByteLayout is the layout that [PackBytes] writes: like that of four-bit numbers, but with one byte for each number,
// and 64 columns side by side.
const ByteLayout = tile.Uint8x64

// ByteSize returns the number of bytes that k x n eight-bit numbers take in panels.
func ByteSize(k, n, block int) int { return 2 * NibbleSize(k, n, block) }

// PackBytes packs the transposed B into panels of bytes. b has n rows of k unsigned numbers.
func PackBytes(p *pool.Pool, dst, b []byte, k, n, block int) {
	packNibbles(p, &nibblePacker{dst: dst, b: b, k: k, n: n, block: block, columns: true, bytes: true, whole: true})
}

// groupBytes returns how many bytes a group of rows of a panel takes.
func (t *nibblePacker) groupBytes() int {
	if t.whole {
		return group * Width
	}
	return group * halfWidth
}

// packBytes packs rows of a block of a panel, from row first on, of a matrix with one number in each byte.
func (t *nibblePacker) packBytes(at []byte, first, rows, panel int) {
	stride := t.groupBytes()
	for j := range min(Width, t.n-panel*Width) {
		line := t.b[(panel*Width+j)*t.k+first:][:rows]
		column, shift, mask := j*group, 0, byte(255)
		if !t.whole {
			column, shift, mask = j%halfWidth*group, j/halfWidth*4, 15
		}
		for k, v := range line {
			at[k/group*stride+column+k%group] |= v & mask << shift
		}
	}
}

// byteOf returns a number of a packed panel.
func byteOf(w []byte, k, column int) int32 { return int32(w[k/group*group*Width+column*group+k%group]) }

// bytes sets sums to the products of n rows of digits and a block of a panel, as rows of int8.
func (f family) bytes(n int, sums []int32, x []byte, plane int, w []byte, groups int) {
	if !f.starts() {
		clear(sums)
	}
	var zeros [rows]int32
	for row, all := 0, n*digits; row < all; {
		count := f.rows(all - row)
		f.multiply(count, Width, sums[row*Width:], Width, zeros[:count], x[row*plane:], plane, w, groups)
		row += count
	}
}
