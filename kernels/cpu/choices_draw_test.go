package cpu_test

import (
	"math"
	"math/rand/v2"

	"github.com/gokeras/gokeras/kernels/ir"
)

// choiceDraw draws programs of one operation in which estimates choose between ways to compute it.
type choiceDraw struct {
	*rand.Rand
	p    *ir.Program
	most float64 // multiplications
}

// drawChoice returns a program of at most that many multiplications, or nil if what was drawn is larger or not valid.
func drawChoice(seed uint64, most float64) *ir.Program {
	d := &choiceDraw{Rand: rand.New(rand.NewPCG(seed, 31)), p: ir.New("choice"), most: most}
	kinds := []func() bool{d.convolution, d.convolution, d.convolution, d.convolution, d.product, d.product, d.pooling, d.reduction, d.softmax, d.matrices, d.repetition}
	if !kinds[d.IntN(len(kinds))]() || len(d.p.Outputs) == 0 || d.p.Verify() != nil {
		return nil
	}
	return d.p
}

// about returns a number from lo to hi, small ones as often as large ones.
func (d *choiceDraw) about(lo, hi int) int {
	x := math.Exp(math.Log(float64(lo)) + d.Float64()*math.Log(float64(hi+1)/float64(lo)))
	return min(max(int(x), lo), hi)
}

// float is mostly float32.
func (d *choiceDraw) float() ir.DType {
	return []ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16}[d.IntN(7)]
}

func (d *choiceDraw) input(t ir.DType, shape ...int) ir.Value {
	return d.p.AddInput("x", ir.Type{DType: t, Shape: shape})
}

// output adds an operation, whose first result becomes an output.
func (d *choiceDraw) output(op ir.Op, attrs ir.Attrs, in ...ir.Value) bool {
	v, err := d.p.Add("", op, attrs, in...)
	if err != nil {
		return false
	}
	d.p.AddOutput("y", v[0])
	return true
}

// channels draws the inputs and outputs of a convolution, and its groups.
func (d *choiceDraw) channels() (in, out, groups int) {
	switch d.IntN(6) {
	case 0: // depthwise
		groups = d.about(1, 256)
		return groups, groups * []int{1, 1, 1, 2, 3}[d.IntN(5)], groups
	case 1:
		groups = d.about(2, 32)
		return groups * d.about(1, 24), groups * d.about(1, 24), groups
	case 2:
		return 8 * d.about(1, 32), 8 * d.about(1, 32), 1
	}
	return d.about(1, 200), d.about(1, 200), 1
}

// convolution draws a convolution of one to three axes or one of its gradients.
func (d *choiceDraw) convolution() bool {
	axes := []int{1, 2, 2, 2, 3}[d.IntN(5)]
	in, out, groups := d.channels()
	a := ir.ConvAttrs{Groups: groups}
	x, kernel, y := ir.Shape{d.about(1, 40)}, ir.Shape{}, ir.Shape{}
	y = append(y, x[0])
	work := float64(x[0]) * float64(in) * float64(out/groups)
	longest := []int{400, 56, 16}[axes-1]
	window, stride, dilation, length := 1+d.IntN(5), 1+d.IntN(5)/3, 1+d.IntN(6)/5, d.about(1, longest)
	usual := d.IntN(3) == 0 // the same window and length along each axis
	if usual {
		window, dilation = []int{1, 3, 3, 3, 5, 7}[d.IntN(6)], 1
	}
	for range axes {
		k := window
		if !usual && d.IntN(5) == 0 {
			k = 1 + d.IntN(7)
		}
		n := d.about(min((k-1)*dilation+1, longest), longest)
		if usual {
			n = length
		}
		low, high := 0, 0
		if usual || d.IntN(3) > 0 { // same
			low, high = (k-1)*dilation/2, (k-1)*dilation-(k-1)*dilation/2
		}
		out := (n+low+high-(k-1)*dilation-1)/stride + 1
		if n+low+high < (k-1)*dilation+1 {
			return false
		}
		a.Strides, a.Dilation = append(a.Strides, stride), append(a.Dilation, dilation)
		a.PadLow, a.PadHigh = append(a.PadLow, low), append(a.PadHigh, high)
		x, kernel, y = append(x, n), append(kernel, k), append(y, out)
		work *= float64(k) * float64(out)
	}
	x, kernel, y = append(x, in), append(kernel, in/groups, out), append(y, out)
	if work > d.most || float64(x.Size()+y.Size()) > d.most/4 {
		return false
	}
	t := d.float()
	switch d.IntN(4) {
	case 0:
		return d.output(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: x}, d.input(t, y...), d.input(t, kernel...))
	case 1:
		return d.output(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: kernel}, d.input(t, x...), d.input(t, y...))
	}
	return d.output(ir.Conv, a, d.input(t, x...), d.input(t, kernel...))
}

