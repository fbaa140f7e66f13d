package cpu

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/scan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// layerSizes describe a recurrent layer and its gradient.
type layerSizes struct {
	steps, batch, features, units int
	reverse                       bool // from the last step to the first
	masked                        bool
	dropout                       bool // the state is multiplied by a mask that is the same in all steps
}

// graphBuilder adds nodes and fails the test on errors.
type graphBuilder struct {
	t *testing.T
	p *ir.Program
}

func (g graphBuilder) op(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := g.p.Add("lstm", op, attrs, in...)
	require.NoError(g.t, err)
	return out
}

func (g graphBuilder) one(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	return g.op(op, attrs, in...)[0]
}

func single(shape ...int) ir.Type { return ir.Type{DType: ir.Float32, Shape: shape} }

// lstmLayer returns the program of an LSTM layer and of its gradient, as tracing would.
func lstmLayer(t *testing.T, s layerSizes) *ir.Program {
	g := graphBuilder{t, ir.New("layer")}
	h, n := s.units, 4*s.units
	x := g.p.AddInput("x", single(s.batch, s.steps, s.features))
	kernel, recurrent, bias := g.p.AddInput("kernel", single(s.features, n)), g.p.AddInput("recurrent", single(h, n)), g.p.AddInput("bias", single(n))
	h0, c0, dh := g.p.AddInput("h", single(s.batch, h)), g.p.AddInput("c", single(s.batch, h)), g.p.AddInput("dh", single(s.batch, h))
	xs := g.one(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0, 2}}, x)
	z := g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, xs, kernel)
	z = g.one(ir.Add, nil, z, g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{s.steps, s.batch, n}, Axes: []int{2}}, bias))
	stacks, constants := []ir.Value{z}, []ir.Value{recurrent}
	if s.masked {
		stacks = append(stacks, g.p.AddInput("mask", ir.Type{DType: ir.Bool, Shape: []int{s.steps, s.batch, 1}}))
	}
	if s.dropout {
		constants = append(constants, g.p.AddInput("dropout", single(s.batch, h)))
	}
	a := ir.ScanAttrs{Body: lstmStep(t, s), Length: s.steps, Carry: 2, Xs: len(stacks), Reverse: s.reverse}
	forward := g.op(ir.Scan, a, append(append([]ir.Value{h0, c0}, stacks...), constants...)...)
	zero := g.one(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0, h, n)})
	zeros := g.one(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0, s.batch, h)})
	given := append([]ir.Value{dh, zeros, zero}, forward[2:5]...)
	if s.masked {
		given = append(given, stacks[1])
	}
	b := ir.ScanAttrs{Body: lstmStepGradient(t, s), Length: s.steps, Carry: 3, Xs: len(given) - 3, Reverse: !s.reverse}
	back := g.op(ir.Scan, b, append(given, constants...)...)
	dz := back[3]
	for _, v := range []ir.Value{forward[0], forward[1], back[0], back[1], back[2],
		g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{0, 1}, RhsContract: []int{0, 1}}, xs, dz),
		g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{1}}, dz, kernel),
		g.one(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0, 1}}, dz)} {
		g.p.AddOutput("", v)
	}
	require.NoError(t, g.p.Verify())
	return g.p
}

func lstmStep(t *testing.T, s layerSizes) *ir.Program {
	g := graphBuilder{t, ir.New("step")}
	h, c, x := g.p.AddInput("h", single(s.batch, s.units)), g.p.AddInput("c", single(s.batch, s.units)), g.p.AddInput("x", single(s.batch, 4*s.units))
	var mask ir.Value
	if s.masked {
		mask = g.p.AddInput("mask", ir.Type{DType: ir.Bool, Shape: []int{s.batch, 1}})
	}
	u := g.p.AddInput("u", single(s.units, 4*s.units))
	left := h
	if s.dropout {
		left = g.one(ir.Mul, nil, h, g.p.AddInput("dropout", single(s.batch, s.units)))
	}
	z := g.one(ir.Add, nil, x, g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, left, u))
	out := g.op(ir.LstmCell, nil, z, c)
	next := []ir.Value{out[0], out[1]}
	if s.masked {
		keep := g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{s.batch, s.units}, Axes: []int{0, 1}}, mask)
		next[0], next[1] = g.one(ir.Select, nil, keep, out[0], h), g.one(ir.Select, nil, keep, out[1], c)
	}
	for _, v := range []ir.Value{next[0], next[1], out[2], left, c} {
		g.p.AddOutput("", v)
	}
	return g.p
}

