package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Positions of extremes in many short lines. As many lines as fit into the first-level cache are transposed, so that
// vectors hold elements of different lines, and no branch depends on the numbers.

const (
	turnedPlaces  = 64  // span in elements, including gaps, of the longest lines that are transposed
	turnedPlaces8 = 32  // the same for 64-bit elements
	longestTurned = 24  // length of a line up to which vectors pay
	longestInt64  = 8   // the same for contiguous int64
	leastSide     = 256 // number of lines from which on vectors pay
	leastSlow     = 128 // the same for types that are slow to search one by one
	linesPerPlace = 32  // for other types: the least number of lines for each element of a line
	mostRows      = 64  // rows of columns that are searched in place
	columnsPerRow = 8   // least number of columns for each row
	placesMemory  = turnedBlock * (8 + 2*3)
)

// turnsPlaces reports whether a group's extremes are found this way. Rows of two elements have their own code, and
// vectors search longer rows of float32 in place.
func (p *planes) turnsPlaces(g geometry.AxisGroup) bool {
	line, most, longest, least := g.Length*g.Inner, turnedPlaces, longestTurned, max(leastSide, linesPerPlace*g.Length)
	if p.size == 8 {
		most = turnedPlaces8
	}
	switch {
	case p.dtype == ir.Float32 && g.Inner == 1:
		longest, least = leastFloats-1, leastSlow
	case p.dtype.IsFloat(), p.size == 8 && g.Inner > 1:
		least = leastSlow
	case p.size == 8:
		longest = longestInt64
	}
	return g.Length > 1 && g.Length <= longest && line > 2 && line <= most && g.Outer*g.Inner >= least && byTurnedPlaces.Taken()
}

// planes finds the positions of extremes in columns of contiguous rows. Positions are counted in elements of countSize
// bytes. It is generic in the size of the elements, so that programs contain it only once.
type planes struct {
	extreme, differ, widen block.Func
	one                    func(x unsafe.Pointer, length, inner int) int // finds the position in one line
	dtype                  ir.DType
	size, countSize        int
}

// newPlanes returns nil if there are no such kernels for the type.
func newPlanes(d ir.DType, largest bool, one func(x unsafe.Pointer, length, inner int) int) *planes {
	op := ir.Minimum
	if largest {
		op = ir.Maximum
	}
	if d == ir.Bool {
		d = ir.Uint8
	}
	if d == ir.Uint32 || d == ir.Uint64 {
		return nil
	}
	p := &planes{block.Binary(op, d), block.Compare(ir.Ne, d), block.Convert(ir.Uint8, ir.Int32), one, d, d.Size(), 1}
	switch p.size {
	case 1:
		p.differ = differSmalls[uint8]
	case 2:
		p.differ, p.widen, p.countSize = differSmalls[uint16], block.Convert(ir.Uint16, ir.Int32), 2
	}
	return p
}

// anyNaN reports whether one of n elements is NaN.
func (p *planes) anyNaN(x unsafe.Pointer, n int) bool {
	switch p.dtype {
	case ir.Float32:
		return slices.ContainsFunc(block.View[float32](x, n), func(v float32) bool { return v != v })
	case ir.Float64:
		return slices.ContainsFunc(block.View[float64](x, n), func(v float64) bool { return v != v })
	}
	return false
}

// differSmalls stores 1 where elements of one or two bytes differ, and 0 elsewhere.
func differSmalls[T uint8 | uint16](dst, a, b, _ unsafe.Pointer, n int) {
	size := int(unsafe.Sizeof(T(0)))
	vec.Bits(vec.Xor, block.View[uint8](dst, n*size), block.View[uint8](a, n*size), block.View[uint8](b, n*size))
	ones := block.View[T](unsafe.Pointer(&onesOfSmalls[size-1]), len(onesOfSmalls[0])/size)
	for z := block.View[T](dst, n); len(z) > 0; {
		m := min(len(z), len(ones))
		vec.Smalls(vec.SmallMin, z[:m], z[:m], ones[:m])
		z = z[m:]
	}
}

// onesOfSmalls holds ones of one byte and of two bytes.
var onesOfSmalls = func() (ones [2][turnedBlock / 4]uint8) {
	for i := range ones[0] {
		ones[0][i] = 1
	}
	for i := range len(ones[1]) / 2 {
		*(*uint16)(unsafe.Pointer(&ones[1][2*i])) = 1
	}
	return ones
}()

// find stores, for each element of n rows that are stride bytes apart, the number of the first row that has the
// extreme. If the extreme is NaN, the number is arbitrary. best has room for one row and receives the extremes; masks
// has room for two.
func (p *planes) find(at, masks []uint8, best, x unsafe.Pointer, rows, stride int) {
	n := len(at) / p.countSize
	left, other := masks[:len(at)], masks[len(at):2*len(at)]
	p.extreme(best, x, unsafe.Add(x, stride), nil, n)
	for i := 2; i < rows; i++ {
		p.extreme(best, best, unsafe.Add(x, i*stride), nil, n)
	}
	p.differ(unsafe.Pointer(unsafe.SliceData(left)), x, best, nil, n)
	copy(at, left) // number of rows before the first one that has the extreme
	for i := 1; i < rows-1; i++ {
		p.differ(unsafe.Pointer(unsafe.SliceData(other)), unsafe.Add(x, i*stride), best, nil, n)
		vec.Bits(vec.And, left, left, other)
		if p.countSize == 2 {
			count := block.View[uint16](unsafe.Pointer(unsafe.SliceData(at)), n)
			vec.Smalls(vec.SmallAdd, count, count, block.View[uint16](unsafe.Pointer(unsafe.SliceData(left)), n))
		} else {
			vec.Smalls(vec.SmallAdd, at, at, left)
		}
	}
}

