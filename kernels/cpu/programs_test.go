package cpu_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// tape writes a program by hand. It stands for the tracing half of the library.
type tape struct {
	p *ir.Program
}

func (g tape) op(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	return g.ops(op, attrs, in...)[0]
}

func (g tape) ops(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := g.p.Add("layer", op, attrs, in...)
	if err != nil {
		panic(err)
	}
	return out
}

func (g tape) shape(v ir.Value) ir.Shape { return g.p.Type(v).Shape }

func (g tape) input(name string, d ir.DType, shape ...int) ir.Value {
	return g.p.AddInput(name, ir.Type{DType: d, Shape: shape})
}

func (g tape) like(v ir.Value, x float64) ir.Value {
	t := g.p.Type(v)
	return g.op(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(t.DType, x, t.Shape...)})
}

func (g tape) bias(x, b ir.Value) ir.Value {
	s := g.shape(x)
	return g.op(ir.Add, nil, x, g.op(ir.Broadcast, ir.BroadcastAttrs{Shape: s, Axes: []int{len(s) - 1}}, b))
}

func (g tape) sumLeading(x ir.Value) ir.Value {
	axes := make([]int, len(g.shape(x))-1)
	for i := range axes {
		axes[i] = i
	}
	return g.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, x)
}

func (g tape) reluGrad(y, dy ir.Value) ir.Value {
	mask := g.op(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, y, g.like(y, 0))
	return g.op(ir.Select, nil, mask, dy, g.like(dy, 0))
}

// matmul multiplies x (or its transpose) by y (or its transpose).
func (g tape) matmul(x, y ir.Value, transX, transY bool) ir.Value {
	a := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	if transX {
		a.LhsContract[0] = 0
	}
	if transY {
		a.RhsContract[0] = 1
	}
	return g.op(ir.Dot, a, x, y)
}

// trainer collects variables and their updates.
type trainer struct {
	tape
	rule       string
	rate, step ir.Value
	variables  []variable
}

type variable struct {
	input int
	value ir.Value
	slots []int
}

func newTrainer(name, rule string) *trainer {
	t := &trainer{tape: tape{ir.New(name)}, rule: rule}
	t.rate, t.step = t.input("rate", ir.Float32), t.input("step", ir.Float32)
	return t
}

func (t *trainer) variable(name string, shape ...int) ir.Value {
	v := variable{input: len(t.p.Inputs), value: t.input(name, ir.Float32, shape...)}
	for range map[string]int{"sgd": 0, "momentum": 1, "adam": 2}[t.rule] {
		v.slots = append(v.slots, len(t.p.Inputs))
		t.input(name+"/slot", ir.Float32, shape...)
	}
	t.variables = append(t.variables, v)
	return v.value
}

// update applies the optimizer; gradients are in the order of the variables.
func (t *trainer) update(gradients ...ir.Value) {
	values := map[string][]float64{"momentum": {0.9}, "adam": {0.9, 0.999, 1e-7}}[t.rule]
	for i, v := range t.variables {
		in := []ir.Value{v.value, gradients[i], t.rate, t.step}
		for _, s := range v.slots {
			in = append(in, t.p.Inputs[s].Value)
		}
		out := t.ops(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: t.rule, Values: values}, in...)
		t.p.AddAlias("w", out[0], v.input)
		for k, s := range v.slots {
			t.p.AddAlias("slot", out[1+k], s)
		}
	}
}

// loss adds the mean cross-entropy and the gradient of the logits.
func (t *trainer) loss(logits, labels ir.Value) ir.Value {
	out := t.ops(ir.SparseSoftmaxCrossEntropy, nil, logits, labels)
	n := float64(t.shape(out[0]).Size())
	sum := t.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, out[0])
	t.p.AddOutput("loss", t.op(ir.Div, nil, sum, t.like(sum, n)))
	return t.op(ir.SparseSoftmaxCrossEntropyGrad, nil, logits, labels, out[1], t.like(out[0], 1/n))
}