func lstmStepGradient(t *testing.T, s layerSizes) *ir.Program {
	g := graphBuilder{t, ir.New("step back")}
	state := single(s.batch, s.units)
	dh, dc, du := g.p.AddInput("dh", state), g.p.AddInput("dc", state), g.p.AddInput("du", single(s.units, 4*s.units))
	gates, h, c := g.p.AddInput("gates", single(s.batch, 4*s.units)), g.p.AddInput("h", state), g.p.AddInput("c", state)
	throughH, throughC := dh, dc
	var passedH, passedC ir.Value
	if s.masked {
		mask := g.p.AddInput("mask", ir.Type{DType: ir.Bool, Shape: []int{s.batch, 1}})
		keep := g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{s.batch, s.units}, Axes: []int{0, 1}}, mask)
		zero := g.one(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0, s.batch, s.units)})
		throughH, throughC = g.one(ir.Select, nil, keep, dh, zero), g.one(ir.Select, nil, keep, dc, zero)
		passedH, passedC = g.one(ir.Select, nil, keep, zero, dh), g.one(ir.Select, nil, keep, zero, dc)
	}
	u := g.p.AddInput("u", single(s.units, 4*s.units))
	out := g.op(ir.LstmCellGrad, nil, gates, c, throughH, throughC)
	dz, before := out[0], out[1]
	back := g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, dz, u)
	if s.dropout {
		back = g.one(ir.Mul, nil, back, g.p.AddInput("dropout", state))
	}
	if s.masked {
		back, before = g.one(ir.Add, nil, passedH, back), g.one(ir.Add, nil, passedC, before)
	}
	sum := g.one(ir.Add, nil, du, g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, h, dz))
	for _, v := range []ir.Value{back, before, sum, dz} {
		g.p.AddOutput("", v)
	}
	return g.p
}

func randomInputs(t *testing.T, p *ir.Program) []reference.Value {
	r := rand.New(rand.NewPCG(51, 52))
	var inputs []reference.Value
	for _, in := range p.Inputs {
		typ := p.Type(in.Value)
		values := make([]float64, typ.Shape.Size())
		for i := range values {
			if values[i] = 0.5 * r.NormFloat64(); typ.DType == ir.Bool {
				values[i] = float64(r.IntN(2))
			}
		}
		v, err := reference.New(typ.DType, typ.Shape, values...)
		require.NoError(t, err)
		inputs = append(inputs, v)
	}
	return inputs
}

// runWith runs a program on a pool of the given number of workers, twice, and returns the results of the second run.
func runWith(t *testing.T, p *ir.Program, inputs []reference.Value, workers int) [][]byte {
	t.Helper()
	q := pool.New(workers)
	defer q.Close()
	results, _ := runOn(t, p, inputs, q, func() {})
	return results
}

// runOn is runWith on a given pool. It calls between between the runs, and also returns the number of loop programs.
func runOn(t *testing.T, p *ir.Program, inputs []reference.Value, q *pool.Pool, between func()) (results [][]byte, loops int) {
	t.Helper()
	rt := &runtime{pool: q, workers: make([]worker, q.Size())}
	c := &compiler{rt: rt, device: testDevice, replicas: 1}
	s, err := c.compile(p, true)
	require.NoError(t, err)
	require.NoError(t, rt.allocate(p.Name, s.bytes))
	e := newSession(p, s, rt, kernels.CompileOptions{Device: testDevice, Replicas: 1}, 0)
	defer e.Close()
	var in, out []kernels.Buffer
	for _, v := range inputs {
		b := newBuffer(testDevice, v.Type)
		require.NoError(t, b.Write(v.Bytes()))
		in = append(in, b)
	}
	for _, o := range p.Outputs { // filled with NaN, none of which may remain, nor anything of an earlier run
		b := newBuffer(testDevice, p.Type(o.Value))
		require.NoError(t, b.Write(bytes.Repeat([]byte{0xff}, b.Type().Bytes())))
		out = append(out, b)
	}
	run := func() { require.NoError(t, e.Run(context.Background(), in, out)) }
	run()
	between()
	assert.Zero(t, allocations(10, run), "a run allocates nothing")
	for _, b := range out {
		results = append(results, b.Bytes())
	}
	return results, len(s.children)
}

