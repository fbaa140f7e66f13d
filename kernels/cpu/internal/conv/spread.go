package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// If a group has few outputs, they fill no vector, or one and a little of the next. Where the stride along the width is
// 1, the taps along the width become columns too. For each pixel of a row of the input, the products with the weights
// of all these taps are summed over channels and the other axes. Then each output adds up the sums that it sees:
//
//	z[i, t, c] = Σ_{td, th, k} x[td, th, i, k] · w[td, th, t, k, c]      y[j, c] = Σ_t z[j + t, t, c]
//
// Examples are the last layer of a network that makes images, and convolutions in groups of many inputs and few
// outputs. Only float32 is computed this way.

const (
	spreadSums  = 1 << 14 // sums z in memory at a time: a part of the second-level cache
	spreadLeast = 32      // fewest outputs of a piece of a row that is cut up
	spreadOrder = 24      // half cycles to reorder a row of the kernel, in each call
	spreadAdd   = 3       // half cycles to load, add and store a vector of the sums of one tap,
	spreadRow   = 20      // and half cycles of overhead for an output

	spreadJoined = 3 // outputs of a group from which on joined images are better, with vectors of 16 numbers
)

// spread is the geometry of a correlation whose taps become columns.
type spread struct {
	columns int // of z for each pixel; 0: the taps do not become columns
	outputs int // of a piece of a row
	pixels  int // most pixels that such a piece sees
	lines   int // rows of outputs that are computed at a time
	local   int // scratch memory of a worker
}

// setSpread decides whether the taps become columns. It ignores the batch and the height, because they must not change
// bits and images may come in bands of rows. It takes images to be square.
func (c *correlation[T]) setSpread() {
	if c.spread = (spread{}); single[T]() {
		setSpread((*correlation[float32])(unsafe.Pointer(c)))
	}
}

// setSpreadBackward decides the same for an input gradient, whose bits may depend on the batch. Weights that fill
// vectors are better read once for several images than once for each image of few pixels.
func (c *correlation[T]) setSpreadBackward() {
	c.setSpread()
	least := micro.PadColumns[T](1)
	if least == 16 {
		least = spreadJoined
	}
	if c.spread.columns > 0 && c.outGroup >= least && c.batch >= joinLeast {
		c.cutSpans()
		if c.joinsShort() {
			c.spread = spread{}
		}
	}
}

func setSpread(c *correlation[float32]) {
	ax, lanes := &c.axes[2], micro.PadColumns[float32](1)
	if lanes == 1 || c.depthwise || c.lanes > 0 || c.pairs || ax.taps < 2 || ax.inStep != 1 || c.inGroup == 0 || c.outGroup == 0 || ax.out == 0 {
		return
	}
	low, high := ax.seen(0, ax.out)
	if low >= high {
		return
	}
	s := spread{columns: ax.taps * c.outGroup, outputs: ax.out, lines: 1}
	k, reach, vectors := c.axes[0].taps*c.axes[1].taps*c.inGroup, (ax.taps-1)*ax.tapStep, ceil(c.outGroup, lanes)
	plain := ax.out * ax.taps * k * vectors
	mine := (high-low)*k*ceil(s.columns, lanes) + ax.out*(spreadAdd*(ax.taps+1)*vectors+spreadRow)
	outputs := ax.out
	if c.axes[1].taps > 1 {
		outputs *= ax.out
	}
	if 10*mine > 8*plain || outputs*(plain-mine)/plain*vectors < spreadOrder || !bySpreads.Taken() {
		return
	}
	if most := max(spreadSums/s.columns-reach, spreadLeast); most < ax.out {
		s.outputs = even(ax.out, most)
	}
	if s.pixels = min(s.outputs+reach, ax.in); s.outputs == ax.out {
		s.lines = max(spreadSums/(s.columns*s.pixels), 1)
	}
	// Ones, the bias of a group, z, and the outputs if they fill no vector.
	narrow := micro.NarrowChannels[float32]()
	s.local = 2*max(c.outGroup, narrow) + s.lines*(s.pixels*s.columns+s.outputs*narrow) + narrow
	if s.pays(c) {
		c.spread = s
	}
}

// seen returns the run of inputs that the outputs [first, end) see, with the gaps in between.
func (a *axis) seen(first, end int) (low, high int) {
	return max(first*a.inStep+a.inOffset, 0), min((end-1)*a.inStep+a.inOffset+(a.taps-1)*a.tapStep+1, a.in)
}

