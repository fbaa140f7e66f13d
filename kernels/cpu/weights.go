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

// form describes how a product reads a matrix in a buffer: k rows and n columns (stored n x k if trans). Stored rows
// are ld elements apart, and the first begins off bytes into the buffer.
type form struct {
	off, k, n, ld int
	trans         bool
	size          int // of an element in bytes
}

// panels is a matrix in a buffer, packed for the kernels. It stays with the buffer, so that all programs that only read
// the matrix, for batches of any size, share it.
//
// Panels exist for one form only: the first one that is requested twice for the same contents, or once for bytes.
// Weights that change at each step are therefore never copied, and weights that are kept take at most twice their
// memory. The exceptions are small 16-bit weights, which are kept in float32 (dot_half.go). Only tiles of the layout
// that the panels were packed for can read them.
type panels struct {
	holds atomic.Uint64 // version of the buffer's contents that memory holds; 0: none

	mu     sync.Mutex
	form   form
	layout tile.Layout
	asked  uint64 // version that was requested last
	memory []byte
}

const (
	keptMinElements = 1 << 12 // smaller matrices are not worth the memory
	keptMinHalves   = 1 << 8  // the same for 16 bits, which products would have to widen each time, and for 8 bits
	keptMinColumns  = 16      // fewer columns leave most of a panel empty
	keptMostBytes   = 1 << 19 // for 8-bit panels with fewer columns, which products can only read as panels
	keptPart        = 64      // one matrix may take this part of the machine's memory: one in 64
)

// worthKeeping reports whether it pays to keep the matrix in panels.
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

// changing marks a change of the contents. It is called before and after, so that a version read in between belongs to
// neither.
func (b *buffer) changing() { b.version.Add(1) }

// kept returns the form of an operand that may be kept in panels, or nil. The operand must be an input that no output
// replaces, such as weights in programs that predict, or the conversion of such an input to 16 bits.
func (b *build) kept(o *plan.Operand, f *form) *form {
	f.size = o.Typ.DType.Size()
	if !b.constant(o) || !f.worthKeeping() {
		return nil
	}
	return f
}

// constant reports whether the operand is in an input that no output replaces, or in a conversion of one.
func (b *build) constant(o *plan.Operand) bool {
	return o.Mem.Kind == plan.Kept || o.Mem.Kind == plan.InInput && !b.replaced(o.Mem.Index)
}

// panelsOf returns an operand in panels, or nil if they are not kept.
func panelsOf[T gemm.Float](f *form, o *plan.Operand, p *pool.Pool) []T {
	if f == nil {
		return nil
	}
	return inPanels[T](ownBuffer(o), f, p)
}

// inPanels returns the contents in panels, or nil if a product has to read them as stored. That is so if the memory is
// borrowed or known to others, and may change unnoticed, if another form is kept, or if it is not known yet whether the
// panels will be used again.
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

// spareForm is memory for a matrix in another form, for runs in which its buffer does not keep that form.
type spareForm struct {
	every *plan.Operand // nil: most buffers keep the form
	size  int
	own   []byte   // for buffers that do not
	rt    *runtime // if its memory serves instead of own
}

// spare returns size bytes of memory for a form. Unless kept is nil, most runs will not need it. A step does not share
// it.
func (b *build) spare(kept *form, size int) *spareForm {
	s := &spareForm{size: size}
	if kept == nil {
		s.every = b.scratch(ir.Uint8, size)
	}
	return s
}

// spareMatrix is spare for steps that need one such form. All steps share its memory.
func (b *build) spareMatrix(kept *form, size int) *spareForm {
	s := b.spare(kept, size)
	s.rt = b.rt()
	return s
}

// or returns the kept form, or else memory to write it to.
func (s *spareForm) or(kept []byte) (memory []byte, empty bool) {
	switch {
	case kept != nil:
		return kept, false
	case s.every != nil:
		return plan.Data[byte](s.every), true
	}
	rare := &s.own
	if s.rt != nil {
		rare = s.rt.spareMemory()
	}
	if len(*rare) < s.size {
		*rare = plan.AlignedBytes(s.size)
	}
	return (*rare)[:s.size], true
}

// elementsOf views memory as numbers. It returns nil for nil.
func elementsOf[T gemm.Float](memory []byte) []T {
	if memory == nil {
		return nil
	}
	var zero T
	return unsafe.Slice((*T)(plan.PointerTo(memory)), len(memory)/int(unsafe.Sizeof(zero)))
}

// steady returns the version of the contents. ok is false if they may change unnoticed, because the memory is borrowed
// or known to others.
func (b *buffer) steady() (version uint64, ok bool) {
	version = b.version.Load()
	return version, !b.borrowed && !b.exposed.Load()
}

// inForm returns the contents in one of the buffer's panels, or nil: see inPanels. fill writes them, size bytes.
func (b *buffer) inForm(k *panels, f *form, layout tile.Layout, size int, fill func(memory []byte)) []byte {
	version, ok := b.steady()
	if !ok || k.holds.Load() != version && !k.pack(f, layout, version, size, fill) || k.form != *f || k.layout != layout {
		return nil
	}
	return k.memory
}

// rowStride and colStride give the distances between rows and between columns of the matrix.
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

// pack lets fill write the panels of the given version, size bytes in the given layout. It reports whether they exist.
func (k *panels) pack(f *form, layout tile.Layout, version uint64, size int, fill func(memory []byte)) bool {
	if !k.mu.TryLock() {
		return false // another product is writing them
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

// ownBuffer returns the buffer that the operand, an input, is in, or nil if it is not one of this backend.
func ownBuffer(o *plan.Operand) *buffer {
	b, _ := o.Mem.Whose.(*buffer)
	return b
}