// TestScanBlocksOfOneProcessor: a process that computes with one of several processors uses the blocks for one worker,
// until it gets more processors. The bits are the same.
func TestScanBlocksOfOneProcessor(t *testing.T) {
	p := lstmLayer(t, layerSizes{steps: 5, batch: 8, features: 6, units: 20})
	inputs, q := randomInputs(t, p), pool.Shared()
	if q.Size() == 1 {
		t.Skip("this machine has one processor, so blocks are always those of one worker")
	}
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(2))
	want, loops := runOn(t, p, inputs, q, func() {})
	goruntime.GOMAXPROCS(1)
	got, more := runOn(t, p, inputs, q, func() {})
	assert.Equal(t, want, got)
	assert.Greater(t, more, loops)
	got, _ = runOn(t, p, inputs, q, func() { goruntime.GOMAXPROCS(2) })
	assert.Equal(t, want, got)
}

// TestScanBlocks compares LSTM layers and their gradients, computed in blocks of rows, with a plain compilation and,
// bit for bit, among several numbers of workers.
func TestScanBlocks(t *testing.T) {
	for _, s := range []layerSizes{
		{steps: 5, batch: 8, features: 3, units: 7}, {steps: 1, batch: 9, features: 16, units: 16}, {steps: 4, batch: 70, features: 5, units: 32},
		{steps: 40, batch: 64, features: 32, units: 32}, // the sums for the weights are long
		{steps: 4, batch: 40, features: 12, units: 128}, // rows of gates lie 2 KB apart
		{steps: 6, batch: 13, features: 4, units: 10, reverse: true}, {steps: 3, batch: 16, features: 4, units: 16, masked: true},
		{steps: 4, batch: 21, features: 4, units: 8, dropout: true}, {steps: 4, batch: 10, features: 4, units: 9, masked: true, dropout: true},
		{steps: 5, batch: 16, features: 70, units: 8},                                             // its product stays in front of the loop
		{steps: 20, batch: 64, features: 64, units: 60},                                           // its product is too large for that
		{steps: 3, batch: 5, features: 4, units: 8}, {steps: 7, batch: 16, features: 4, units: 4}, // too few rows; the state times four is as long as the batch
	} {
		t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
			p := lstmLayer(t, s)
			inputs := randomInputs(t, p)
			want := runOnce(t, p, inputs, true)
			first := runWith(t, p, inputs, 1)
			for j, v := range want {
				got, err := reference.FromBytes(v.Type, first[j])
				require.NoError(t, err)
				require.NoError(t, kernelstest.Compare(got, v, 512, true), "output %d", j)
			}
			for _, workers := range []int{2, 3, 7} {
				assert.Equal(t, first, runWith(t, p, inputs, workers), "%d workers", workers)
			}
		})
	}
}

// TestScansTakeProducts checks what happens to the products around a loop that runs in blocks.
func TestScansTakeProducts(t *testing.T) {
	q, err := pipelineFor(1).normal.Run(lstmLayer(t, layerSizes{steps: 6, batch: 16, features: 5, units: 8}))
	require.NoError(t, err)
	q, err = scan.Passes(pipelineFor(1).normal).Run(q)
	require.NoError(t, err)
	var scans []*ir.Node
	outside := 0
	for i := range q.Nodes {
		switch n := &q.Nodes[i]; n.Op {
		case ir.Scan:
			scans = append(scans, n)
		case ir.Dot:
			outside++
			assert.Equal(t, []int{0, 1}, n.Attrs.(ir.DotAttrs).LhsContract, "outside are sums over steps and examples")
		}
	}
	require.Len(t, scans, 2)
	assert.Equal(t, 2, outside)
	forward, back := scans[0].Attrs.(ir.ScanAttrs), scans[1].Attrs.(ir.ScanAttrs)
	var shapes []ir.Shape
	for _, body := range []*ir.Program{forward.Body, back.Body} {
		require.NotNil(t, scan.ByRows(body, forward))
		for i := range body.Nodes {
			if n := &body.Nodes[i]; n.Op == ir.Dot {
				shapes = append(shapes, body.Type(n.Inputs[1]).Shape)
			}
		}
	}
	assert.Equal(t, []ir.Shape{{13, 32}, {8, 32}, {5, 32}}, shapes, "input and state in one product; the gradients of both")
	y := 0
	for j := back.Carry; j < len(scans[1].Outputs); j++ {
		if x := scan.InPlace(scans[1], j); x >= 0 {
			y++
			assert.Equal(t, ir.Shape{6, 16, 32}, q.Type(scans[1].Inputs[x]).Shape)
		}
	}
	assert.Equal(t, 1, y, "the gradients of the gates lie where the gates were")
}

