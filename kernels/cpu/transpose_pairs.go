package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Elements of 16 bits are transposed as words: two rows of the source are interleaved, so that each word has two
// neighbours of a row of the destination, and the words are transposed like those of 32 bits.

// A block has pairedRows rows of the destination and pairedColumns of its columns.
const (
	pairedRows    = 64
	pairedColumns = 32
)

// turnsPairs reports whether [transposePairs] is faster than a loop: its memory is cleared first.
func turnsPairs(rows, cols int) bool {
	return rows >= 16 && cols >= 16 && rows*cols >= 2048 && vec.PairsRows()
}

// transposePairs stores dst[r·to + q] = src[q·from + r] for elements of 16 bits, of which words hold the first one in
// their lower half.
func transposePairs(dst, src unsafe.Pointer, rows, cols, to, from int) {
	const pairs = pairedColumns / 2
	var words [pairs * pairedRows]uint32
	var turned [pairedRows * pairs]float32
	x := block.View[uint16](src, (cols-1)*from+rows)
	for r := 0; r < rows; r += pairedRows {
		m := min(pairedRows, rows-r)
		for q := 0; q < cols; q += pairedColumns {
			n := min(pairedColumns, cols-q)
			part := x[q*from+r:]
			d := unsafe.Add(dst, 2*(r*to+q))
			vec.PairRows(words[:], part, m, n/2, pairedRows, from)
			micro.Transpose(turned[:], block.View[float32](unsafe.Pointer(&words), len(words)), n/2, m, pairs, pairedRows)
			moveRows(d, unsafe.Pointer(&turned), m, n/2*4, 2*to, 4*pairs)
			if n%2 == 1 {
				for i, v := range part[(n-1)*from:][:m] {
					*(*uint16)(unsafe.Add(d, 2*(i*to+n-1))) = v
				}
			}
		}
	}
}
