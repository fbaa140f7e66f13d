package cpu

import (
	"bytes"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/jit"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// integerFold combines integers, and bools as bytes. They are not rounded, so the order does not matter, and vector
// kernels combine many elements at a time. It is generic in their size only: code for each type would be eight times as
// large.
type integerFold struct {
	combine  block.Func
	size     int    // bytes of an element
	again    bool   // combining an element twice changes nothing
	decides  int    // the bool that decides the result; -1 for integers
	identity uint64 // as stored in memory
}

// combiningOps are the operations with which reductions combine two elements.
var combiningOps = map[ir.Kind]ir.Op{ir.Sum: ir.Add, ir.Prod: ir.Mul, ir.Max: ir.Maximum, ir.Min: ir.Minimum, ir.Or: ir.Maximum, ir.And: ir.Minimum}

func newIntegerFold(kind ir.Kind, d ir.DType) *integerFold {
	op := combiningOps[kind]
	f := &integerFold{combine: block.Binary(op, block.ComputeType(d)), size: d.Size(), again: op == ir.Maximum || op == ir.Minimum, decides: -1}
	if op == ir.Mul && f.size == 8 {
		f.combine = longProducts(f.combine)
	}
	highest := ^uint64(0) >> (64 - 8*f.size)
	if d.IsSigned() {
		highest >>= 1
	}
	switch {
	case kind == ir.Prod || kind == ir.And:
		f.identity = 1
	case kind == ir.Min:
		f.identity = highest
	case kind == ir.Max && d.IsSigned():
		f.identity = highest + 1
	}
	if bigEndian {
		f.identity <<= 64 - 8*f.size
	}
	if d == ir.Bool {
		f.decides = int(1 - f.identity&1)
	}
	return f
}

// longProducts multiplies 64-bit integers by compiled code if possible, else by the kernel rest.
func longProducts(rest block.Func) block.Func {
	code := jit.Compile([]jit.Step{{Op: vec.ChainMulInt, In: [3]uint8{1, 2}, Stored: true}}, 8, func(uint8) bool { return false })
	if code == nil {
		return rest
	}
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		if !code.Usable() {
			rest(dst, a, b, nil, n)
			return
		}
		p := [3]unsafe.Pointer{dst, a, b}
		code.Run(unsafe.Pointer(&p), n)
	}
}

// foldBytes is how much data is combined at a time, so that it stays in the first-level cache.
const foldBytes = 4 << 10

// foldMemory has four places of foldBytes, whose offsets within pages of memory differ.
type foldMemory [4][foldBytes + 192]byte

var foldMemories pool.Recycler[foldMemory]

// minSearched is the length of lines of bools from which on searching each is faster than combining all elements.
const minSearched = 64

// items combines the rows of n consecutive items. Each has length rows of inner elements.
func (f *integerFold) items(out, x unsafe.Pointer, n, length, inner int) {
	if n*inner == 0 {
		return
	}
	if length == 0 {
		fillElement(out, unsafe.Pointer(&f.identity), f.size, n*inner)
		return
	}
	row := inner * f.size
	line := length * row
	if f.decides >= 0 && inner == 1 && length >= minSearched {
		for i := range n {
			found := bytes.IndexByte(plan.BytesAt(unsafe.Add(x, i*line), line), byte(f.decides)) >= 0
			*(*uint8)(unsafe.Add(out, i)) = block.Bit(found == (f.decides == 1))
		}
		return
	}
	memory := foldMemories.Get()
	together := max(foldBytes/line, 1)
	for i := 0; i < n; i += together {
		to, from := unsafe.Add(out, i*row), unsafe.Add(x, i*line)
		if line > foldBytes {
			f.long(to, from, length, row, memory)
		} else {
			f.halve(to, from, min(together, n-i), length, row, memory)
		}
	}
	foldMemories.Put(memory)
}

// halve combines the rows of n short items. It combines the first half of each item's rows with the second half, as
// often as necessary.
func (f *integerFold) halve(out, x unsafe.Pointer, n, length, row int, memory *foldMemory) {
	a, b, some := unsafe.Pointer(&memory[0]), unsafe.Pointer(&memory[1]), unsafe.Pointer(&memory[2])
	stride, rest := length*row, false
	// leave combines a row of each item with those left over before.
	leave := func(x unsafe.Pointer) {
		to := out
		if rest {
			to = some
		}
		if row == f.size {
			gatherElements(to, x, row, stride, n)
		} else {
			moveRows(to, x, n, row, row, stride)
		}
		if rest {
			f.combine(out, out, some, nil, n*row/f.size)
		}
		rest = true
	}
	for length > 1 {
		from := length / 2
		half := from
		if length%2 == 1 && f.again {
			half++
		} else if length%2 == 1 {
			leave(unsafe.Add(x, (length-1)*row))
		}
		f.combine(a, x, unsafe.Add(x, from*row), nil, ((n-1)*stride+half*row)/f.size)
		if n > 1 && half*row >= leastTogether {
			moveRows(b, a, n, half*row, half*row, stride)
			x, stride = b, half*row
		} else {
			x, a, b = a, b, a
		}
		length = half
	}
	leave(x)
}

