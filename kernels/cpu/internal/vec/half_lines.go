package vec

// LinesScratch is the number of elements of scratch memory for [Lines].
const LinesScratch = 1 << 12

// halfLines is the approximate number of elements of the lines that are widened at a time, and fewHalfLines their least
// number. Together with those of another operand, they take a part of the first-level cache.
const (
	halfLines    = 1 << 11
	fewHalfLines = 8
)

// FarNumbers is the number of elements from which on an operand is [Lines.Far].
const FarNumbers = 1 << 20

// Lines are the rows of a matrix without gaps, stored as X or as 16-bit numbers in Halves. For these, T is float32, and
// a few rows at a time are widened into Scratch, which has LinesScratch elements. Far means that the rows are in no
// cache.
type Lines[T Float] struct {
	X       []T
	Far     bool
	Halves  []uint16
	Of      Half
	Scratch []T
}

// step returns how many lines are read at a time.
func (l *Lines[T]) step(lines, width int) int {
	switch {
	case l.Halves != nil:
		return max(halfLines/min(width, blockWidth), fewHalfLines)
	case width <= channelsWidth:
		return lines
	}
	return linesOf(width)
}

// at returns lines of n columns, from an element on, that are stride apart, and their distance in the result.
//
//go:noinline
func (l *Lines[T]) at(from, n, lines, stride int) (x []T, apart int) {
	if l.Halves == nil {
		if l.Far && n > channelsWidth { // some columns are summed at a time, an order that the processor cannot predict
			Fetch(l.X[from:], lines, n, stride)
		}
		return l.X[from:], stride
	}
	if n == stride {
		l.Of.Widen(as32(l.Scratch[:n*lines]), l.Halves[from:])
	} else {
		l.Of.WidenRows(as32(l.Scratch), l.Halves[from:], n, lines, n, stride)
	}
	return l.Scratch, n
}

// closer copies lines of n columns that are stride apart to scratch memory, without gaps.
//
//go:noinline
func (l *Lines[T]) closer(x []T, n, lines, stride int) []T {
	if stride == n {
		return x
	}
	for i := range lines {
		copy(l.Scratch[i*n:][:n], x[i*stride:])
	}
	return l.Scratch
}
