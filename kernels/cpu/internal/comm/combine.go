package comm

import (
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/ir"
)

// share returns the elements of n that this replica combines: whole cache lines where possible.
func (c *communicator) share(n int) (lo, hi int) {
	const line = 64
	lines := (n + line - 1) / line
	r := c.Replicas()
	return min(c.replica*lines/r*line, n), min((c.replica+1)*lines/r*line, n)
}

// commBlock is the number of elements that are combined at a time.
const commBlock = 1024

// combineShare combines this replica's share of every value and stores it in the values of all replicas.
func (c *communicator) combineShare(r *round, number uint64) error {
	call := r.call(c.replica, number)
	kind := call.kind
	for i, v := range call.values {
		d := v.Type().DType
		fn := combiner(kind, d)
		if fn == nil {
			return fmt.Errorf("cpu: all_reduce cannot combine %v by %q", d, kind)
		}
		lo, hi := c.share(v.Type().Shape.Size())
		for ; lo < hi; lo += commBlock {
			c.combineBlock(r, number, i, d, fn, lo, min(commBlock, hi-lo))
		}
	}
	return nil
}

// combiners holds the kernels of the combining kinds, by element type; they are made once, since making one allocates.
var combiners = func() (all [4][]block.Func) {
	for k, op := range []ir.Op{ir.Add, ir.Mul, ir.Maximum, ir.Minimum} {
		all[k] = make([]block.Func, len(ir.DTypes())+1) // and none for ir.Invalid
		for _, d := range ir.DTypes() {
			all[k][d] = block.Binary(op, block.ComputeType(d))
		}
	}
	return all
}()

// combiner returns the kernel for a kind, or nil.
func combiner(kind ir.Kind, d ir.DType) block.Func {
	switch kind {
	case ir.Mean:
		if !d.IsFloat() {
			return nil
		}
		return combiners[0][d]
	case ir.Sum:
		return combiners[0][d]
	case ir.Prod:
		return combiners[1][d]
	case ir.Max:
		return combiners[2][d]
	case ir.Min:
		return combiners[3][d]
	}
	return nil
}

// combineBlock combines n elements of value i of a call, starting at element first.
func (c *communicator) combineBlock(r *round, number uint64, i int, d ir.DType, fn block.Func, first, n int) {
	size := d.Size()
	at := func(replica int) unsafe.Pointer {
		return unsafe.Add(unsafe.Pointer(unsafe.SliceData(r.call(replica, number).values[i].Bytes())), first*size)
	}
	combineInto(r.call(c.replica, number).kind, d, fn, c.Replicas(), at, n, &c.scratch)
	for k := 1; k < c.Replicas(); k++ {
		copy(block.View[byte](at(k), n*size), block.View[byte](at(0), n*size))
	}
}

// combineInto combines n elements, at most commBlock, that the replicas have into those of the first.
func combineInto(kind ir.Kind, d ir.DType, fn block.Func, replicas int, at func(replica int) unsafe.Pointer, n int, scratch *[2][commBlock]float32) {
	if d.IsHalf() {
		acc, other := unsafe.Pointer(&scratch[0]), unsafe.Pointer(&scratch[1])
		block.Widen(d)(acc, at(0), nil, nil, n)
		for k := 1; k < replicas; k++ {
			block.Widen(d)(other, at(k), nil, nil, n)
			fn(acc, acc, other, nil, n)
		}
		if kind == ir.Mean {
			divide(block.View[float32](acc, n), float32(replicas))
		}
		block.Narrow(d)(at(0), acc, nil, nil, n)
		return
	}
	acc := at(0)
	for k := 1; k < replicas; k++ {
		fn(acc, acc, at(k), nil, n)
	}
	switch {
	case kind != ir.Mean:
	case d == ir.Float32:
		divide(block.View[float32](acc, n), float32(replicas))
	default:
		divide(block.View[float64](acc, n), float64(replicas))
	}
}

// Combine combines values of n elements into the first, in order.
func Combine(kind ir.Kind, d ir.DType, values []unsafe.Pointer, n int) error {
	fn := combiner(kind, d)
	if fn == nil {
		return fmt.Errorf("cpu: all_reduce cannot combine %v by %q", d, kind)
	}
	var scratch [2][commBlock]float32
	for first := 0; first < n; first += commBlock {
		at := func(i int) unsafe.Pointer { return unsafe.Add(values[i], first*d.Size()) }
		combineInto(kind, d, fn, len(values), at, min(commBlock, n-first), &scratch)
	}
	return nil
}

func divide[T block.Float](x []T, by T) {
	for i := range x {
		x[i] /= by
	}
}

// gather copies all parts into this replica's whole.
func (c *communicator) gather(r *round, number uint64) error {
	call := r.call(c.replica, number)
	part, whole := call.values[0].Type(), call.values[1].Bytes()
	inner := part.Shape[call.number:].Size() * part.DType.Size()
	outer := part.Shape[:call.number].Size()
	n := c.Replicas()
	for k := range n {
		from := r.call(k, number).values[0].Bytes()
		for o := range outer {
			copy(whole[(o*n+k)*inner:(o*n+k+1)*inner], from[o*inner:(o+1)*inner])
		}
	}
	return nil
}

func (c *communicator) copyFromRoot(r *round, number uint64) error {
	call := r.call(c.replica, number)
	if call.number != c.replica {
		copy(call.values[0].Bytes(), r.call(call.number, number).values[0].Bytes())
	}
	return nil
}
