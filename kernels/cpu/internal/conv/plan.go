package conv

import "github.com/gokeras/gokeras/kernels/cpu/internal/micro"

// Plan is a forward convolution with everything that follows from its shape computed in advance. The convolutions of
// small images take a few microseconds, so a run should do little besides the products.
type Plan[T Float] struct {
	shape    Shape
	geometry correlation[T] // without memory
	chunks   int
	direct   bool // geometry is all that Run needs
	pools    bool // RunPooled works
	framed   bool // Run copies the image with zeros around it

	padded *Plan[T] // with the padding as part of the input, if RunPooled works only then
}

// NewPlan makes the plan of a shape.
func NewPlan[T Float](s *Shape) *Plan[T] {
	p := &Plan[T]{shape: s.checked(ofForward)}
	p.shape.Remember()
	var local decisions
	d := decisionsOf[T](&p.shape, ofForward, &local)
	p.direct = d.way == wayTiles && !spreads[T](&p.shape) && !isWideForward[T](&p.shape) && copiesScratch[T](&p.shape, 1) == 0
	same := p.shape.In == s.In // no axis became channels, see covered.go
	if p.direct {
		p.geometry.forward(&p.shape)
		p.chunks, _ = p.geometry.cut(1)
		p.framed = d.frame.on()
		p.pools = same && p.chunks > 0 && min(p.geometry.outs[1], p.geometry.outs[2]) >= 2 && p.geometry.seesAll() && p.shape.Groups == 1 && p.shape.InChannels > 0
	}
	if p.direct && !p.pools && same {
		p.padded = p.withPadding()
	}
	return p
}

// withPadding returns the plan for inputs that include their padding, or nil if that plan cannot pool.
func (p *Plan[T]) withPadding() *Plan[T] {
	s := p.shape
	for i := 1; i < 3; i++ {
		if s.PadLow[i] < 0 || s.PadHigh[i] < 0 {
			return nil
		}
		s.In[i] += s.PadLow[i] + s.PadHigh[i]
		s.PadLow[i], s.PadHigh[i] = 0, 0
	}
	if s.In == p.shape.In {
		return nil
	}
	if q := NewPlan[T](&s); q.pools {
		return q
	}
	return nil
}

// pad copies an image with zeros around it.
func (p *Plan[T]) pad(dst, x []T) {
	s := &p.shape
	row := s.In[2] * s.InChannels
	low, high := s.PadLow[2]*s.InChannels, s.PadHigh[2]*s.InChannels
	at := s.PadLow[1] * (low + row + high)
	clear(dst[:at])
	for i := range s.In[1] {
		line := dst[at : at+low+row+high]
		clear(line[:low])
		copy(line[low:], x[i*row:(i+1)*row])
		clear(line[low+row:])
		at += len(line)
	}
	clear(dst[at:])
}

// seesAll reports whether all outputs are in one plane and see the same taps, and what lies under a kernel row is
// contiguous.
func (c *correlation[T]) seesAll() bool {
	for i, spans := range c.spans {
		if len(spans) != 1 || spans[0].tap != 0 || spans[0].tapEnd != c.axes[i].taps {
			return false
		}
	}
	return c.batch == 1 && c.axes[0].out == 1 && c.axes[2].tapStep == 1
}

// Scratch returns the number of elements of scratch memory that Run and RunPooled need.
func (p *Plan[T]) Scratch() int {
	size := ForwardScratch[T](&p.shape, 1)
	if p.padded != nil {
		size += p.padded.shape.sizeX()
	}
	return size
}

// Run is [Forward], or [ForwardPacked] if packed is set, on the calling goroutine. A plan may run on several
// goroutines.
func (p *Plan[T]) Run(x, kernel, bias []T, relu bool, y, scratch []T, packed bool) {
	if !p.direct || p.framed {
		forward(nil, &p.shape, x, kernel, bias, relu, y, scratch, packed)
		return
	}
	c := p.geometry
	kernel = p.weights(kernel, scratch, packed)
	c.packed, c.kept = c.packed || packed, packed
	c.x, c.y, c.w, c.bias, c.relu = x, y, kernel, bias, relu
	c.Run(0, 0, p.chunks)
}

// weights returns the kernel in the layout that the plan reads.
func (p *Plan[T]) weights(kernel, scratch []T, packed bool) []T {
	if packed || !p.geometry.packed {
		return kernel
	}
	panels, _ := packKernel(nil, &p.shape, p.geometry.lanes, 0, kernel, scratch)
	return panels
}

// RunPooled is Run followed by 2x2 max pooling with stride 2, which leaves out an odd last row and column. It does not
// store the unpooled result. If the plan cannot do that, RunPooled returns false and has done nothing.
func (p *Plan[T]) RunPooled(x, kernel, bias []T, relu bool, pooled, scratch []T, packed bool) bool {
	if !micro.HasPooled[T]() || !p.pools && p.padded == nil {
		return false
	}
	if !p.pools {
		n := p.padded.shape.sizeX()
		p.pad(scratch[:n], x)
		return p.padded.RunPooled(scratch[:n], kernel, bias, relu, pooled, scratch[n:], packed)
	}
	g, ax := &p.geometry, &p.geometry.axes
	kernel = p.weights(kernel, scratch, packed)
	in := *g // a copy, since the plan may be in use elsewhere
	in.w, in.packed, in.kept = kernel, g.packed || packed, packed
	width, rowX := micro.PanelWidth[T](), ax[2].in*g.in
	t := micro.Tile[T]{Rows: g.outs[2] / 2, K: ax[2].taps * g.in, Segments: ax[1].taps, Outer: ax[0].taps, ReLU: relu,
		ARow: ax[2].inStep * g.in, AK: 1, ASegment: ax[1].tapStep * rowX, AOuter: ax[0].tapStep * g.planeX(), ALine: ax[1].inStep * rowX,
		CRow: g.out, CLine: g.outs[2] / 2 * g.out}
	start := ax[0].inOffset*g.planeX() + ax[1].inOffset*rowX + ax[2].inOffset*g.in
	lines := g.outs[1] / 2
	for line := 0; line < lines; line += t.Lines {
		t.Lines = min(max(g.block/2, 1), lines-line)
		t.A = x[start+2*line*t.ALine:]
		for col := 0; col < g.out; col += width {
			t.Cols, t.C = min(width, g.out-col), pooled[line*t.CLine+col:]
			t.B, t.BK = in.weights(0, col)
			t.BSegment, t.BOuter = ax[2].taps*g.in*t.BK, ax[1].taps*ax[2].taps*g.in*t.BK
			if bias != nil {
				t.Bias = bias[col:]
			}
			if !micro.RunPooled(&t) { // of a kernel in panels, and of whole panels read in place, it reads nothing but them
				panic("conv: no kernel for a pooled tile")
			}
		}
	}
	return true
}