// mlp is the train step of a chain of dense layers with relu between them.
func mlp(rule string, batch int, units ...int) *ir.Program {
	t := newTrainer("mlp", rule)
	x, labels := t.input("x", ir.Float32, batch, units[0]), t.input("y", ir.Int32, batch)
	var weights []ir.Value
	activations := []ir.Value{x}
	for i, n := range units[1:] {
		w, b := t.variable("kernel", units[i], n), t.variable("bias", n)
		weights = append(weights, w)
		y := t.bias(t.matmul(activations[i], w, false, false), b)
		if i < len(units)-2 {
			y = t.op(ir.Relu, nil, y)
		}
		activations = append(activations, y)
	}
	gradients := make([]ir.Value, 2*len(weights))
	dy := t.loss(activations[len(weights)], labels)
	for i := len(weights) - 1; i >= 0; i-- {
		gradients[2*i] = t.matmul(activations[i], dy, true, false)
		gradients[2*i+1] = t.sumLeading(dy)
		if i > 0 {
			dy = t.reluGrad(activations[i], t.matmul(dy, weights[i], false, true))
		}
	}
	t.update(gradients...)
	return t.p
}

// cnn is the train step of the tutorial network: conv 3x3 with 32 filters, pooling, dense 64, dense 10.
func cnn(rule string, batch int) *ir.Program {
	t := newTrainer("cnn", rule)
	x, labels := t.input("x", ir.Float32, batch, 28, 28, 1), t.input("y", ir.Int32, batch)
	k, kb := t.variable("conv", 3, 3, 1, 32), t.variable("conv/bias", 32)
	w1, b1 := t.variable("dense", 5408, 64), t.variable("dense/bias", 64)
	w2, b2 := t.variable("head", 64, 10), t.variable("head/bias", 10)
	conv := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}
	pool := ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}
	c := t.op(ir.Relu, nil, t.bias(t.op(ir.Conv, conv, x, k), kb))
	pooled := t.op(ir.MaxPool, pool, c)
	flat := t.op(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{batch, 5408}}, pooled)
	h := t.op(ir.Relu, nil, t.bias(t.matmul(flat, w1, false, false), b1))
	logits := t.bias(t.matmul(h, w2, false, false), b2)

	dlogits := t.loss(logits, labels)
	dw2, db2 := t.matmul(h, dlogits, true, false), t.sumLeading(dlogits)
	dh := t.reluGrad(h, t.matmul(dlogits, w2, false, true))
	dw1, db1 := t.matmul(flat, dh, true, false), t.sumLeading(dh)
	dflat := t.matmul(dh, w1, false, true)
	dpooled := t.op(ir.Reshape, ir.ReshapeAttrs{Shape: t.shape(pooled)}, dflat)
	dc := t.reluGrad(c, t.op(ir.MaxPoolGrad, pool, c, pooled, dpooled))
	dk := t.op(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: conv, Shape: t.shape(k)}, x, dc)
	t.update(dk, t.sumLeading(dc), dw1, db1, dw2, db2)
	return t.p
}

// session is a compiled program with its buffers.
type session struct {
	p       *ir.Program
	e       *kernels.Loaded
	inputs  []kernels.Buffer
	outputs []kernels.Buffer
}

var device = kernels.Device{Kind: cpu.Kind}