// spreadRows computes the rows [first, end) at depth d of image n; td is the first tap along the depth.
func spreadRows(c *correlation[float32], worker, n, d, first, end int) {
	td, tdEnd := c.axes[0].inside(d)
	size := c.spread.local
	b := spreadBlock{local: c.local[worker*size : (worker+1)*size], n: n, d: d, td: td, tdEnd: tdEnd}
	b.ones = b.local[:max(c.outGroup, micro.NarrowChannels[float32]())]
	for i := range b.ones {
		b.ones[i] = 1
	}
	b.local = b.local[len(b.ones):]
	for g := range c.groups {
		if b.g, b.bias = g, nil; c.bias != nil {
			b.bias = b.local[:len(b.ones)]
			copy(b.bias, c.bias[g*c.outGroup:(g+1)*c.outGroup])
			clear(b.bias[c.outGroup:])
		}
		for _, h := range c.spans[1] {
			if h.first, h.end = max(h.first, first), min(h.end, end); h.first >= h.end {
				continue
			}
			if h.tap == h.tapEnd || td == tdEnd {
				spreadWithoutInput(c, g, n, d, h, span{0, c.axes[2].out, 0, 0})
				continue
			}
			for at := 0; at < c.axes[2].out; at += c.spread.outputs {
				for line := h.first; line < h.end; line += c.spread.lines {
					computeSpread(c, &b, span{line, min(line+c.spread.lines, h.end), h.tap, h.tapEnd}, at, min(at+c.spread.outputs, c.axes[2].out))
				}
			}
		}
	}
}

// spreadBlock is a set of rows of a plane while they are computed.
type spreadBlock struct {
	local, ones, bias []float32
	n, d, td, tdEnd   int
	g                 int
}

// spreadWithoutInput computes outputs of the group that see nothing of the input.
func spreadWithoutInput(c *correlation[float32], g, n, d int, h, w span) {
	for col := 0; col < c.outGroup; col += micro.PanelWidth[float32]() {
		c.rectangle(n, d, h, w, g, col, min(micro.PanelWidth[float32](), c.outGroup-col), whole)
	}
}

// computeSpread computes the outputs [at, end) of each row of a span along the height.
func computeSpread(c *correlation[float32], b *spreadBlock, h span, at, end int) {
	ax, columns, width, sums := &c.axes, c.spread.columns, micro.PanelWidth[float32](), c.axes[0].taps*c.axes[1].taps*c.inGroup
	low, high := ax[2].seen(at, end)
	lines, pixels, rowX := h.end-h.first, high-low, ax[2].in*c.in
	z := b.local[len(b.ones):][:lines*max(pixels, 0)*columns+micro.NarrowChannels[float32]()]
	if pixels > 0 {
		clear(z[len(z)-micro.NarrowChannels[float32]():])
		t := micro.Tile[float32]{Rows: pixels, ARow: c.in, CRow: columns, K: c.inGroup, AK: 1, Lines: lines, ALine: ax[1].inStep * rowX, CLine: pixels * columns,
			Segments: h.tapEnd - h.tap, ASegment: ax[1].tapStep * rowX, Outer: b.tdEnd - b.td, AOuter: ax[0].tapStep * c.planeX()}
		if t.ALine == pixels*c.in {
			t.Rows, t.Lines = pixels*lines, 1
		}
		t.A = c.x[(b.n*ax[0].in+b.d*ax[0].inStep+ax[0].inOffset+b.td*ax[0].tapStep)*c.planeX()+
			(h.first*ax[1].inStep+ax[1].inOffset+h.tap*ax[1].tapStep)*rowX+low*c.in+b.g*c.inGroup:]
		group := c.w[b.g*micro.PadColumns[float32](columns)*sums:]
		for col := 0; col < columns; col += width {
			t.Cols, t.BK, t.C = min(width, columns-col), min(micro.PadColumns[float32](columns-col), width), z[col:]
			t.BSegment, t.BOuter = c.inGroup*t.BK, ax[1].taps*c.inGroup*t.BK
			t.B = group[col*sums+(b.td*ax[1].taps+h.tap)*t.BSegment:]
			micro.Run(&t)
		}
	}
	for _, w := range c.spans[2] {
		if w.first, w.end = max(w.first, at), min(w.end, end); w.first >= w.end {
			continue
		}
		if w.tap == w.tapEnd {
			spreadWithoutInput(c, b.g, b.n, b.d, h, w)
			continue
		}
		addSpread(c, b, z, h, w, pixels*columns, w.first+ax[2].inOffset+w.tap*ax[2].tapStep-low)
	}
}

