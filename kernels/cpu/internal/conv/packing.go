package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// packing packs a kernel into panels for the vector operand of tiles.
type packing[T Float] struct {
	dst, kernel   []T
	rows, columns int // of one group; columns are cut into panels
	groups, out   int
	shape         Shape

	lanes  int      // if not 0, of the vectors that the kernel is packed for instead, see grouped.go
	flip   bool     // for the input gradient: rows are (tap of the phase, output channel), columns input channels
	phases [3]phase // if flip
	spread bool     // columns are (tap along the width, output), see spread.go
}

var (
	packings32 pool.Recycler[packing[float32]]
	packings64 pool.Recycler[packing[float64]]
)

func getPacking[T Float]() *packing[T] {
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		return (*packing[T])(unsafe.Pointer(packings32.Get()))
	}
	return (*packing[T])(unsafe.Pointer(packings64.Get()))
}

func putPacking[T Float](k *packing[T]) {
	k.dst, k.kernel = nil, nil
	var zero T
	if unsafe.Sizeof(zero) == 4 {
		packings32.Put((*packing[float32])(unsafe.Pointer(k)))
		return
	}
	packings64.Put((*packing[float64])(unsafe.Pointer(k)))
}

func (k *packing[T]) run(p *pool.Pool) {
	width := micro.PanelWidth[T]()
	if k.lanes > 0 {
		p.Parallel(k.groups*k.columns/k.lanes, max(1<<12/max(k.rows*k.lanes, 1), 1), k)
		return
	}
	p.Parallel(k.groups*ceil(k.columns, width), max(1<<14/max(k.rows*width, 1), 1), k)
}

// panelStep returns how many numbers a row has in the panel that begins at column col of a kernel with that many
// columns. The last panel is no wider than the vectors that its columns fill, so the weights of few outputs stay in
// near caches.
func panelStep[T Float](s *Shape, columns, col int) int {
	return min(packedColumns[T](s, columns)-col, micro.PanelWidth[T]())
}

// packedColumns returns how many numbers a row has in all panels together.
func packedColumns[T Float](s *Shape, columns int) int {
	if s.Pairs { // matrix registers read whole panels
		width := micro.PanelWidth[T]()
		return ceil(columns, width) * width
	}
	return micro.PadColumns[T](columns)
}

// size is the number of elements of a phase's kernel.
func (k *packing[T]) size() int {
	s := &k.shape
	switch {
	case s.depthwise():
		return k.rows * s.OutChannels
	case k.lanes > 0:
		return k.rows * k.groups * k.columns
	default:
		return k.rows * k.groups * packedColumns[T](s, k.columns)
	}
}

// Run packs panels.
func (k *packing[T]) Run(_, lo, hi int) {
	if k.lanes > 0 {
		for i := lo; i < hi; i++ {
			k.vector(i)
		}
		return
	}
	width := micro.PanelWidth[T]()
	panels := ceil(k.columns, width)
	for i := lo; i < hi; i++ {
		g, col := i/panels, i%panels*width
		step := panelStep[T](&k.shape, k.columns, col)
		dst := k.dst[(g*packedColumns[T](&k.shape, k.columns)+col)*k.rows:][:k.rows*step]
		cols := min(width, k.columns-col)
		if k.spread {
			spreadPanel((*packing[float32])(unsafe.Pointer(k)), floats(dst), g, col, cols, step)
		} else if k.flip {
			k.flipped(dst, g, col, cols, step)
		} else {
			micro.PackRows(dst, k.kernel[g*k.columns+col:], k.rows, cols, step, k.out, 1)
		}
	}
}

// flipped packs the taps of a phase, the kernel's last tap first.
func (k *packing[T]) flipped(dst []T, g, col, cols, step int) {
	s := &k.shape
	inGroup, outGroup := s.InChannels/s.Groups, s.OutChannels/s.Groups
	size := outGroup * step
	at := 0
	for d := range k.phases[0].axis.taps {
		for h := range k.phases[1].axis.taps {
			for w := range k.phases[2].axis.taps {
				tap := (k.tap(0, d)*s.Kernel[1]+k.tap(1, h))*s.Kernel[2] + k.tap(2, w)
				src := k.kernel[(tap*inGroup+col)*s.OutChannels+g*outGroup:]
				micro.PackRows(dst[at:at+size], src, outGroup, cols, step, 1, s.OutChannels)
				at += size
			}
		}
	}
}

// tap returns the kernel's tap that is tap t of the phase of axis i.
func (k *packing[T]) tap(i, t int) int { return k.phases[i].last - t*k.phases[i].step }

// flippedChannels reorders a depthwise kernel [taps, channels] for the phase.
func (k *packing[T]) flippedChannels() {
	s := &k.shape
	at := 0
	for d := range k.phases[0].axis.taps {
		for h := range k.phases[1].axis.taps {
			for w := range k.phases[2].axis.taps {
				tap := (k.tap(0, d)*s.Kernel[1]+k.tap(1, h))*s.Kernel[2] + k.tap(2, w)
				at += copy(k.dst[at:at+s.OutChannels], k.kernel[tap*s.OutChannels:])
			}
		}
	}
}

// arrange sets the rows and columns of a kernel with the given taps, and inputs and outputs of a group. spread is the
// columns of a spread, or 0.
func (k *packing[T]) arrange(taps [3]int, in, out, spread int) {
	k.rows, k.columns, k.spread = taps[0]*taps[1]*in, out, spread > 0
	if k.spread {
		k.columns = spread
		return
	}
	k.rows *= taps[2]
}