// TestScansLeaveProducts: products with a wide input stay before the loop if their results stay in the cache, and so do
// those whose matrix is too large to be copied.
func TestScansLeaveProducts(t *testing.T) {
	for _, c := range []struct {
		layerSizes
		before int // products with the input in front of the loop
	}{
		{layerSizes{steps: 6, batch: 16, features: 70, units: 8}, 1},
		{layerSizes{steps: 6, batch: 16, features: 63, units: 8}, 0}, // part of the product with the state
		{layerSizes{steps: 20, batch: 64, features: 70, units: 60}, 0},
		{layerSizes{steps: 4, batch: 16, features: 30, units: 128}, 1}, // the matrices are larger than the results of all steps
		{layerSizes{steps: 6, batch: 16, features: 30, units: 128}, 0},
	} {
		q, err := pipelineFor(1).normal.Run(lstmLayer(t, c.layerSizes))
		require.NoError(t, err)
		q, err = scan.Passes(pipelineFor(1).normal).Run(q)
		require.NoError(t, err)
		before := 0
		for i := range q.Nodes {
			if n := &q.Nodes[i]; n.Op == ir.Dot && len(n.Attrs.(ir.DotAttrs).LhsContract) == 1 {
				before++
			}
		}
		assert.Equal(t, c.before, before, "%+v", c.layerSizes)
	}
}

// TestRowsThatMeet lists bodies whose rows depend on each other, or might.
func TestRowsThatMeet(t *testing.T) {
	for name, add := range map[string]func(g graphBuilder, h, u ir.Value) ir.Value{
		"sum over rows": func(g graphBuilder, h, _ ir.Value) ir.Value {
			s := g.one(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, h)
			return g.one(ir.Broadcast, ir.BroadcastAttrs{Shape: []int{16, 16}, Axes: []int{1}}, s)
		},
		"transpose": func(g graphBuilder, h, _ ir.Value) ir.Value {
			return g.one(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, h)
		},
		"reverse": func(g graphBuilder, h, _ ir.Value) ir.Value {
			return g.one(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, h)
		},
		"rows by rows": func(g graphBuilder, h, _ ir.Value) ir.Value {
			return g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, h, h)
		},
		"rows summed": func(g graphBuilder, h, u ir.Value) ir.Value {
			return g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, h, u)
		},
		"matrix by row": func(g graphBuilder, h, u ir.Value) ir.Value {
			return g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, u, h)
		},
		"collective": func(g graphBuilder, h, _ ir.Value) ir.Value {
			return g.one(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}, h)
		},
		"both a matrix and rows": func(g graphBuilder, h, u ir.Value) ir.Value {
			return g.one(ir.Add, nil, g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, h, u), u)
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := graphBuilder{t, ir.New("step")}
			h, u := g.p.AddInput("h", single(16, 16)), g.p.AddInput("u", single(16, 16))
			g.p.AddOutput("", add(g, h, u))
			assert.Nil(t, scan.ByRows(g.p, ir.ScanAttrs{Body: g.p, Length: 3, Carry: 1}))
		})
	}
	g := graphBuilder{t, ir.New("step")}
	h, u, b := g.p.AddInput("h", single(16, 16)), g.p.AddInput("u", single(16, 16)), g.p.AddInput("b", single(16, 16))
	g.p.AddOutput("", g.one(ir.Add, nil, b, g.one(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, h, u)))
	r := scan.ByRows(g.p, ir.ScanAttrs{Body: g.p, Length: 3, Carry: 1})
	require.NotNil(t, r)
	assert.Equal(t, []bool{true, false, true}, r.Row[:3], "of operands that are as long as the batch, use tells rows from matrices")
}

// allocations is testing.AllocsPerRun, which counts what the whole process allocates, as the minimum of several
// attempts. What a run itself allocates is in all of them; what happens besides under load is not.
func allocations(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for attempt := 0; least > 0 && attempt < 5; attempt++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}

// Scratch memory that is larger than memory, or whose size overflows, is an error.
func TestScratchIsBounded(t *testing.T) {
	for _, bytes := range []int{-1, 1 << 50, math.MaxInt} {
		rt := &runtime{workers: make([]worker, 2)}
		rt.need(bytes)
		rt.need(8)
		require.ErrorContains(t, rt.allocate("attention", 100), "the program attention takes")
	}
	rt := &runtime{workers: make([]worker, 2)}
	rt.need(100)
	rt.need(8)
	require.NoError(t, rt.allocate("small", 100))
	require.GreaterOrEqual(t, len(rt.workers[1].scratch), 100)
}
