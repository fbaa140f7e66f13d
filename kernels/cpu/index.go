package cpu

import (
	"fmt"
	"path"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

// indexReader reads element i of an operand of integers as an int; what an int cannot hold becomes -1, which is outside.
type indexReader func(o *operand, i int) int

func readerOf(d ir.DType) indexReader {
	switch d {
	case ir.Int8:
		return readIndex[int8]
	case ir.Int16:
		return readIndex[int16]
	case ir.Int32:
		return readIndex[int32]
	case ir.Int64:
		return readIndex[int64]
	case ir.Uint8:
		return readIndex[uint8]
	case ir.Uint16:
		return readIndex[uint16]
	case ir.Uint32:
		return readIndex[uint32]
	}
	return readIndex[uint64]
}

func readIndex[T integer](o *operand, i int) int { return int(data[T](o)[i]) }

// dropped stands for an index that reads zero and writes nothing.
const dropped = -1

// lookup prepares the indices of a gather or scatter: the function it returns fills the positions along the axis and reports
// whether all indices were allowed; if not, the run has failed.
func (b *build) lookup(indices *operand, axis, length int, mode ir.IndexMode) (positions *operand, run func() bool) {
	positions = b.scratch(ir.Int64, indices.n)
	d := indices.typ.DType
	read := readerOf(d)
	scope, op, rt := b.n.Scope, b.n.Op, b.rt()
	return positions, func() bool {
		at := data[int64](positions)
		for i := range at {
			k := read(indices, i)
			if d == ir.Uint64 && k < 0 {
				k = length // beyond every axis
			}
			if k >= 0 && k < length {
				at[i] = int64(k)
				continue
			}
			switch {
			case mode == ir.IndexDrop || mode == ir.IndexClip && length == 0:
				at[i] = dropped
			case mode == ir.IndexClip:
				at[i] = int64(min(max(k, 0), length-1))
			default:
				rt.fail(&IndexError{Scope: scope, Op: op.String(), Index: indexText(indices, i), Position: i, Axis: axis, Length: length})
				return false
			}
		}
		return true
	}
}

// IndexError reports an index outside its axis, found while a program ran.
type IndexError struct {
	Scope    string // the path of the layer
	Op       string
	Index    string // the index received
	Position int    // the element of the indices, in row-major order
	Axis     int    // of the operand
	Length   int    // of the axis: indices from 0 to Length-1 are valid
}

// noNumber stands for a label that is no whole number.
const noNumber = "-2147483648"

// sparseLoss is the name of the loss that looks labels up among probabilities.
const sparseLoss = "sparse_categorical_crossentropy"

// Error says where the index came from and what would have been valid.
func (e *IndexError) Error() string {
	where := e.Scope
	if where == "" {
		where = "(no layer)"
	}
	labels := e.Op == ir.SparseSoftmaxCrossEntropy.String() || path.Base(e.Scope) == sparseLoss
	if labels && e.Index == noNumber {
		return fmt.Sprintf("%s: element %d of the labels is no whole number (NaN, or a fraction); labels are 0 to %d", where, e.Position, e.Length-1)
	}
	if labels {
		return fmt.Sprintf("%s: label %s (element %d of the labels) is none of the model's %d classes; labels are 0 to %d",
			where, e.Index, e.Position, e.Length, e.Length-1)
	}
	return fmt.Sprintf("%s: %s: index %s (element %d of the indices) is outside axis %d of length %d; valid indices are 0 to %d",
		where, e.Op, e.Index, e.Position, e.Axis, e.Length, e.Length-1)
}

func indexText(o *operand, i int) string {
	if o.typ.DType == ir.Uint64 {
		return fmt.Sprint(data[uint64](o)[i])
	}
	return fmt.Sprint(readerOf(o.typ.DType)(o, i))
}

// buildGather copies rows of the operand, also for Embedding.
func buildGather(b *build) (func(), error) {
	in, indices, out := b.in(0), b.in(1), b.out(0)
	axis, mode := 0, ir.IndexError
	if a, ok := b.n.Attrs.(ir.GatherAttrs); ok {
		axis, mode = a.Axis, a.Mode
	}
	g := lines(in.typ.Shape, axis)
	row := g.inner * in.typ.DType.Size()
	positions, find := b.lookup(indices, axis, g.length, mode)
	count := indices.n
	move := b.rt().parallel(g.outer*count, grain(row/4), func(_ *worker, lo, hi int) {
		at := data[int64](positions)
		x, y := raw(in), raw(out)
		for k := lo; k < hi; k++ {
			dst := y[k*row : (k+1)*row]
			p := at[k%count]
			if p == dropped {
				clear(dst)
				continue
			}
			from := (k/count*g.length + int(p)) * row
			copy(dst, x[from:from+row])
		}
	})
	return func() {
		if find() && out.n > 0 {
			move()
		}
	}, nil
}

func buildScatter(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ScatterAttrs)
	return scatterInto(b, b.in(0), b.in(1), b.in(2), a.Axis, a.Kind, a.Mode, false)
}

