package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// window holds the lengths of a convolution. Convolutions are contractions that read their elements in place, without
// copies.
type window struct {
	ir.ConvAttrs
	x, y, kernel ir.Shape // (batch, axes..., channels) for x and y, (axes..., channels of a group, channels) for kernel
	spatial      int
	in, out      int // channels per group
}

func newWindow(a ir.ConvAttrs, x, kernel, y ir.Shape) window {
	w := window{ConvAttrs: a, x: x, y: y, kernel: kernel, spatial: len(x) - 2}
	w.Groups = max(w.Groups, 1)
	w.in, w.out = x[len(x)-1]/w.Groups, y[len(y)-1]/w.Groups
	return w
}

func (w window) dilation(i int) int {
	if len(w.Dilation) == 0 {
		return 1
	}
	return w.Dilation[i]
}

func (w window) taps() ir.Shape { return w.kernel[:w.spatial] }

// joinWindow adds the coordinates of the outer and the inner index, each in the order batch or channel, then axes, and
// checks that they are within lengths.
func (g *gen) joinWindow(lengths, strides []int, outer, inner []ptx.Operand) (number, valid ptx.Operand) {
	number = g.add(outer[0], inner[0])
	for i, length := range lengths {
		at := g.mov(ptx.B32, g.add(outer[i+1], inner[i+1]))
		in := g.compare("lt", "u32", at, ptx.Int32(int64(length)))
		if valid.IsZero() {
			valid = in
		} else {
			valid = g.both(valid, in)
		}
		number = g.add(number, g.times(at, strides[i]))
	}
	return number, valid
}

// conv is the contraction that computes a convolution: rows are positions of the result, columns its channels, and k
// runs over kernel positions and input channels.
func (g *gen) conv(n *ir.Node) contraction {
	w := newWindow(n.Attrs.(ir.ConvAttrs), g.p.Type(n.Inputs[0]).Shape, g.p.Type(n.Inputs[1]).Shape, g.p.Type(n.Outputs[0]).Shape)
	strides := w.x.Strides()
	c := contraction{batch: w.Groups, m: w.y[:w.spatial+1].Size(), n: w.out, k: w.taps().Size() * w.in}
	c.a = side{
		value: n.Inputs[0],
		outer: func(b, m ptx.Operand) []ptx.Operand {
			at := g.decompose(m, w.y[:w.spatial+1])
			s := []ptx.Operand{g.add(g.times(at[0], strides[0]), g.times(b, w.in))}
			for i, o := range at[1:] {
				s = append(s, g.sub(g.times(o, w.Strides[i]), ptx.Int32(int64(w.PadLow[i]))))
			}
			return s
		},
		inner: func(k ptx.Operand) []ptx.Operand {
			at := g.decompose(k, append(w.taps().Clone(), w.in))
			s := []ptx.Operand{at[w.spatial]}
			for i, tap := range at[:w.spatial] {
				s = append(s, g.times(tap, w.dilation(i)))
			}
			return s
		},
		join: func(outer, inner []ptx.Operand) (ptx.Operand, ptx.Operand) {
			return g.joinWindow(w.x[1:w.spatial+1], strides[1:], outer, inner)
		},
		fast: true,
		run:  common(w.in, strides[w.spatial]),
	}
	c.b = g.channelSide(n.Inputs[1], w.kernel[w.spatial+1], w.out)
	c.number = g.channelNumber(w.y[w.spatial+1], w.out)
	c.convolution = w.call(n.Op)
	if w.pointwise() {
		c.dense = &Product{M: c.m, N: c.n, K: c.k, Batch: 1, A: Matrix{Stride: w.in}, B: Matrix{Stride: w.out}}
	}
	return c
}

// pointwise reports whether each position of the result depends on one position of the input: a matrix product.
func (w window) pointwise() bool {
	for i := range w.spatial {
		if w.kernel[i] != 1 || w.PadLow[i] != 0 || w.PadHigh[i] != 0 || w.Strides[i] != 1 {
			return false
		}
	}
	return w.Groups == 1
}

// channelSide is an operand indexed by k, which runs over some axes, and by the channels of a group.
func (g *gen) channelSide(v ir.Value, channels, group int) side {
	return side{
		value: v,
		outer: func(b, n ptx.Operand) []ptx.Operand { return []ptx.Operand{g.add(g.times(b, group), n)} },
		inner: func(k ptx.Operand) []ptx.Operand { return []ptx.Operand{g.times(k, channels)} },
		join: func(outer, inner []ptx.Operand) (ptx.Operand, ptx.Operand) {
			return g.add(outer[0], inner[0]), ptx.Operand{}
		},
		run: common(group, channels),
	}
}

func (g *gen) channelNumber(channels, group int) func(b, m, n ptx.Operand) ptx.Operand {
	return func(b, m, n ptx.Operand) ptx.Operand {
		return g.add(g.add(g.times(m, channels), g.times(b, group)), n)
	}
}

