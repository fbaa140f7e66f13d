package kernels

import (
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// How much String shows of long arrays.
const (
	shownElements = 1000 // arrays of up to this size are shown in full
	shownEdge     = 3    // of longer ones, how many elements are shown at both ends of each axis
)

// String returns the elements as NumPy prints them, without the type, which is in the field Type. Of arrays with more
// than 1000 elements it shows only the corners.
//
//	[[1 2 3]
//	 [4 5 6]]
func (a Array) String() string {
	if a.IsZero() {
		return "no array"
	}
	if err := a.Check(); err != nil {
		return "(" + err.Error() + ")"
	}
	p := printer{a: a, whole: a.Len() <= shownElements}
	p.measure(0, 0)
	p.axis(0, 0)
	return p.out.String()
}

type printer struct {
	a     Array
	whole bool
	width int // of the longest element
	out   strings.Builder
}

// each calls f with the positions of an axis that are shown, and with -1 for the gap.
func (p *printer) each(axis int, f func(i int)) {
	n := p.a.Type.Shape[axis]
	if p.whole || n <= 2*shownEdge {
		for i := range n {
			f(i)
		}
		return
	}
	for i := range shownEdge {
		f(i)
	}
	f(-1)
	for i := n - shownEdge; i < n; i++ {
		f(i)
	}
}

// measure finds the longest element that is shown, so that columns are aligned.
func (p *printer) measure(axis, at int) {
	if axis == len(p.a.Type.Shape) {
		p.width = max(p.width, len(p.a.text(at)))
		return
	}
	p.each(axis, func(i int) {
		if i >= 0 {
			p.measure(axis+1, at*p.a.Type.Shape[axis]+i)
		}
	})
}

func (p *printer) axis(axis, at int) {
	rank := len(p.a.Type.Shape)
	if axis == rank {
		word := p.a.text(at)
		if rank > 0 {
			p.out.WriteString(strings.Repeat(" ", p.width-len(word)))
		}
		p.out.WriteString(word)
		return
	}
	p.out.WriteByte('[')
	first := true
	p.each(axis, func(i int) {
		switch {
		case first:
		case axis == rank-1:
			p.out.WriteByte(' ')
		default: // a blank line between matrices, as NumPy has it
			p.out.WriteString(strings.Repeat("\n", rank-1-axis) + strings.Repeat(" ", axis+1))
		}
		first = false
		if i < 0 {
			p.out.WriteString("...")
			return
		}
		p.axis(axis+1, at*p.a.Type.Shape[axis]+i)
	})
	p.out.WriteByte(']')
}

// text is element i in as few digits as distinguish it from its neighbours.
func (a Array) text(i int) string {
	switch a.Type.DType {
	case ir.Bool:
		return strconv.FormatBool(a.Data[i] != 0)
	case ir.Int64:
		return strconv.FormatInt(int64(binary.LittleEndian.Uint64(a.Data[8*i:])), 10)
	case ir.Uint64:
		return strconv.FormatUint(binary.LittleEndian.Uint64(a.Data[8*i:]), 10)
	case ir.Float64:
		return strconv.FormatFloat(a.Element(i), 'g', -1, 64)
	}
	return strconv.FormatFloat(a.Element(i), 'g', -1, 32)
}
