package cpu

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// kernel returns the second operand of the unit's product or convolution. If the unit scales that operand's columns, it
// returns the operand as it is before scaling.
func (b *build) kernel() *plan.Operand {
	if e := b.u.Fused; e != nil && e.Kernel >= 0 {
		o := b.Operands[e.Kernel]
		o.Typ = b.Program.Type(b.n.Inputs[1])
		return &o
	}
	return b.in(1)
}

// weights are what a product or convolution multiplies by: an operand whose columns may be scaled first.
type weights[T block.Float] struct {
	b     *build
	o     *plan.Operand
	kept  *form         // form in which they may be kept, or nil
	scale *plan.Operand // one number for each column, or nil
	own   *plan.Operand // memory for the scaled weights
	fill  func()        // scales o into own
}

// weightsOf returns the unit's weights. o is what kernel returned.
func weightsOf[T block.Float](b *build, o *plan.Operand, kept *form) *weights[T] {
	w := &weights[T]{b: b, o: o, kept: kept}
	if e := b.u.Fused; e != nil && e.Scale >= 0 {
		w.scale, w.own = &b.Operands[e.Scale], b.scratch(o.Typ.DType, o.N)
		columns := max(o.Typ.Shape[len(o.Typ.Shape)-1], 1) // none: nothing to scale
		w.fill = b.rt().parallel(o.N/columns, grain(columns/4), func(_ *worker, lo, hi int) {
			by := plan.Data[T](w.scale)[:columns]
			for i := lo; i < hi; i++ {
				vec.Mul(plan.Data[T](w.own)[i*columns:(i+1)*columns], plan.Data[T](o)[i*columns:(i+1)*columns], by)
			}
		})
	}
	return w
}

// read returns the weights of this run, packed or as stored.
func (w *weights[T]) read() (values []T, packed bool) {
	p := w.b.rt().pool
	if w.scale == nil {
		if panels := panelsOf[T](w.kept, w.o, p); panels != nil {
			return panels, true
		}
		return plan.Data[T](w.o), false
	}
	if f := w.kept; f != nil {
		panels := w.scaled(gemm.Layout[T](), gemm.PackedSize[T](f.n, f.k), func(panels []T) {
			w.fill()
			gemm.PackB(p, panels, plan.Data[T](w.own), f.k, f.n, f.ld, f.trans)
		})
		if panels != nil {
			return panels, true
		}
	}
	w.fill()
	return plan.Data[T](w.own), false
}

// scaled returns the scaled weights that the buffer keeps, or nil. fill writes them, size elements.
func (w *weights[T]) scaled(layout tile.Layout, size int, fill func(memory []T)) []T {
	b := ownBuffer(w.o)
	if b == nil || w.kept == nil {
		return nil
	}
	version, ok := b.steady()
	if !ok {
		return nil
	}
	columns := w.o.Typ.Shape[len(w.o.Typ.Shape)-1]
	by := plan.BytesAt(w.scale.Ptr(), columns*w.kept.size)
	return elementsOf[T](b.scaled.of(w.kept, layout, version, by, size*w.kept.size, func(memory []byte) { fill(elementsOf[T](memory)) }))
}

// scaledPanels holds the contents of a buffer, scaled column by column, in the form that a program that predicts reads.
// The scale depends on other variables, so it is compared with the one used before. Other programs may read with
// another scale at the same time, so new panels get new memory.
type scaledPanels struct {
	current atomic.Pointer[scaledCopy]

	mu    sync.Mutex
	asked scaledCopy // what was requested last, without memory
}

// scaledCopy is immutable.
type scaledCopy struct {
	form    form
	layout  tile.Layout
	version uint64 // of the buffer's contents
	by      []byte // the scale
	memory  []byte
}

func (c *scaledCopy) is(f *form, layout tile.Layout, version uint64, by []byte) bool {
	return c.version == version && c.form == *f && c.layout == layout && slices.Equal(c.by, by)
}

// of returns the memory of the panels, or nil. fill writes them when they are requested twice in a row.
func (s *scaledPanels) of(f *form, layout tile.Layout, version uint64, by []byte, size int, fill func(memory []byte)) []byte {
	if c := s.current.Load(); c != nil && c.is(f, layout, version, by) {
		return c.memory
	}
	if !s.mu.TryLock() {
		return nil // another product is writing them
	}
	defer s.mu.Unlock()
	if !s.asked.is(f, layout, version, by) {
		s.asked = scaledCopy{form: *f, layout: layout, version: version, by: append(s.asked.by[:0], by...)}
		return nil
	}
	c := s.asked
	c.by, c.memory = slices.Clone(by), plan.AlignedBytes(size)
	fill(c.memory)
	s.current.Store(&c)
	return c.memory
}

// free drops the memory.
func (s *scaledPanels) free() { s.current.Store(nil) }
