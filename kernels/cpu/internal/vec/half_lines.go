package vec

// LinesScratch is the number of elements of scratch memory for [Lines].
const LinesScratch = 1 << 12

// halfLines is the number of elements, about, of lines that are widened at a time, and fewHalfLines their least number:
// with those of another operand, they take a part of the first-level cache.
const (
	halfLines    = 1 << 11
	fewHalfLines = 8
)

// FarNumbers is the number of elements from which on those of an operand are [Lines.Far].
const FarNumbers = 1 << 20

// Lines are the rows of a matrix without gaps: X, or numbers of 16 bits, of which T is float32 then, that are widened
// into scratch memory of LinesScratch elements, a few rows at a time. Those that are Far are in no cache.
type Lines[T Float] struct {
	X       []T
	Far     bool
	Halves  []uint16
	Of      Half
	Scratch []T
}

// step returns how many of the lines are read at a time.
func (l *Lines[T]) step(lines, width int) int {
	switch {
	case l.Halves != nil:
		return max(halfLines/min(width, blockWidth), fewHalfLines)
	case width <= channelsWidth:
		return lines
	}
	return linesOf(width)
}

// at returns lines of n columns from an element on, which lie stride apart, and how far apart they are in the result.
//
//go:noinline
func (l *Lines[T]) at(from, n, lines, stride int) (x []T, apart int) {
	if l.Halves == nil {
		if l.Far && n > channelsWidth { // a part of the columns is summed at a time, an order that the processor does not foresee
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

// closer moves lines of n columns that lie stride apart to scratch memory, without gaps.
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