// newSession compiles a program and fills its inputs from a fixed seed: labels below 10, weights small, rate and step
// as a trainer needs them.
func newSession(tb testing.TB, p *ir.Program) *session {
	tb.Helper()
	e, err := kernels.Load(cpu.Backend{}, p, device)
	require.NoError(tb, err)
	s := &session{p: p, e: e}
	r := rand.New(rand.NewPCG(1, 2))
	for _, in := range p.Inputs {
		t := p.Type(in.Value)
		b, err := cpu.Backend{}.NewBuffer(device, t)
		require.NoError(tb, err)
		s.inputs = append(s.inputs, b)
		fill(r, in.Name, t, b.Bytes())
	}
	for _, out := range p.Outputs {
		if out.Alias >= 0 {
			s.outputs = append(s.outputs, nil)
			continue
		}
		b, err := cpu.Backend{}.NewBuffer(device, p.Type(out.Value))
		require.NoError(tb, err)
		s.outputs = append(s.outputs, b)
	}
	return s
}

func fill(r *rand.Rand, name string, t ir.Type, data []byte) {
	fanIn := 1
	if n := len(t.Shape); n > 1 {
		fanIn = t.Shape[:n-1].Size()
	}
	scale := math.Sqrt(2 / float64(fanIn))
	for i := range t.Shape.Size() {
		var v float64
		switch {
		case name == "rate":
			v = 1e-3
		case name == "step":
			v = 1
		case t.DType.IsInteger():
			v = float64(r.IntN(10))
		case name == "x":
			v = r.Float64()
		case len(t.Shape) > 1 && len(name) > 4 && name[len(name)-4:] == "slot":
			v = 0
		default:
			v = r.NormFloat64() * scale
			if len(t.Shape) < 2 {
				v = 0
			}
		}
		copy(data[i*t.DType.Size():], ir.AppendElement(nil, t.DType, v))
	}
}

func (s *session) run(tb testing.TB) { s.runUnder(tb, context.Background()) }

func (s *session) runUnder(tb testing.TB, ctx context.Context) {
	if err := s.e.Run(ctx, s.inputs, s.outputs); err != nil {
		tb.Fatal(err)
	}
}

func (s *session) float(output int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(s.outputs[output].Bytes()))
}

func benchmarkStep(b *testing.B, p *ir.Program, batch int) {
	s := newSession(b, p)
	defer s.e.Close()
	s.run(b)
	first := s.float(0)
	b.ResetTimer()
	for b.Loop() {
		s.run(b)
	}
	b.ReportMetric(float64(batch)*float64(b.N)/b.Elapsed().Seconds(), "img/s")
	b.ReportMetric(float64(first), "first-loss")
	b.ReportMetric(float64(s.float(0)), "last-loss")
	logProfile(b, s)
	st := s.e.Stats()
	b.ReportMetric(float64(st.Steps), "steps")
	b.ReportMetric(float64(st.ArenaBytes), "arena-B")
}

// logProfile prints the steps of a session that was timed: call Profiling(true) before it runs.
func logProfile(b *testing.B, s *session) {
	for _, op := range s.e.Session.(cpu.Profiler).Profile() {
		b.Logf("%9.1f us x %-6d %s", float64(op.Time.Nanoseconds())/1000/float64(op.Calls), op.Calls, op.Name)
	}
}

func BenchmarkTrainStep(b *testing.B) {
	b.Run("mlp784-512-512-10/sgd", func(b *testing.B) { benchmarkStep(b, mlp("sgd", 64, 784, 512, 512, 10), 64) })
	b.Run("mlp784-512-512-10/adam", func(b *testing.B) { benchmarkStep(b, mlp("adam", 64, 784, 512, 512, 10), 64) })
	b.Run("cnn/adam", func(b *testing.B) { benchmarkStep(b, cnn("adam", 64), 64) })
}

func BenchmarkCompile(b *testing.B) {
	units := append(slices.Repeat([]int{16}, 150), 10)
	for _, p := range []*ir.Program{cnn("adam", 64), mlp("adam", 8, units...)} {
		b.Run(fmt.Sprint(p.Name, " ", len(p.Nodes), " nodes"), func(b *testing.B) {
			for b.Loop() {
				e, err := kernels.Load(cpu.Backend{}, p, device)
				require.NoError(b, err)
				e.Close()
			}
		})
	}
}