// leastTogether is the size in bytes of halves that are moved together, so that the next step has fewer elements.
const leastTogether = 128

// long combines the rows of an item of more than foldBytes.
func (f *integerFold) long(out, x unsafe.Pointer, length, row int, memory *foldMemory) {
	if rows := foldBytes / row; rows > 1 { // several side by side
		acc := unsafe.Pointer(&memory[3])
		copy(plan.BytesAt(acc, rows*row), plan.BytesAt(x, rows*row))
		for at := rows; at < length; at += rows {
			f.combine(acc, acc, unsafe.Add(x, at*row), nil, min(rows, length-at)*row/f.size)
		}
		f.halve(out, acc, 1, rows, row, memory)
		return
	}
	for c := 0; c < row; c += foldBytes {
		m := min(foldBytes, row-c)
		acc, from := unsafe.Add(out, c), unsafe.Add(x, c)
		copy(plan.BytesAt(acc, m), plan.BytesAt(from, m))
		for at := 1; at < length; at++ {
			f.combine(acc, acc, unsafe.Add(from, at*row), nil, m/f.size)
		}
	}
}

// add combines consecutive rows of inner elements with acc.
func (f *integerFold) add(acc, x unsafe.Pointer, length, inner int) {
	if inner*f.size > foldBytes {
		for at := range length {
			f.combine(acc, acc, unsafe.Add(x, at*inner*f.size), nil, inner)
		}
		return
	}
	memory := foldMemories.Get()
	sum := unsafe.Pointer(&memory[3])
	f.items(sum, x, 1, length, inner)
	f.combine(acc, acc, sum, nil, inner)
	foldMemories.Put(memory)
}

// reduceIntegers combines along one group. Long reductions with few results are cut into segments.
func reduceIntegers(b *build, f *integerFold, g geometry.AxisGroup, from, to *plan.Operand) func() {
	line, row := g.Length*g.Inner*f.size, g.Inner*f.size
	segments := segmentsOf(g)
	if segments == 1 {
		return b.rt().parallel(g.Outer, grain(g.Length*g.Inner), func(_ *worker, lo, hi int) {
			f.items(unsafe.Add(to.Ptr(), lo*row), unsafe.Add(from.Ptr(), lo*line), hi-lo, g.Length, g.Inner)
		})
	}
	n := g.Outer * segments
	partial := &plan.Operand{Mem: b.workspace(n * row), N: n * g.Inner}
	each := b.rt().parallel(n, 1, func(_ *worker, lo, hi int) {
		for k := lo; k < hi; k++ {
			o, s := k/segments, k%segments
			first, last := s*g.Length/segments, (s+1)*g.Length/segments
			f.items(unsafe.Add(partial.Ptr(), k*row), unsafe.Add(from.Ptr(), o*line+first*row), 1, last-first, g.Inner)
		}
	})
	return func() {
		each()
		f.items(to.Ptr(), partial.Ptr(), g.Outer, segments, g.Inner)
	}
}

// integerSink is newSink for integers.
func integerSink(b *vmBuilder, n *ir.Node) vmSink {
	d := b.Program.Type(n.Inputs[0]).DType
	f, out := newIntegerFold(n.Attrs.(ir.ReduceAttrs).Kind, d), &b.Operands[n.Outputs[0]]
	shape, _ := b.SinkOf(n)
	blocks, chunk := b.prog.blocks(), b.prog.grain
	columns, size := shape.Columns, f.size
	if columns > fuse.MaxColumns {
		partial := b.partial(blocks, out)
		return vmSink{
			take: func(p, _ unsafe.Pointer, k int, _ bool, n int) {
				f.items(unsafe.Add(partial.Ptr(), k*size), p, 1, n, 1)
			},
			finish: func() { f.items(out.Ptr(), partial.Ptr(), out.N, blocks/out.N, 1) },
		}
	}
	if columns > 0 && !shape.Leading {
		rows := b.prog.block / columns
		return vmSink{finish: func() {}, take: func(p, _ unsafe.Pointer, k int, _ bool, n int) {
			f.items(unsafe.Add(out.Ptr(), k*rows*size), p, n/columns, columns, 1)
		}}
	}
	columns = max(columns, 1)
	chunks := (blocks + chunk - 1) / chunk
	partial := b.partial(max(chunks, 1)*columns, out)
	return vmSink{
		take: func(p, _ unsafe.Pointer, k int, first bool, n int) {
			acc := unsafe.Add(partial.Ptr(), k/chunk*columns*size)
			if first {
				f.items(acc, p, 1, n/columns, columns)
			} else {
				f.add(acc, p, n/columns, columns)
			}
		},
		finish: func() { f.items(out.Ptr(), partial.Ptr(), 1, chunks, columns) },
	}
}