// product draws a product of matrices, or a batch of products. Some have long sums and few results, some are those of a
// matrix with itself.
func (d *choiceDraw) product() bool {
	switch d.IntN(8) {
	case 0:
		k, t := d.about(1000, 50000), []ir.DType{ir.Float32, ir.Float32, ir.Float64}[d.IntN(3)]
		return k*300 < int(d.most) && d.output(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, d.input(t, k, d.about(1, 16)), d.input(t, k, []int{d.about(1, 16), 16 * d.about(1, 8)}[d.IntN(2)]))
	case 1:
		m, k := d.about(1, 500), d.about(1, 500)
		x := d.input(d.float(), m, k)
		return float64(m)*float64(m)*float64(k) < d.most && d.output(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, x, x)
	}
	m, n, k := d.about(1, 2000), d.about(1, 2000), d.about(1, 4000)
	batch := ir.Shape{}
	for range []int{0, 0, 1, 2}[d.IntN(4)] {
		batch = append(batch, d.about(2, 200))
	}
	if float64(batch.Size())*float64(m)*float64(n)*float64(k) > d.most || float64(batch.Size())*float64(m*k+k*n+m*n) > d.most/4 {
		return false
	}
	t, last := d.float(), len(batch)
	lhs, rhs := append(batch.Clone(), m, k), append(batch.Clone(), k, n)
	a := ir.DotAttrs{LhsContract: []int{last + 1}, RhsContract: []int{last}}
	if d.IntN(3) == 0 {
		lhs[last], lhs[last+1], a.LhsContract = k, m, []int{last}
	}
	if d.IntN(3) == 0 {
		rhs[last], rhs[last+1], a.RhsContract = n, k, []int{last + 1}
	}
	for i := range batch {
		a.LhsBatch, a.RhsBatch = append(a.LhsBatch, i), append(a.RhsBatch, i)
	}
	return d.output(ir.Dot, a, d.input(t, lhs...), d.input(t, rhs...))
}

// pooling draws maxima or averages of windows.
func (d *choiceDraw) pooling() bool {
	axes := 1 + d.IntN(3)
	shape, a := ir.Shape{d.about(1, 40)}, ir.PoolAttrs{}
	work := float64(shape[0])
	for range axes {
		k := 1 + d.IntN(8)
		n := d.about(k, []int{1000, 100, 20}[axes-1])
		a.Window, a.Strides = append(a.Window, k), append(a.Strides, 1+d.IntN(k))
		a.PadLow, a.PadHigh = append(a.PadLow, d.IntN(2)*(k-1)/2), append(a.PadHigh, d.IntN(2)*k/2)
		shape = append(shape, n)
		work *= float64(n) * float64(k) / float64(a.Strides[len(a.Strides)-1])
	}
	shape = append(shape, d.about(1, 64))
	if work*float64(shape[len(shape)-1]) > d.most/4 {
		return false
	}
	x := d.input(d.float(), shape...)
	if d.IntN(2) == 0 {
		return d.output(ir.MaxPool, a, x)
	}
	return d.output(ir.AvgPool, a, x)
}

