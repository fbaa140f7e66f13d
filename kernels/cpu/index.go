package cpu

import (
	"fmt"
	"path"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// indexReader reads element i of an integer operand as an int. Values that an int cannot hold become -1, which is out
// of range.
type indexReader func(o *plan.Operand, i int) int

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

func readIndex[T block.Integer](o *plan.Operand, i int) int { return int(plan.Data[T](o)[i]) }

// dropped is the position of an index that reads zero and writes nothing.
const dropped = -1

// lookup prepares the indices of a gather or scatter. The function it returns computes the positions along the axis. It
// returns false, and makes the run fail, if an index is invalid.
func (b *build) lookup(indices *plan.Operand, axis, length int, mode ir.IndexMode) (positions *plan.Operand, run func() bool) {
	positions = b.scratch(ir.Int64, indices.N)
	find := finderOf(indices.Typ.DType)
	scope, op, rt := b.n.Scope, b.n.Op, b.rt()
	return positions, func() bool {
		if i := find(indices, plan.Data[int64](positions), length, mode); i >= 0 {
			rt.fail(&IndexError{Scope: scope, Op: op.String(), Index: indexText(indices, i), Position: i, Axis: axis, Length: length})
			return false
		}
		return true
	}
}

// indexFinder computes the positions. It returns the first invalid index, or -1 if there is none.
type indexFinder func(indices *plan.Operand, at []int64, length int, mode ir.IndexMode) int

func finderOf(d ir.DType) indexFinder {
	switch d {
	case ir.Int8:
		return findPositions[int8]
	case ir.Int16:
		return findPositions[int16]
	case ir.Int32:
		return findPositions[int32]
	case ir.Int64:
		return findPositions[int64]
	case ir.Uint8:
		return findPositions[uint8]
	case ir.Uint16:
		return findPositions[uint16]
	case ir.Uint32:
		return findPositions[uint32]
	}
	return findPositions[uint64]
}

func findPositions[T block.Integer](indices *plan.Operand, at []int64, length int, mode ir.IndexMode) int {
	x := plan.Data[T](indices)[:len(at)]
	switch {
	case mode == ir.IndexDrop || mode == ir.IndexClip && length == 0:
		for i, v := range x {
			k := int64(v)
			if uint64(k) >= uint64(length) {
				k = dropped
			}
			at[i] = k
		}
	case mode == ir.IndexClip:
		last := int64(length) - 1
		for i, v := range x {
			k := int64(v)
			if v > 0 && k < 0 { // beyond any axis
				k = last
			}
			at[i] = min(max(k, 0), last)
		}
	default:
		for i, v := range x {
			k := int64(v)
			if uint64(k) >= uint64(length) { // negative ones too
				return i
			}
			at[i] = k
		}
	}
	return -1
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

// invalidLabel stands for a label that is not an integer.
const invalidLabel = "-2147483648"

// sparseLoss is the name of the loss that looks up the probabilities of labels.
const sparseLoss = "sparse_categorical_crossentropy"

// Error says where the index came from and which indices would have been valid.
func (e *IndexError) Error() string {
	where := e.Scope
	if where == "" {
		where = "(no layer)"
	}
	labels := e.Op == ir.SparseSoftmaxCrossEntropy.String() || path.Base(e.Scope) == sparseLoss
	if labels && e.Index == invalidLabel {
		return fmt.Sprintf("%s: element %d of the labels is no whole number (NaN, or a fraction); labels are 0 to %d", where, e.Position, e.Length-1)
	}
	if labels {
		return fmt.Sprintf("%s: label %s (element %d of the labels) is none of the model's %d classes; labels are 0 to %d",
			where, e.Index, e.Position, e.Length, e.Length-1)
	}
	return fmt.Sprintf("%s: %s: index %s (element %d of the indices) is outside axis %d of length %d; valid indices are 0 to %d",
		where, e.Op, e.Index, e.Position, e.Axis, e.Length, e.Length-1)
}

func indexText(o *plan.Operand, i int) string {
	if o.Typ.DType == ir.Uint64 {
		return fmt.Sprint(plan.Data[uint64](o)[i])
	}
	return fmt.Sprint(readerOf(o.Typ.DType)(o, i))
}

// buildGather copies rows of the operand. It serves Embedding as well.
func buildGather(b *build) (func(), error) {
	in, indices, out := b.in(0), b.in(1), b.out(0)
	axis, mode := 0, ir.IndexError
	if a, ok := b.n.Attrs.(ir.GatherAttrs); ok {
		axis, mode = a.Axis, a.Mode
	}
	g := lines(in.Typ.Shape, axis)
	row := g.Inner * in.Typ.DType.Size()
	positions, find := b.lookup(indices, axis, g.Length, mode)
	count := indices.N
	if run, ok := b.gatherWords(g, row, indices, mode); ok {
		return run, nil
	}
	few, all := count <= fewIndices, mode == ir.IndexError // no position is dropped
	move := b.rt().parallel(g.Outer*count, grain(row/4), func(_ *worker, lo, hi int) {
		at := plan.Data[int64](positions)
		switch row {
		case 1:
			gatherEach(rowsOf[uint8](out), rowsOf[uint8](in), at, lo, hi, g.Length, all)
			return
		case 2:
			gatherEach(rowsOf[uint16](out), rowsOf[uint16](in), at, lo, hi, g.Length, all)
			return
		case 4:
			gatherEach(rowsOf[uint32](out), rowsOf[uint32](in), at, lo, hi, g.Length, all)
			return
		case 8:
			gatherEach(rowsOf[uint64](out), rowsOf[uint64](in), at, lo, hi, g.Length, all)
			return
		}
		x, y := plan.Raw(in), plan.Raw(out)
		for lo < hi {
			o, first := lo/count, lo%count
			if n := min((hi-lo)/count, gatherBytes/(count*row)); few && first == 0 && n >= fewGathered {
				gatherFewRows(out.Ptr(), in.Ptr(), at, o, n, row, g.Length)
				lo += n * count
				continue
			}
			n := min(hi-lo, count-first)
			gatherRows(y[lo*row:(lo+n)*row], x[o*g.Length*row:(o+1)*g.Length*row], at[first:first+n], row)
			lo += n
		}
	})
	return func() {
		if find() && out.N > 0 {
			move()
		}
	}, nil
}

// rowsOf views an operand as rows of the size of a T, which may be several elements.
func rowsOf[T any](o *plan.Operand) []T {
	var row T
	return unsafe.Slice((*T)(o.Ptr()), o.N*o.Typ.DType.Size()/int(unsafe.Sizeof(row)))
}

// gatherEach copies elements [lo, hi) of a gather along the last axis, which has the given length. all says that no
// position is dropped.
func gatherEach[T any](y, x []T, at []int64, lo, hi, length int, all bool) {
	for lo < hi {
		o, first := lo/len(at), lo%len(at)
		if rows := min((hi-lo)/len(at), gatherLines); len(at) <= fewIndices && first == 0 && rows >= len(at) {
			gatherFew(y[lo:lo+rows*len(at)], x[o*length:(o+rows)*length], at, rows)
			lo += rows * len(at)
			continue
		}
		n := min(hi-lo, len(at)-first)
		line, to := x[o*length:(o+1)*length], y[lo:lo+n]
		lo += n
		if all {
			gatherPositions(to, line, at[first:first+n])
			continue
		}
		for i, p := range at[first : first+n] {
			if p == dropped {
				clear(to[i : i+1])
				continue
			}
			to[i] = line[p]
		}
	}
}

// gatherPositions copies the elements of a line at positions that are known to be valid.
func gatherPositions[T any](to, line []T, at []int64) {
	base, size := unsafe.Pointer(unsafe.SliceData(line)), unsafe.Sizeof(line[0])
	for ; len(at) >= 4; at, to = at[4:], to[4:] {
		p, d := (*[4]int64)(at), (*[4]T)(to)
		d[0] = *(*T)(unsafe.Add(base, uintptr(p[0])*size))
		d[1] = *(*T)(unsafe.Add(base, uintptr(p[1])*size))
		d[2] = *(*T)(unsafe.Add(base, uintptr(p[2])*size))
		d[3] = *(*T)(unsafe.Add(base, uintptr(p[3])*size))
	}
	for i, p := range at {
		to[i] = line[p]
	}
}

// Up to fewIndices indices are processed one after the other, each for gatherLines lines at a time, which stay in the
// cache for the next index.
const (
	fewIndices  = 16
	gatherLines = 256
)

// gatherFew is gatherEach for a few indices and whole lines.
func gatherFew[T any](y, x []T, at []int64, rows int) {
	size := int(unsafe.Sizeof(x[0]))
	to, from := len(at)*size, len(x)/rows*size
	for i, p := range at {
		dst := unsafe.Pointer(&y[i])
		if p == dropped {
			var zero T
			scatterStrided[T](dst, unsafe.Pointer(&zero), to, 0, rows)
			continue
		}
		src := unsafe.Pointer(&x[p])
		if len(at) == 1 {
			gatherElements(dst, src, size, from, rows)
			continue
		}
		scatterStrided[T](dst, src, to, from, rows)
	}
}

func buildScatter(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ScatterAttrs)
	return scatterInto(b, b.in(0), b.in(1), b.in(2), a.Axis, a.Kind, a.Mode, false)
}

// buildEmbeddingGrad sums the rows of dy that belong to the same row of the table, which need not be in memory.
func buildEmbeddingGrad(b *build) (func(), error) {
	return scatterInto(b, b.out(0), b.in(1), b.in(2), 0, ir.Sum, ir.IndexError, true)
}

// scatterInto combines updates with a copy of an operand, or with zeros.
func scatterInto(b *build, in, indices, updates *plan.Operand, axis int, kind ir.Kind, mode ir.IndexMode, zeros bool) (func(), error) {
	combine, err := b.rowCombiner(kind, in.Typ.DType)
	if err != nil {
		return nil, err
	}
	if run, ok := b.scatterWords(lines(in.Typ.Shape, axis), in, indices, updates, kind, mode, zeros); ok {
		return run, nil
	}
	each, rows := scatterEachOf(kind, in.Typ.DType), scatterRowsOf(kind, in.Typ.DType, combine)
	out := b.out(0)
	g := lines(in.Typ.Shape, axis)
	zeros = zeros || isZeros(in) && indices.N >= g.Length // with few updates it is faster to clear all at once
	size := in.Typ.DType.Size()
	positions, find := b.lookup(indices, axis, g.Length, mode)
	count := indices.N
	scatter := b.rt().scattering(g, count, size, func(o, row, end, first, n int) {
		at := plan.Data[int64](positions)
		base := unsafe.Add(out.Ptr(), (o*g.Length*g.Inner+first)*size)
		if zeros {
			clearColumns(unsafe.Add(base, row*g.Inner*size), end-row, n*size, g.Inner*size)
		}
		src := unsafe.Add(updates.Ptr(), (o*count*g.Inner+first)*size)
		if each != nil && g.Inner == 1 {
			each(base, src, at, row, end)
			return
		}
		rows(base, src, at, row, end, g.Inner, n)
	})
	return func() {
		switch {
		case !find() || out.N == 0:
			return
		case !zeros:
			copyOperand(out, in)
		case updates.N == 0:
			clear(plan.Raw(out))
		}
		if updates.N > 0 {
			scatter()
		}
	}, nil
}

// scatterEachOf returns the loop that combines single elements with those of a line at their positions, if these are in
// [row, end).
func scatterEachOf(kind ir.Kind, d ir.DType) func(line, src unsafe.Pointer, at []int64, row, end int) {
	switch {
	case kind == ir.Set && d.Size() == 2:
		return setEach[uint16]
	case kind == ir.Set && d.Size() == 4:
		return setEach[uint32]
	case kind == ir.Set && d.Size() == 8:
		return setEach[uint64]
	case kind == ir.Sum && d == ir.Float32:
		return addEach[float32]
	case kind == ir.Sum && d == ir.Float64:
		return addEach[float64]
	case kind == ir.Sum && d == ir.Int32:
		return addEach[int32]
	case kind == ir.Sum && d == ir.Int64:
		return addEach[int64]
	case (kind == ir.Max || kind == ir.Min) && d == ir.Float32:
		return extremeEach[float32](kind == ir.Max)
	case (kind == ir.Max || kind == ir.Min) && d == ir.Float64:
		return extremeEach[float64](kind == ir.Max)
	case (kind == ir.Max || kind == ir.Min) && d == ir.Int32:
		return extremeEach[int32](kind == ir.Max)
	}
	return nil
}

// isZeros reports whether an operand is a constant of zeros that is stored as one element.
func isZeros(o *plan.Operand) bool {
	if o.N == 0 || o.Mem == nil || o.Mem.Kind != plan.InConstant || o.Mem.Bytes != o.Typ.DType.Size() {
		return false
	}
	return !slices.ContainsFunc(plan.BytesAt(o.Ptr(), o.Mem.Bytes), func(v byte) bool { return v != 0 })
}

// clearColumns clears the first bytes of rows that are stride bytes apart.
func clearColumns(p unsafe.Pointer, rows, bytes, stride int) {
	if bytes == stride {
		clearLine(p, rows*bytes)
		return
	}
	for r := range rows {
		clear(plan.BytesAt(unsafe.Add(p, r*stride), bytes))
	}
}

// clearLine is clear for memory that may not be in the caches. Some processors copy a piece over and over without
// reading what they overwrite, but store single vectors with it.
func clearLine(p unsafe.Pointer, bytes int) {
	first := min(bytes, fillPiece)
	clear(plan.BytesAt(p, first))
	for at := first; at < bytes; at += first {
		copy(plan.BytesAt(unsafe.Add(p, at), min(first, bytes-at)), plan.BytesAt(p, first))
	}
}

// rowCombiner returns the block kernel that combines a row of updates with the row that it updates.
func (b *build) rowCombiner(kind ir.Kind, d ir.DType) (block.Func, error) {
	op := map[ir.Kind]ir.Op{ir.Sum: ir.Add, ir.Prod: ir.Mul, ir.Max: ir.Maximum, ir.Min: ir.Minimum}[kind]
	var fn block.Func
	if kind == ir.Set {
		fn = func(dst, _, src, _ unsafe.Pointer, n int) {
			vec.Copy(plan.BytesAt(dst, n*d.Size()), plan.BytesAt(src, n*d.Size()))
		}
	} else {
		fn = block.Binary(op, d)
	}
	if fn == nil {
		return nil, b.unsupported("cannot combine %v by %q", d, kind)
	}
	return fn, nil
}