// convInputGrad: rows are positions of the input, columns its channels, and k runs over kernel positions and output
// channels.
func (g *gen) convInputGrad(n *ir.Node) contraction {
	a := n.Attrs.(ir.ConvGradAttrs)
	w := newWindow(a.Conv, a.Shape, g.p.Type(n.Inputs[1]).Shape, g.p.Type(n.Inputs[0]).Shape)
	strides := w.y.Strides()
	c := contraction{batch: w.Groups, m: w.x[:w.spatial+1].Size(), n: w.in, k: w.taps().Size() * w.out}
	c.a = side{
		value: n.Inputs[0],
		outer: func(b, m ptx.Operand) []ptx.Operand {
			at := g.decompose(m, w.x[:w.spatial+1])
			s := []ptx.Operand{g.add(g.times(at[0], strides[0]), g.times(b, w.out))}
			for i, x := range at[1:] {
				s = append(s, g.add(x, ptx.Int32(int64(w.PadLow[i]))))
			}
			return s
		},
		inner: func(k ptx.Operand) []ptx.Operand {
			at := g.decompose(k, append(w.taps().Clone(), w.out))
			s := []ptx.Operand{at[w.spatial]}
			for i, tap := range at[:w.spatial] {
				s = append(s, g.times(tap, w.dilation(i)))
			}
			return s
		},
		join: func(outer, inner []ptx.Operand) (number, valid ptx.Operand) {
			number = g.add(outer[0], inner[0])
			for i := range w.spatial {
				at := g.mov(ptx.B32, g.sub(outer[i+1], inner[i+1]))
				q := at
				in := g.compare("ge", "s32", at, ptx.Int32(0))
				if s := w.Strides[i]; s > 1 {
					q = g.over(at, s)
					in = g.both(in, g.compare("eq", "s32", at, g.times(q, s)))
				}
				in = g.both(in, g.compare("lt", "u32", q, ptx.Int32(int64(w.y[i+1]))))
				if valid.IsZero() {
					valid = in
				} else {
					valid = g.both(valid, in)
				}
				number = g.add(number, g.times(q, strides[i+1]))
			}
			return number, valid
		},
		fast: true,
		run:  common(w.out, strides[w.spatial]),
	}
	channels := w.kernel[w.spatial+1]
	c.b = side{
		value: n.Inputs[1],
		outer: func(b, m ptx.Operand) []ptx.Operand {
			return []ptx.Operand{g.add(g.times(m, channels), g.times(b, w.out))}
		},
		inner: func(k ptx.Operand) []ptx.Operand {
			at := g.decompose(k, ir.Shape{w.taps().Size(), w.out})
			return []ptx.Operand{g.add(g.times(at[0], w.in*channels), at[1])}
		},
		join: func(outer, inner []ptx.Operand) (ptx.Operand, ptx.Operand) {
			return g.add(outer[0], inner[0]), ptx.Operand{}
		},
		fast: true,
		run:  common(w.out, channels),
	}
	c.number = g.channelNumber(w.x[w.spatial+1], w.in)
	c.convolution = w.call(n.Op)
	if w.pointwise() {
		c.dense = &Product{M: c.m, N: c.n, K: c.k, Batch: 1, A: Matrix{Stride: w.out}, B: Matrix{Turned: true, Stride: w.out}}
	}
	return c
}

// convKernelGrad: rows are kernel positions and input channels, columns output channels, and k runs over positions of
// the result.
func (g *gen) convKernelGrad(n *ir.Node) contraction {
	a := n.Attrs.(ir.ConvGradAttrs)
	w := newWindow(a.Conv, g.p.Type(n.Inputs[0]).Shape, a.Shape, g.p.Type(n.Inputs[1]).Shape)
	strides := w.x.Strides()
	c := contraction{batch: w.Groups, m: w.taps().Size() * w.in, n: w.out, k: w.y[:w.spatial+1].Size()}
	c.a = side{
		value: n.Inputs[0],
		outer: func(b, m ptx.Operand) []ptx.Operand {
			at := g.decompose(m, append(w.taps().Clone(), w.in))
			s := []ptx.Operand{g.add(at[w.spatial], g.times(b, w.in))}
			for i, tap := range at[:w.spatial] {
				s = append(s, g.sub(g.times(tap, w.dilation(i)), ptx.Int32(int64(w.PadLow[i]))))
			}
			return s
		},
		inner: func(k ptx.Operand) []ptx.Operand {
			at := g.decompose(k, w.y[:w.spatial+1])
			s := []ptx.Operand{g.times(at[0], strides[0])}
			for i, o := range at[1:] {
				s = append(s, g.times(o, w.Strides[i]))
			}
			return s
		},
		join: func(outer, inner []ptx.Operand) (ptx.Operand, ptx.Operand) {
			return g.joinWindow(w.x[1:w.spatial+1], strides[1:], outer, inner)
		},
		run: common(w.in, strides[w.spatial]),
	}
	c.b = g.channelSide(n.Inputs[1], w.y[w.spatial+1], w.out)
	c.number = g.channelNumber(w.kernel[w.spatial+1], w.out)
	c.convolution = w.call(n.Op)
	if w.pointwise() {
		c.dense = &Product{M: c.m, N: c.n, K: c.k, Batch: 1, A: Matrix{Turned: true, Stride: w.in}, B: Matrix{Stride: w.out}}
	}
	return c
}