// reduction draws sums, products, extremes and their places along any axes.
func (d *choiceDraw) reduction() bool {
	shape := ir.Shape{}
	for range 1 + d.IntN(4) {
		shape = append(shape, d.about(1, 300))
	}
	if float64(shape.Size()) > d.most/16 {
		return false
	}
	x := d.input([]ir.DType{d.float(), d.float(), ir.Int32, ir.Int64, ir.Int8}[d.IntN(5)], shape...)
	if d.IntN(3) == 0 {
		return d.output([]ir.Op{ir.ArgMax, ir.ArgMin}[d.IntN(2)], ir.AxisAttrs{Axis: d.IntN(len(shape))}, x)
	}
	axes := []int{}
	for i := range shape {
		if d.IntN(2) == 0 {
			axes = append(axes, i)
		}
	}
	return d.output(ir.Reduce, ir.ReduceAttrs{Kind: []ir.Kind{ir.Sum, ir.Max, ir.Min, ir.Prod}[d.IntN(4)], Axes: axes}, x)
}

func (d *choiceDraw) softmax() bool {
	shape := ir.Shape{d.about(1, 3000), d.about(1, 200)}
	if d.IntN(2) == 0 {
		shape = ir.Shape{d.about(1, 100), d.about(1, 60), d.about(1, 60)}
	}
	if float64(shape.Size()) > d.most/32 {
		return false
	}
	x := d.input(d.float(), shape...)
	return d.output([]ir.Op{ir.Softmax, ir.LogSoftmax}[d.IntN(2)], nil, x)
}

// matrices draws factorizations of batches. Their definitions, which need only have the right types, are zeros.
func (d *choiceDraw) matrices() bool {
	batch, n := d.about(1, 200), d.about(1, 64)
	m := max(n, d.about(1, 500))
	if float64(batch)*float64(m)*float64(n)*float64(n) > d.most/4 {
		return false
	}
	t := []ir.DType{ir.Float32, ir.Float64}[d.IntN(2)]
	switch d.IntN(3) {
	case 0:
		return d.factor(ir.QR, []ir.Shape{{batch, m, n}, {batch, n, n}}, d.input(t, batch, m, n))
	case 1:
		tall := d.input(t, batch, 2*n+4, n)
		gram, err := d.p.Add("", ir.Dot, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{1}, RhsContract: []int{1}}, tall, tall)
		return err == nil && d.factor(ir.Cholesky, []ir.Shape{{batch, n, n}}, gram[0])
	}
	n, k := min(n, 16), d.about(1, 40) // the solutions of larger random triangles grow without bounds
	return d.factor(ir.Lower, []ir.Shape{{batch, n, k}}, d.input(t, batch, n, n), d.input(t, batch, n, k))
}

func (d *choiceDraw) factor(kind ir.Factorization, results []ir.Shape, in ...ir.Value) bool {
	definition := ir.New("definition")
	var operands []ir.Type
	for _, v := range in {
		operands = append(operands, d.p.Type(v))
		definition.AddInput("", d.p.Type(v))
	}
	for _, shape := range results {
		zero, err := definition.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(operands[0].DType, 0, shape...)})
		if err != nil {
			return false
		}
		definition.AddOutput("", zero[0])
	}
	return d.output(ir.Factor, ir.FactorAttrs{Kind: kind, Definition: definition}, in...)
}

// repetition draws a broadcast that repeats elements.
func (d *choiceDraw) repetition() bool {
	shape := ir.Shape{d.about(1, 300), d.about(1, 300)}
	t := []ir.DType{ir.Float32, ir.Float64, ir.Int8, ir.Float16}[d.IntN(4)]
	return d.output(ir.Broadcast, ir.BroadcastAttrs{Shape: append(shape.Clone(), 1+d.IntN(4)), Axes: []int{0, 1}}, d.input(t, shape...))
}
