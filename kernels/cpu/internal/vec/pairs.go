package vec

// Half is a type of 16-bit floats, which are stored as uint16.
type Half = halfKind

// The 16-bit types.
const (
	Float16  Half = f16
	BFloat16 Half = bf16
)

// Widen turns 16-bit numbers into float32, exactly.
func (h Half) Widen(dst []float32, x []uint16) {
	if h == f16 {
		F16ToFloat32(dst, x)
	} else {
		BF16ToFloat32(dst, x)
	}
}

// Narrow rounds to the nearest 16-bit number, ties to even.
func (h Half) Narrow(dst []uint16, x []float32) {
	if h == f16 {
		Float32ToF16(dst, x)
	} else {
		Float32ToBF16(dst, x)
	}
}

const narrowedAtOnce = 1 << 14 // numbers: some microseconds

// NarrowSums is Narrow for results of arithmetic that flushes denormals, as programs do: it may turn denormals into 0.
func (h Half) NarrowSums(dst []uint16, x []float32) {
	for len(dst) > 0 && h.rounding() != 0 {
		n := min(len(dst), narrowedAtOnce)
		if h.narrowRows(dst[:n], x[:n], n, 1, n, n) == 0 {
			break
		}
		dst, x = dst[n:], x[n:]
	}
	h.Narrow(dst, x)
}

// PairsRows reports whether there is a kernel for [PairRows].
func PairsRows() bool { return pairsRows() }

// PairRows interleaves the rows 2i and 2i+1 of a matrix of 16-bit numbers for i in [0, pairs); rows are from numbers
// apart. dst[i·to + c] gets the number of row 2i in its lower half and that of row 2i+1 in its upper half. What is
// behind the columns in dst may be overwritten, up to a multiple of 16 columns, if x continues there.
func PairRows(dst []uint32, x []uint16, columns, pairs, to, from int) {
	if columns <= 0 || pairs <= 0 {
		return
	}
	done := pairRows(dst, x, columns, pairs, to, from)
	for i := done; i < pairs; i++ {
		a, b, d := x[2*i*from:][:columns], x[(2*i+1)*from:][:columns], dst[i*to:][:columns]
		for c := range d {
			d[c] = uint32(a[c]) | uint32(b[c])<<16
		}
	}
}

// pairColumns is the width of the panels of [Half.RoundPairs].
const pairColumns = 32

// RoundPairs rounds rows of float32 as [Half.NarrowRows] does; their columns are a multiple of 16. It also interleaves
// the rows 2i and 2i+1 as [PairRows] does, in panels of 32 columns: panels[p·panel + 32·i + c] has those of column 32·p
// + c. A last single row is paired with zeros. It is for results of arithmetic that flushes denormals.
func (h Half) RoundPairs(panels []uint32, dst []uint16, x []float32, columns, rows, panel, to, from int) {
	if columns <= 0 || rows <= 0 {
		return
	}
	done := h.roundPairs(panels, dst, x, columns, rows, panel, to, from)
	if done == rows {
		return
	}
	panels, dst, x, rows = panels[done/2*pairColumns:], dst[done*to:], x[done*from:], rows-done
	h.NarrowRows(dst, x, columns, rows, to, from)
	for c := 0; c < columns; c += pairColumns {
		n, place := min(pairColumns, columns-c), panels[c/pairColumns*panel:]
		PairRows(place, dst[c:], n, rows/2, pairColumns, to)
		if rows%2 == 1 {
			last := place[rows/2*pairColumns:][:n]
			for i, v := range dst[(rows-1)*to+c:][:n] {
				last[i] = uint32(v)
			}
		}
	}
}

// RoundAdd rounds x, adds y, both float32, and rounds again. If relu is set, negative sums become 0. It does not round
// y, which should hold numbers of the 16-bit type. It overwrites x.
func (h Half) RoundAdd(dst []uint16, x, y []float32, relu bool) {
	x, y = x[:len(dst)], y[:len(dst)]
	if len(dst) == 0 || h.roundAdd(dst, x, y, relu) {
		return
	}
	h.Narrow(dst, x)
	h.Widen(x, dst)
	Add(x, x, y)
	if relu {
		Relu(x, x)
	}
	h.Narrow(dst, x)
}

// WidenRows widens rows of 16-bit numbers, from numbers apart, to rows of dst, to numbers apart. What is behind the
// columns in dst may be overwritten, up to a multiple of 16 columns but not beyond the next row, if x continues there.
func (h Half) WidenRows(dst []float32, x []uint16, columns, rows, to, from int) {
	if columns <= 0 || rows <= 0 {
		return
	}
	if columns == to && columns == from {
		h.Widen(dst[:rows*columns], x[:rows*columns])
		return
	}
	for i := h.widenRows(dst, x, columns, rows, to, from); i < rows; i++ {
		h.Widen(dst[i*to:][:columns], x[i*from:][:columns])
	}
}

// NarrowRows rounds rows of float32, from numbers apart, to rows of dst, to numbers apart.
func (h Half) NarrowRows(dst []uint16, x []float32, columns, rows, to, from int) {
	if columns <= 0 || rows <= 0 {
		return
	}
	if columns == to && columns == from {
		h.NarrowSums(dst[:rows*columns], x)
		return
	}
	for r := h.narrowRows(dst, x, columns, rows, to, from); r < rows; r++ {
		h.Narrow(dst[r*to:][:columns], x[r*from:][:columns])
	}
}

// RoundAddRows is [Half.RoundAdd] for rows of x, from numbers apart, and of dst, to numbers apart, with the same y for
// all rows. It may overwrite x.
func (h Half) RoundAddRows(dst []uint16, x, y []float32, columns, rows, to, from int, relu bool) {
	if columns <= 0 || rows <= 0 {
		return
	}
	if columns == to && columns == from && columns%16 != 0 && columns <= joinedColumns && rows >= joinedRows {
		joined := h.roundAddJoined(dst, x, y, columns, rows, relu)
		dst, x, rows = dst[joined*columns:], x[joined*columns:], rows-joined
	}
	for r := h.roundAddRows(dst, x, y, columns, rows, to, from, relu); r < rows; r++ {
		h.RoundAdd(dst[r*to:][:columns], x[r*from:][:columns], y[:columns], relu)
	}
}

// Short rows without gaps are rounded many at a time, as longer rows of whole vectors.
const (
	joinedRows    = 16
	joinedColumns = 64
)

// roundAddJoined is RoundAddRows for such rows. It returns how many rows it processed.
func (h Half) roundAddJoined(dst []uint16, x, y []float32, columns, rows int, relu bool) int {
	var repeated [joinedRows * joinedColumns]float32
	long := joinedRows * columns
	for i := 0; i < long; i += columns {
		copy(repeated[i:long], y[:columns])
	}
	return joinedRows * h.roundAddRows(dst, x, repeated[:long], long, rows/joinedRows, long, long, relu)
}

// SubtractRows rounds rows of x, from numbers apart, and subtracts rate times them from rows of dst, to numbers apart.
// It may overwrite x.
func (h Half) SubtractRows(dst, x []float32, rate float32, columns, rows, to, from int) {
	done := h.subtractRows(dst, x, rate, columns, rows, to, from)
	var rounded [64]uint16
	for r := range rows {
		for c := done; c < columns; c += len(rounded) {
			n := min(len(rounded), columns-c)
			part := x[r*from+c:][:n]
			h.Narrow(rounded[:n], part)
			h.Widen(part, rounded[:n])
			Axpy(dst[r*to+c:][:n], -rate, part)
		}
	}
}
