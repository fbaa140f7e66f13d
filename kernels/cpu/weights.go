package cpu

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/ir"
)

// form is how a product reads a matrix that lies in a buffer: k rows and n columns (stored n x k if trans), ld elements
// from one stored row to the next, the first off bytes into the buffer.
type form struct {
	off, k, n, ld int
	trans         bool
	size          int // of an element in bytes
}

// panels are a matrix of a buffer in the layout of the kernels. They stay with the buffer, so that all programs that
// only read it, for batches of any size, use the same copy.
//
// They are made for one form, the first that asks twice for the same contents, or once for bytes: weights that change
// with each step are never copied, and those that are kept take their memory twice, not more, but for small ones of 16
// bits, which are kept in float32 (dot_half.go). They are read by tiles of the layout they were made for, and by no
// others.
type panels struct {
	holds atomic.Uint64 // the version of the buffer's contents that memory holds; 0: none

	mu     sync.Mutex
	form   form
	layout tile.Layout
	asked  uint64 // the version that was last asked for
	memory []byte
}

const (
	keptMinElements = 1 << 12 // smaller matrices are not worth the memory
	keptMinHalves   = 1 << 8  // nor are smaller ones of 16 bits, which products would have to widen each time, or of 8
	keptMinColumns  = 16      // fewer leave most of a panel empty
	keptMostBytes   = 1 << 19 // of panels with fewer columns, of 8 bits, which products read as nothing but panels
	keptPart        = 64      // of the machine's memory, one matrix may take one part
)

// worthKeeping reports whether the matrix gains from being kept in panels.
func (f *form) worthKeeping() bool {
	least := keptMinElements
	switch f.size {
	case 1:
		if f.n < keptMinColumns && quant.PackedSize(f.k, f.n) <= keptMostBytes {
			return f.k*f.n > 0
		}
		fallthrough
	case 2:
		least = keptMinHalves
	}
	return f.n >= keptMinColumns && f.k*f.n >= least && f.k*f.n*f.size <= memory.Limit()/keptPart
}

// changing notes that the contents change; it is called before and after, so that what reads them in between is not
// taken for either.
func (b *buffer) changing() { b.version.Add(1) }

// kept returns the form of an operand that may be kept in panels, or nil: it must be an input that no output replaces,
// as weights are in programs that predict, or such an input in 16 bits.
func (b *build) kept(o *plan.Operand, f *form) *form {
	f.size = o.Typ.DType.Size()
	if !b.constant(o) || !f.worthKeeping() {
		return nil
	}
	return f
}

// constant reports whether the operand is in an input that no output replaces, or in the conversion of one.
func (b *build) constant(o *plan.Operand) bool {
	return o.Mem.Kind == plan.Kept || o.Mem.Kind == plan.InInput && !b.replaced(o.Mem.Index)
}

// panelsOf returns an operand in panels, or nil where it is not kept in them.
func panelsOf[T gemm.Float](f *form, o *plan.Operand, p *pool.Pool) []T {
	if f == nil {
		return nil
	}
	return inPanels[T](ownBuffer(o), f, p)
}

// inPanels returns the contents in panels, or nil where a product has to read them as they are: because the memory is
// the caller's or known to others, so that it may change unseen, because another form is kept, or because they may be
// of no further use.
func inPanels[T gemm.Float](b *buffer, f *form, p *pool.Pool) []T {
	if b == nil {
		return nil
	}
	memory := b.inForm(&b.panels, f, gemm.Layout[T](), gemm.PackedSize[T](f.n, f.k)*f.size, func(memory []byte) {
		src := unsafe.Slice((*T)(plan.PointerTo(b.own)), len(b.own)/f.size)
		gemm.PackB(p, elementsOf[T](memory), src[f.off/f.size:], f.k, f.n, f.ld, f.trans)
	})
	return elementsOf[T](memory)
}

// inBytePanels is inPanels for int8.
func inBytePanels(b *buffer, f *form, p *pool.Pool) []byte {
	if b == nil || f == nil {
		return nil
	}
	return b.inForm(&b.panels, f, quant.Layout(), quant.PackedSize(f.k, f.n), func(memory []byte) {
		quant.Pack(p, memory, unsafe.Slice((*int8)(plan.PointerTo(b.own)), len(b.own))[f.off:], f.k, f.n, f.rowStride(), f.colStride())
	})
}

// spareForm is memory for a matrix in another form where its buffer does not keep it.
type spareForm struct {
	every *plan.Operand // nil: most buffers keep it
	size  int
	rare  *[]byte // for the others
}

// spare returns memory of so many bytes for a form that is kept, unless it is nil. A step has it to itself.
func (b *build) spare(kept *form, size int) *spareForm {
	s := &spareForm{size: size, rare: new([]byte)}
	if kept == nil {
		s.every = b.scratch(ir.Uint8, size)
	}
	return s
}

// spareMatrix is spare of which a step takes one: all steps take the same memory.
func (b *build) spareMatrix(kept *form, size int) *spareForm {
	s := b.spare(kept, size)
	s.rare = &b.rt().spare
	return s
}

// or returns the kept form; or, where there is none, memory that it is to be written to.
func (s *spareForm) or(kept []byte) (memory []byte, empty bool) {
	switch {
	case kept != nil:
		return kept, false
	case s.every != nil:
		return plan.Data[byte](s.every), true
	case len(*s.rare) < s.size:
		*s.rare = plan.AlignedBytes(s.size)
	}
	return (*s.rare)[:s.size], true
}

// elementsOf views memory as numbers; none if there is no memory.
func elementsOf[T gemm.Float](memory []byte) []T {
	if memory == nil {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(plan.PointerTo(memory)), len(memory)/int(unsafe.Sizeof(zero)))
}

// steady returns the version of the contents; ok is false if they may change unseen, since the memory is the caller's
// or known to others.
func (b *buffer) steady() (version uint64, ok bool) {
	version = b.version.Load()
	return version, !b.borrowed && !b.exposed.Load()
}

// inForm returns the contents in one of the buffer's panels, size bytes that fill writes, or nil: see inPanels.
func (b *buffer) inForm(k *panels, f *form, layout tile.Layout, size int, fill func(memory []byte)) []byte {
	version, ok := b.steady()
	if !ok || k.holds.Load() != version && !k.pack(f, layout, version, size, fill) || k.form != *f || k.layout != layout {
		return nil
	}
	return k.memory
}

// rowStride and colStride say where the element (row, col) of the matrix lies.
func (f *form) rowStride() int {
	if f.trans {
		return 1
	}
	return f.ld
}

func (f *form) colStride() int {
	if f.trans {
		return f.ld
	}
	return 1
}

// pack lets fill write the panels of the given version into size bytes, in a layout; it reports whether they exist.
func (k *panels) pack(f *form, layout tile.Layout, version uint64, size int, fill func(memory []byte)) bool {
	if !k.mu.TryLock() {
		return false // another product makes them
	}
	defer k.mu.Unlock()
	if k.holds.Load() == version {
		return true
	}
	if k.memory != nil && (k.form != *f || k.layout != layout) {
		return false
	}
	if k.asked != version && f.size > 1 { // bytes are not trained
		k.asked = version
		return false
	}
	k.holds.Store(0)
	if k.memory == nil {
		k.form, k.layout, k.memory = *f, layout, plan.AlignedBytes(size)
	}
	fill(k.memory)
	k.holds.Store(version)
	return true
}

// ownBuffer returns the buffer of this backend that the operand, an input, lies in, or nil.
func ownBuffer(o *plan.Operand) *buffer {
	b, _ := o.Mem.Whose.(*buffer)
	return b
}