// fixNaN stores the correct positions where the extreme is NaN. best holds the extremes of n lines column by column.
func (p *planes) fixNaN(at []int32, best, x unsafe.Pointer, n, length, inner int) {
	if !p.anyNaN(best, len(at)) {
		return
	}
	for k := range at {
		if p.anyNaN(unsafe.Add(best, (k%inner*n+k/inner)*p.size), 1) {
			at[k] = int32(p.one(unsafe.Add(x, (k/inner*length*inner+k%inner)*p.size), length, inner))
		}
	}
}

// turned stores the positions of the extremes of consecutive lines.
func (p *planes) turned(w *worker, at []int32, x unsafe.Pointer, length, inner int) {
	line := length * inner
	columns := unsafe.Pointer(unsafe.SliceData(scratchOf[uint8](w, placesMemory)))
	bytes := scratchOf[uint8](w, placesMemory)[turnedBlock*8:]
	most := min(turnedBlock*8/p.size/(line+inner+transposeLinesSlack), 2*turnedBlock/(p.countSize*inner)) &^ 15
	for len(at) > 0 {
		n := min(most, len(at)/inner)
		width := n * inner
		transposeLines(columns, x, p.size, line, n)
		found := bytes[:width*p.countSize]
		masks := bytes[len(found):]
		best := unsafe.Add(columns, (line+transposeLinesSlack)*n*p.size)
		p.find(found, masks, best, columns, length, width*p.size)
		if inner > 1 {
			interleaveColumns(masks, found, p.countSize, n, inner)
			found = masks
		}
		p.widen(unsafe.Pointer(unsafe.SliceData(at)), unsafe.Pointer(unsafe.SliceData(found)), nil, nil, width)
		p.fixNaN(at[:width], best, x, n, length, inner)
		if at = at[width:]; len(at) > 0 {
			x = unsafe.Add(x, n*line*p.size)
		}
	}
}

// columns stores the positions of the extremes in the columns of rows that are stride elements apart, if that pays.
// Chains do it for float32.
func (p *planes) columns(w *worker, at []int32, x unsafe.Pointer, rows, stride int) bool {
	n := len(at)
	if p.dtype == ir.Float32 || n < leastSide || rows < 2 || rows > min(mostRows, n/columnsPerRow) {
		return false
	}
	memory := scratchOf[uint8](w, placesMemory)
	best, bytes := unsafe.Pointer(unsafe.SliceData(memory)), memory[turnedBlock*8:]
	found := bytes[:n*p.countSize]
	p.find(found, bytes[len(found):], best, x, rows, stride*p.size)
	p.widen(unsafe.Pointer(unsafe.SliceData(at)), unsafe.Pointer(unsafe.SliceData(found)), nil, nil, n)
	p.fixNaN(at, best, x, 1, rows, stride)
	return true
}

// transposeLinesSlack is how many columns beyond a line [transposeLines] may write.
const transposeLinesSlack = 7

// transposeLines transposes n lines: it stores their first elements, then their second ones, and so on.
func transposeLines(d, s unsafe.Pointer, size, line, n int) {
	done := 0
	switch {
	case line <= 4:
		var columns [4]unsafe.Pointer
		for i := range line {
			columns[i] = unsafe.Add(d, i*n*size)
		}
		done = vec.Apart(columns[:line], s, size, 0, n)
	case size == 4:
		transposeRows(block.View[float32](d, line*n), block.View[float32](s, line*n), line, n, n, line)
		return
	case size == 8:
		transposeRows(block.View[float64](d, line*n), block.View[float64](s, line*n), line, n, n, line)
		return
	case !bigEndian: // whole blocks; the last one reads into the next line
		edge := 8 / size
		rows := (line + edge - 1) &^ (edge - 1)
		done = max((line*n-(rows-line))/line, 0) &^ (edge - 1)
		transposeParts(d, s, size, rows, done, n*size, line*size)
	}
	for i := 0; i < line && done < n; i++ {
		gatherElements(unsafe.Add(d, (i*n+done)*size), unsafe.Add(s, (done*line+i)*size), size, line*size, n-done)
	}
}

// interleaveColumns stores a few columns of n elements of one or two bytes, interleaved.
func interleaveColumns(dst, src []uint8, size, n, columns int) {
	d, s := unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(src))
	switch {
	case columns <= 4:
		var from [4]unsafe.Pointer
		for i := range columns {
			from[i] = unsafe.Add(s, i*n*size)
		}
		interleaveFrom(d, from[:columns], size, 0, n)
	case !bigEndian:
		transposeParts(d, s, size, n, columns, columns*size, n*size)
	default:
		for i := range columns {
			scatterElements(unsafe.Add(d, i*size), unsafe.Add(s, i*n*size), size, columns*size, size, n)
		}
	}
}