// buildEmbeddingGrad sums the rows of dy that came from the same row of the table.
func buildEmbeddingGrad(b *build) (func(), error) {
	return scatterInto(b, b.in(0), b.in(1), b.in(2), 0, ir.Sum, ir.IndexError, true)
}

// scatterInto combines updates with a copy of an operand, or with zeros.
func scatterInto(b *build, in, indices, updates *operand, axis int, kind ir.Kind, mode ir.IndexMode, zeros bool) (func(), error) {
	combine, err := b.rowCombiner(kind, in.typ.DType)
	if err != nil {
		return nil, err
	}
	out := b.out(0)
	g := lines(in.typ.Shape, axis)
	size := in.typ.DType.Size()
	positions, find := b.lookup(indices, axis, g.length, mode)
	count := indices.n
	share := newScatterShare(g, count, size, b.rt().pool.Size())
	scatter := b.rt().parallel(share.pieces(), 1, func(_ *worker, lo, hi int) {
		at := data[int64](positions)
		for k := lo; k < hi; k++ {
			o, row, end, first, n := share.piece(k)
			base := unsafe.Add(out.ptr(), (o*g.length*g.inner+first)*size)
			if zeros {
				clearColumns(unsafe.Add(base, row*g.inner*size), end-row, n*size, g.inner*size)
			}
			src := unsafe.Add(updates.ptr(), (o*count*g.inner+first)*size)
			for i, p := range at {
				if int(p) >= row && int(p) < end { // not if dropped
					dst := unsafe.Add(base, int(p)*g.inner*size)
					combine(dst, dst, unsafe.Add(src, i*g.inner*size), nil, n)
				}
			}
		}
	})
	return func() {
		switch {
		case !find() || out.n == 0:
			return
		case !zeros:
			copyOperand(out, in)
		case updates.n == 0:
			clear(raw(out))
		}
		if updates.n > 0 {
			scatter()
		}
	}, nil
}

// scatterShare is how a scatter is shared out. Rows are independent, and so are columns; updates that meet are combined in the order of
// their indices, so the result does not depend on it.
type scatterShare struct {
	g               axisGroup
	rows, rowPieces int
	cols, colPieces int
}

// scatterRows is the fewest rows in a piece. Every piece goes through all indices.
const scatterRows = 16

// newScatterShare cuts rows into pieces for the workers, and columns where there are too few rows.
func newScatterShare(g axisGroup, count, size, workers int) scatterShare {
	want := 1
	if workers > 1 {
		want = min(2*workers, max(g.outer*count*g.inner/chunkWork, 1))
	}
	want = max(want/max(g.outer, 1), 1)
	s := scatterShare{g: g, rowPieces: max(min(want, g.length/scatterRows), 1)}
	s.rows = max((g.length+s.rowPieces-1)/s.rowPieces, 1)
	width := max(64/size, 1)
	lines := (g.inner + width - 1) / width
	s.cols = max((lines+want/s.rowPieces-1)/max(want/s.rowPieces, 1), 1) * width
	s.rowPieces, s.colPieces = (g.length+s.rows-1)/s.rows, (g.inner+s.cols-1)/s.cols
	return s
}

func (s *scatterShare) pieces() int { return s.g.outer * s.rowPieces * s.colPieces }

// piece returns the rows [row, end) and the n columns from the first on that make up piece k, which belongs to entry o of the axes in front.
func (s *scatterShare) piece(k int) (o, row, end, first, n int) {
	col, rest := k%s.colPieces, k/s.colPieces
	row, o = rest%s.rowPieces*s.rows, rest/s.rowPieces
	first = col * s.cols
	return o, row, min(row+s.rows, s.g.length), first, min(s.cols, s.g.inner-first)
}

// clearColumns clears the first bytes of rows that lie stride bytes apart.
func clearColumns(p unsafe.Pointer, rows, bytes, stride int) {
	if bytes == stride {
		rows, bytes = 1, rows*bytes
	}
	for r := range rows {
		clear(bytesAt(unsafe.Add(p, r*stride), bytes))
	}
}

// rowCombiner returns the block kernel that combines a row of updates with the row they meet.
func (b *build) rowCombiner(kind ir.Kind, d ir.DType) (blockFn, error) {
	op := map[ir.Kind]ir.Op{ir.Sum: ir.Add, ir.Prod: ir.Mul, ir.Max: ir.Maximum, ir.Min: ir.Minimum}[kind]
	var fn blockFn
	if kind == ir.Set {
		fn = func(dst, _, src, _ unsafe.Pointer, n int) { copy(bytesAt(dst, n*d.Size()), bytesAt(src, n*d.Size())) }
	} else {
		fn = binaryKernel(op, d)
	}
	if fn == nil {
		return nil, b.unsupported("cannot combine %v by %q", d, kind)
	}
	return fn, nil
}