// addSpread adds up, for the outputs of two spans, what they see of z, from a pixel on. line is the elements of a row
// of z.
func addSpread(c *correlation[float32], b *spreadBlock, z []float32, h, w span, line, pixel int) {
	ax, columns, narrow := &c.axes, c.spread.columns, micro.NarrowChannels[float32]()
	rowY := c.outs[2] * c.out
	y := c.y[((b.n*c.outs[0]+ax[0].outStart+b.d*ax[0].outStep)*c.outs[1]+ax[1].outStart+h.first*ax[1].outStep)*rowY+
		(ax[2].outStart+w.first*ax[2].outStep)*c.out+b.g*c.outGroup:]
	t := micro.Tile[float32]{Rows: w.end - w.first, Cols: c.outGroup, K: w.tapEnd - w.tap, Segments: 1, Outer: 1, Lines: h.end - h.first,
		A: z[pixel*columns+w.tap*c.outGroup:], ARow: columns, AK: ax[2].tapStep*columns + c.outGroup, ALine: line,
		B: b.ones, Bias: b.bias, ReLU: c.relu, C: y, CRow: ax[2].outStep * c.out, CLine: ax[1].outStep * rowY}
	if c.outGroup >= narrow {
		if fill(t.Lines) > fill(t.Rows) {
			t.Rows, t.ARow, t.CRow, t.Lines, t.ALine, t.CLine = t.Lines, t.ALine, t.CLine, t.Rows, t.ARow, t.CRow
		}
		micro.RunChannels(&t)
		return
	}
	rows, lines := t.Rows, t.Lines
	full := b.local[len(b.local)-c.spread.lines*c.spread.outputs*narrow:]
	t.Cols, t.C, t.CRow, t.CLine = narrow, full, narrow, rows*narrow
	micro.RunChannels(&t)
	for i := range lines {
		to := y[i*ax[1].outStep*rowY:]
		for range rows {
			copy(to, full[:c.outGroup])
			full, to = full[narrow:], to[min(ax[2].outStep*c.out, len(to)):]
		}
	}
}

// spreadPanel packs columns of a group's kernel. Rows are (tap along the depth, along the height, input channel),
// columns (tap along the width, output channel); a row of the panel has width numbers.
func spreadPanel(k *packing[float32], dst []float32, g, col, cols, width int) {
	s := &k.shape
	inGroup, outGroup := s.InChannels/s.Groups, s.OutChannels/s.Groups
	taps := s.Kernel
	if k.flip {
		for i := range taps {
			taps[i] = k.phases[i].axis.taps
		}
	}
	from, to, step := inGroup, outGroup, 1 // rows and columns of a tap, and the distance between columns
	if k.flip {
		from, to, step = outGroup, inGroup, s.OutChannels
	}
	if cols < width {
		clear(dst)
	}
	for i := range taps[0] * taps[1] {
		rows := dst[i*from*width : (i+1)*from*width]
		for at := 0; at < cols; {
			w, first := (col+at)/to, (col+at)%to
			n := min(to-first, cols-at)
			d, h, last := i/taps[1], i%taps[1], w
			if k.flip {
				d, h, last = k.tap(0, d), k.tap(1, h), k.tap(2, w)
			}
			tap := k.kernel[((d*s.Kernel[1]+h)*s.Kernel[2]+last)*inGroup*s.OutChannels+g*outGroup+first*step:]
			if k.flip {
				micro.Transpose(rows[at:], tap, n, from, width, s.OutChannels)
			} else {
				for r := range from {
					copy(rows[r*width+at:][:n], tap[r*s.OutChannels:])
				}
			}
			at += n
		}
	}
}

// spreadScratch is the scratch memory of the workers for a forward convolution.
func spreadScratch[T Float](s *Shape, workers int) int {
	if !single[T]() {
		return 0
	}
	c := getCorrelation[float32]()
	c.forward(s)
	size := c.spread.local
	putCorrelation(c)
	return size * max(workers, 1)
}

// single reports whether T is float32, the only type that can be spread.
func single[T Float]() bool {
	var zero T
	return unsafe.Sizeof(zero) == 4
}

// floats returns x, which must be float32.
func floats[T Float](x []T) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}

// spreads reports whether the forward convolution is computed this way.
func spreads[T Float](s *Shape) bool {
	if pads[T](s) {
		r := s.padded(1)
		return spreadScratch[T](&r, 1) > 0
	}
	return spreadScratch[T](s, 1) > 0
}

// spreadBackward is the scratch memory of a worker for an input gradient, in the phase that needs most.
func spreadBackward[T Float](s *Shape) int {
	if !single[T]() {
		return 0
	}
	c, out, size := getCorrelation[float32](), s.Out(), 0
	c.backward(s)
	c.outs = s.In
	for d := s.nextPhase(0, 0); d < s.phases(0); d = s.nextPhase(0, d+1) {
		for h := s.nextPhase(1, 0); h < s.phases(1); h = s.nextPhase(1, h+1) {
			for w := s.nextPhase(2, 0); w < s.phases(2); w = s.nextPhase(2, w+1) {
				for i, at := range [3]int{d, h, w} {
					p := s.backwardPhase(i, at, out)
					c.axes[i] = p.axis
				}
				c.setSpreadBackward()
				size = max(size, c.spread.local)
			}
		}
	}
	putCorrelation(c)
	return size
}
