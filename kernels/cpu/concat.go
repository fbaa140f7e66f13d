package cpu

import (
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Concatenations. Slices that only a concatenation reads are never stored; the concatenation copies them from the
// sliced value.

func buildConcat(b *build) (func(), error) {
	axis := b.n.Attrs.(ir.AxisAttrs).Axis
	cuts := false // or parts that are in place already
	for _, v := range b.n.Inputs {
		_, placed := b.Parts[v]
		cuts = cuts || placed || b.Cut(b.n, v) != nil
	}
	if axis > 0 && b.out(0).N > 0 && !cuts {
		if windows := b.windows(axis); windows != nil {
			return b.move(windows, b.out(0), b.in(0), 0, 0)
		}
		return b.concatRows(axis), nil
	}
	return b.moveAll(b.concatMoves(axis), concatPiece)
}

// pieceMove is how a concatenation copies an operand, or how one of several slices of a value is copied.
type pieceMove struct {
	*ndCopy
	out, source *plan.Operand
	to, from    int // offsets in bytes
}

// moveAll returns a function that runs all copies. It copies about piece bytes of each in turn, as long as they are
// near each other. If piece is 0, or the copies have no axis in common, it runs them one after the other.
func (b *build) moveAll(moves []pieceMove, piece int) (func(), error) {
	if run := b.movePieces(moves, piece); run != nil {
		return run, nil
	}
	runs := make([]func(), len(moves))
	for i, m := range moves {
		var err error
		if runs[i], err = b.move(m.ndCopy, m.out, m.source, m.to, m.from); err != nil {
			return nil, err
		}
	}
	return func() {
		for _, run := range runs {
			run()
		}
	}, nil
}

// concatMoves lists the copies of operands that have elements and are not in place yet. Slices of a large enough piece
// are copied from the sliced value. Slices that each continue where the previous one ends, such as the steps of
// overlapping windows, become one copy, and so do slices of one element along the axis that are at equal distances,
// such as windows themselves.
func (b *build) concatMoves(axis int) (moves []pieceMove) {
	dst := byteStrides(b.out(0).Typ)
	at := 0
	var shape ir.Shape // of the last piece
	var strides []int  // its strides in the source
	for i, v := range b.n.Inputs {
		t := b.Program.Type(v)
		m := pieceMove{out: b.out(0), source: b.in(i), to: at}
		src := byteStrides(t)
		if cut := b.Cut(b.n, v); cut != nil {
			m.source = &b.Operands[cut.Inputs[0]]
			src, m.from = slicedStrides(m.source.Typ, cut.Attrs.(ir.SliceAttrs))
		}
		if last := len(moves) - 1; last >= 0 && strides != nil && t.Shape[axis] == 1 { // there is no distance along the axis yet
			d := m.from - moves[last].from
			if shape[axis] == 1 && d > 0 {
				strides[axis] = d
			}
			if d == shape[axis]*strides[axis] {
				src[axis] = strides[axis]
			}
		}
		if _, placed := b.Parts[v]; placed {
			strides = nil
		} else if last := len(moves) - 1; last >= 0 && m.source == moves[last].source && slices.Equal(src, strides) &&
			m.from == moves[last].from+shape[axis]*src[axis] && t.Shape.Size() > 0 {
			shape[axis] += t.Shape[axis]
			moves[last].ndCopy = newCopy(t.DType.Size(), shape, slices.Clone(dst), slices.Clone(src))
		} else if t.Shape.Size() > 0 {
			shape, strides = t.Shape.Clone(), slices.Clone(src)
			m.ndCopy = newCopy(t.DType.Size(), t.Shape, slices.Clone(dst), src)
			moves = append(moves, m)
		}
		at += t.Shape[axis] * dst[axis]
	}
	return moves
}

// movePieces finishes a piece of the given bytes in all results before the next one, if all copies have the same
// outermost axis.
func (b *build) movePieces(moves []pieceMove, piece int) func() {
	if len(moves) < 2 || piece == 0 {
		return nil
	}
	n, whole := moves[0].dims[0], 0
	for _, m := range moves {
		if m.dims[0] != n || m.dst[0] != moves[0].dst[0] && m.src[0] != moves[0].src[0] || m.tile >= 0 || len(m.dims) > maxAxes { // move reports too many axes
			return nil
		}
		whole += m.elements() * m.size
	}
	whole = max(whole/n, 1)
	piece = min(max(piece/whole, 1), n)
	return b.rt().parallel((n+piece-1)/piece, grain(piece*whole/8), func(_ *worker, lo, hi int) {
		for first := lo * piece; first < min(hi*piece, n); first += piece {
			for i := range moves {
				m := &moves[i]
				m.run(unsafe.Add(m.out.Ptr(), m.to), unsafe.Add(m.source.Ptr(), m.from), first, min(first+piece, n))
			}
		}
	})
}

// windows returns one copy for operands that are views of one value, each beginning a row after the previous one. These
// overlapping windows are contiguous in the value. It returns nil for other operands.
func (b *build) windows(axis int) *ndCopy {
	first := b.in(0)
	rows := ir.Shape(first.Typ.Shape[:axis]).Size()
	size := first.Typ.DType.Size()
	row := first.N / rows * size
	n := len(b.n.Inputs)
	for i := range n {
		if x := b.in(i); x.Mem != first.Mem || x.Off != first.Off+i*row || x.N != first.N {
			return nil
		}
	}
	if n < 2 || row == 0 || n*row < 16 {
		return nil
	}
	return newCopy(size, []int{rows, n * row / size}, []int{n * row, size}, []int{row, size})
}

// concatRows concatenates the rows of all operands along the given axis. It finishes a piece of the result that fits
// into the first-level cache before the next one.
func (b *build) concatRows(axis int) func() {
	out := b.out(0)
	rows := ir.Shape(out.Typ.Shape[:axis]).Size()
	whole := out.N / rows * out.Typ.DType.Size()
	sources := make([]*plan.Operand, len(b.n.Inputs))
	for i := range sources {
		sources[i] = b.in(i)
	}
	piece := min(max(concatPiece/whole, 1), rows)
	size := whole / len(sources)
	single := interleaves(sources, rows, size)
	return b.rt().parallel((rows+piece-1)/piece, grain(piece*whole/8), func(_ *worker, lo, hi int) {
		for first := lo * piece; first < min(hi*piece, rows); first += piece {
			n := min(piece, rows-first)
			to := first * whole
			if single {
				interleave(unsafe.Add(out.Ptr(), to), sources, size, first, n)
				continue
			}
			for _, in := range sources {
				if in.N == 0 {
					continue
				}
				bytes := in.N / rows * in.Typ.DType.Size()
				moveRows(unsafe.Add(out.Ptr(), to), unsafe.Add(in.Ptr(), first*bytes), n, bytes, whole, bytes)
				to += bytes
			}
		}
	})
}

// concatPiece is how many bytes of a concatenation's result are written at a time.
const concatPiece = 16 << 10
