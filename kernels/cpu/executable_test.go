package cpu_test

import (
	"bytes"
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestMain makes the pool large enough for tests that compare numbers of workers, because its size is fixed at first
// use.
func TestMain(m *testing.M) {
	before := goruntime.GOMAXPROCS(4)
	e, err := kernels.Load(cpu.Backend{}, ir.New(""), device)
	if err != nil {
		panic(err)
	}
	e.Close()
	goruntime.GOMAXPROCS(before)
	m.Run()
}

func vector(t *testing.T, x ...float64) reference.Value {
	v, err := reference.New(ir.Float32, ir.Shape{len(x)}, x...)
	require.NoError(t, err)
	return v
}

// runAliased runs a program with nil (or with separate buffers) for aliased outputs, and returns all outputs and
// inputs.
func runAliased(t *testing.T, p *ir.Program, own bool, inputs ...reference.Value) (outputs, after []reference.Value) {
	t.Helper()
	e, err := kernels.Load(cpu.Backend{}, p, device)
	require.NoError(t, err)
	defer e.Close()
	in, out := make([]kernels.Buffer, len(inputs)), make([]kernels.Buffer, len(p.Outputs))
	for i, v := range inputs {
		in[i], err = cpu.Backend{}.NewBuffer(device, v.Type)
		require.NoError(t, err)
		require.NoError(t, in[i].Write(v.Bytes()))
	}
	for j, o := range p.Outputs {
		if o.Alias < 0 || own {
			out[j], err = cpu.Backend{}.NewBuffer(device, p.Type(o.Value))
			require.NoError(t, err)
		}
	}
	require.NoError(t, e.Run(context.Background(), in, out))
	if own { // again, with what the first run left in the arena
		require.NoError(t, e.Run(context.Background(), in, out))
	}
	read := func(b kernels.Buffer) reference.Value {
		v, err := reference.FromBytes(b.Type(), b.Bytes())
		require.NoError(t, err)
		return v
	}
	for j, o := range p.Outputs {
		b := out[j]
		if b == nil {
			b = in[o.Alias]
		}
		outputs = append(outputs, read(b))
	}
	for _, b := range in {
		after = append(after, read(b))
	}
	return outputs, after
}

// TestAliasing compares with the reference, which never overwrites anything.
func TestAliasing(t *testing.T) {
	one := func(g tape, v ir.Value) ir.Value { return g.op(ir.Add, nil, v, g.like(v, 1)) }
	sorted := func(g tape, v ir.Value) ir.Value { return g.ops(ir.Sort, ir.SortAttrs{}, v)[0] }
	cases := map[string]func(g tape, a, b ir.Value){
		"update in place":       func(g tape, a, b ir.Value) { g.p.AddAlias("a", g.op(ir.Sub, nil, a, b), 0) },
		"swap":                  func(g tape, a, b ir.Value) { g.p.AddAlias("a", b, 0); g.p.AddAlias("b", a, 1) },
		"unchanged":             func(g tape, a, b ir.Value) { g.p.AddAlias("a", a, 0); g.p.AddOutput("b", b) },
		"old value is returned": func(g tape, a, _ ir.Value) { g.p.AddAlias("a", one(g, a), 0); g.p.AddOutput("old", a) },
		"old value goes elsewhere": func(g tape, a, _ ir.Value) {
			g.p.AddAlias("a", one(g, a), 0)
			g.p.AddAlias("b", a, 1)
		},
		"old value is read later": func(g tape, a, b ir.Value) {
			g.p.AddAlias("a", sorted(g, g.op(ir.Add, nil, a, b)), 0)
			g.p.AddOutput("y", g.op(ir.Mul, nil, sorted(g, a), b))
		},
		"old value is read later through a view": func(g tape, a, b ir.Value) {
			view := g.op(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{2, 3}}, a)
			g.p.AddAlias("a", g.op(ir.Mul, nil, a, b), 0)
			g.p.AddOutput("y", g.ops(ir.Sort, ir.SortAttrs{Axis: 0}, view)[0])
		},
		"op that cannot overwrite": func(g tape, a, _ ir.Value) { g.p.AddAlias("a", sorted(g, a), 0) },
		"two outputs, one value": func(g tape, a, b ir.Value) {
			s := g.op(ir.Add, nil, a, b)
			g.p.AddAlias("a", s, 0)
			g.p.AddAlias("b", s, 1)
			g.p.AddOutput("c", s)
		},
		"reversed into itself": func(g tape, a, _ ir.Value) {
			g.p.AddAlias("a", g.op(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, a), 0)
		},
		"an element is spread over itself": func(g tape, a, _ ir.Value) {
			first := g.op(ir.Slice, ir.SliceAttrs{Start: []int{1}, Limit: []int{2}, Stride: []int{1}}, a)
			g.p.AddAlias("a", g.op(ir.Sub, nil, a, g.op(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{6}, Axes: []int{0}}, first)), 0)
		},
		"crossed updates": func(g tape, a, b ir.Value) {
			g.p.AddAlias("a", g.op(ir.Add, nil, a, b), 0)
			g.p.AddAlias("b", g.op(ir.Sub, nil, a, b), 1)
		},
		"crossed places": func(g tape, a, b ir.Value) {
			g.p.AddAlias("b", one(g, a), 1)
			g.p.AddAlias("a", one(g, b), 0)
		},
		"optimizer": func(g tape, a, b ir.Value) {
			scalar := g.op(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0.5)})
			out := g.ops(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "momentum", Values: []float64{0.9}}, a, b, scalar, scalar, b)
			g.p.AddAlias("a", out[0], 0)
			g.p.AddAlias("b", out[1], 1)
		},
		"scatter": func(g tape, a, b ir.Value) {
			at := g.op(ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: ir.Int32, Shape: ir.Shape{6}}})
			g.p.AddAlias("a", g.op(ir.Scatter, ir.ScatterAttrs{Kind: ir.Sum}, a, at, b), 0)
		},
		"scatter of itself": func(g tape, a, _ ir.Value) {
			at := g.op(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, g.op(ir.Mul, nil, a, g.like(a, 0)))
			g.p.AddAlias("a", g.op(ir.Scatter, ir.ScatterAttrs{Kind: ir.Sum}, a, at, a), 0)
		},
	}
	for name, write := range cases {
		t.Run(name, func(t *testing.T) {
			g := tape{ir.New(name)}
			write(g, g.input("a", ir.Float32, 6), g.input("b", ir.Float32, 6))
			a, b := vector(t, 5, -2, 3.5, 0, -7, 1), vector(t, 1, 2, -4, 8, 0.5, 16)
			want, err := reference.Run(g.p, []reference.Value{a, b})
			require.NoError(t, err)
			for _, own := range []bool{false, true} {
				got, after := runAliased(t, g.p, own, a, b)
				for j := range want {
					assert.NoError(t, kernelstest.Compare(got[j], want[j], 4, false), "own buffers %v: output %d", own, j)
				}
				if own {
					assert.Equal(t, a.Bytes(), after[0].Bytes(), "input a was changed")
					assert.Equal(t, b.Bytes(), after[1].Bytes(), "input b was changed")
				}
			}
		})
	}
}

func snapshot(s *session) []byte {
	var all []byte
	for _, b := range append(s.inputs, s.outputs...) {
		if b != nil {
			all = append(all, b.Bytes()...)
		}
	}
	return all
}

// TestSameBitsForAnyWorkers trains for a few steps with one, two and four workers.
func TestSameBitsForAnyWorkers(t *testing.T) {
	before := goruntime.GOMAXPROCS(0)
	defer goruntime.GOMAXPROCS(before)
	for _, p := range []*ir.Program{cnn("adam", 17), mlp("momentum", 33, 100, 257, 10)} {
		var want []byte
		for _, workers := range []int{1, 2, 4, 2} {
			goruntime.GOMAXPROCS(workers)
			s := newSession(t, p)
			for range 3 {
				s.run(t)
			}
			got := snapshot(s)
			s.e.Close()
			if want == nil {
				want = got
			}
			assert.True(t, bytes.Equal(want, got), "%s: %d workers give other bits", p.Name, workers)
		}
	}
}

// TestConcurrentExecutables runs several executables of one program at the same time; all must end in the same state.
func TestConcurrentExecutables(t *testing.T) {
	p := mlp("adam", 16, 30, 40, 10)
	alone := newSession(t, p)
	for range 20 {
		alone.run(t)
	}
	want := snapshot(alone)
	var group sync.WaitGroup
	for range 4 {
		s := newSession(t, p)
		group.Go(func() {
			for range 20 {
				s.run(t)
			}
			assert.True(t, bytes.Equal(want, snapshot(s)))
		})
	}
	group.Wait()
}

func TestTrainStepDoesNotAllocate(t *testing.T) {
	for _, p := range []*ir.Program{cnn("adam", 8), mlp("sgd", 8, 20, 30, 10)} {
		s := newSession(t, p)
		s.run(t)
		assert.Zero(t, testing.AllocsPerRun(10, func() { s.run(t) }), p.Name)
		st := s.e.Stats()
		assert.Equal(t, len(p.Nodes), st.Nodes)
		assert.Less(t, st.Steps, st.Nodes)
		assert.Positive(t, st.ArenaBytes)
	}
}

func TestLossFalls(t *testing.T) {
	s := newSession(t, cnn("adam", 32))
	s.run(t)
	first := s.float(0)
	for range 80 {
		s.run(t)
	}
	assert.Less(t, s.float(0), first/2)
}

func TestRunReportsMistakes(t *testing.T) {
	g := tape{ir.New("add")}
	a, b := g.input("a", ir.Float32, 3), g.input("b", ir.Float32, 3)
	g.p.AddOutput("sum", g.op(ir.Add, nil, a, b))
	g.p.AddAlias("a", g.op(ir.Mul, nil, a, b), 0)
	e, err := kernels.Load(cpu.Backend{}, g.p, device)
	require.NoError(t, err)
	buffer := func(d ir.DType, shape ...int) kernels.Buffer {
		b, err := cpu.Backend{}.NewBuffer(device, ir.Type{DType: d, Shape: shape})
		require.NoError(t, err)
		return b
	}
	x, y, z := buffer(ir.Float32, 3), buffer(ir.Float32, 3), buffer(ir.Float32, 3)
	freed := buffer(ir.Float32, 3)
	freed.Free()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	cases := []struct {
		name    string
		ctx     context.Context
		in, out []kernels.Buffer
		want    string
	}{
		{"too few inputs", nil, []kernels.Buffer{x}, []kernels.Buffer{z, nil}, "takes 2 inputs and 2 outputs, received 1 and 2"},
		{"missing input", nil, []kernels.Buffer{x, nil}, []kernels.Buffer{z, nil}, `input 1 "b": received no buffer, expected one of float32[3]`},
		{"missing output", nil, []kernels.Buffer{x, y}, []kernels.Buffer{nil, nil}, `output 0 "sum": received no buffer`},
		{"wrong type", nil, []kernels.Buffer{x, buffer(ir.Float64, 3)}, []kernels.Buffer{z, nil}, "received a buffer of float64[3], expected float32[3]"},
		{"freed", nil, []kernels.Buffer{x, freed}, []kernels.Buffer{z, nil}, "0 bytes of host memory, expected 12"},
		{"output is an input", nil, []kernels.Buffer{x, y}, []kernels.Buffer{y, nil}, `output 0 "sum" and input 1 "b" are the same buffer`},
		{"outputs are one", nil, []kernels.Buffer{x, y}, []kernels.Buffer{z, z}, "are the same buffer"},
		{"cancelled", cancelled, []kernels.Buffer{x, y}, []kernels.Buffer{z, nil}, "context canceled"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			ctx := c.ctx
			if ctx == nil {
				ctx = context.Background()
			}
			assert.ErrorContains(t, e.Run(ctx, c.in, c.out), c.want)
		})
	}
	require.NoError(t, e.Run(context.Background(), []kernels.Buffer{x, y}, []kernels.Buffer{z, x}), "an output may be given the input it replaces")
	e.Close()
	assert.ErrorContains(t, e.Run(context.Background(), []kernels.Buffer{x, y}, []kernels.Buffer{z, nil}), "closed")
}

func TestCompileReportsMistakes(t *testing.T) {
	_, err := kernels.Load(cpu.Backend{}, ir.New(""), kernels.Device{Kind: "gpu"})
	assert.ErrorContains(t, err, "gpu:0")
	none, err := cpu.Backend{}.Compile(ir.New(""), kernels.CompileOptions{Device: device, Replicas: 2})
	require.NoError(t, err)
	defer none.Close()
	_, err = none.NewSession(kernels.SessionOptions{Device: device, Replica: 2})
	assert.ErrorContains(t, err, "replica 2 of 2")
	g := tape{ir.New("reduce")}
	x := g.input("x", ir.Float32, 3)
	g.p.AddOutput("y", g.ops(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}, x)[0])
	_, err = kernels.Load(cpu.Backend{}, g.p, device)
	assert.ErrorContains(t, err, "made for 2 replicas, the program is compiled for 1")
	two, err := cpu.Backend{}.Compile(g.p, kernels.CompileOptions{Device: device, Replicas: 2})
	require.NoError(t, err)
	defer two.Close()
	s, err := two.NewSession(kernels.SessionOptions{Device: device, Replica: 1})
	require.NoError(t, err)
	defer s.Close()
	launch := func(c kernels.Communicator) error {
		return s.Launch(t.Context(), kernels.Launch{Inputs: []kernels.Buffer{newBuffer(t, ir.Float32, 3)}, Outputs: []kernels.Buffer{newBuffer(t, ir.Float32, 3)}, Communicator: c}).Wait(t.Context())
	}
	assert.ErrorContains(t, launch(nil), "without a communicator")
	assert.ErrorContains(t, launch(communicators(t, 2)[0]), "the communicator of replica 0 of 2")
}

// TestIndexError: a bad index names its layer, even inside a loop, and the executable stays usable.
func TestIndexError(t *testing.T) {
	body := tape{ir.New("body")}
	carry, i, table := body.input("c", ir.Float32, 4), body.input("i", ir.Int64, 2), body.input("t", ir.Float32, 3, 4)
	rows, err := body.p.Add("model/embedding", ir.Embedding, nil, table, i)
	require.NoError(t, err)
	body.p.AddOutput("c", body.op(ir.Add, nil, carry, body.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, rows[0])))
	g := tape{ir.New("loop")}
	c, is, tb := g.input("c", ir.Float32, 4), g.input("i", ir.Int64, 5, 2), g.input("t", ir.Float32, 3, 4)
	g.p.AddOutput("c", g.op(ir.Scan, ir.ScanAttrs{Body: body.p, Length: 5, Carry: 1, Xs: 1}, c, is, tb))
	s := newSession(t, g.p)
	at := s.inputs[1].Bytes()
	clear(at)
	s.run(t)
	at[8*7] = 3 // step 3, second index
	err = s.e.Run(context.Background(), s.inputs, s.outputs)
	var bad *cpu.IndexError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, cpu.IndexError{Scope: "model/embedding", Op: "embedding", Index: "3", Position: 1, Axis: 0, Length: 3}, *bad)
	at[8*7] = 2
	s.run(t)

	for _, bad := range []cpu.IndexError{
		{Scope: "model/loss", Op: "sparse_softmax_cross_entropy", Index: "10", Position: 3, Axis: 1, Length: 10},
		{Scope: "model/sparse_categorical_crossentropy", Op: "embedding", Index: "10", Position: 3, Length: 10},
	} {
		assert.ErrorContains(t, &bad, ": label 10 (element 3 of the labels) is none of the model's 10 classes; labels are 0 to 9")
	}
}

func TestProfile(t *testing.T) {
	s := newSession(t, mlp("sgd", 8, 20, 30, 10))
	p := s.e.Session.(cpu.Profiler)
	s.run(t)
	assert.Empty(t, p.Profile())
	p.Profiling(true)
	s.run(t)
	s.run(t)
	p.Profiling(false)
	s.run(t)
	profile := p.Profile()
	require.Len(t, profile, s.e.Stats().Steps)
	found := false
	for i, op := range profile {
		assert.Equal(t, 2, op.Calls)
		assert.True(t, i == 0 || op.Time <= profile[i-1].Time)
		assert.Positive(t, op.Bytes, op.Name)
		if strings.Contains(op.Name, "dot+add+relu") {
			found = true
			assert.EqualValues(t, 2*8*20*30, op.FLOPs)
		}
	}
	assert.True(t, found, "the dense layer's bias and relu are part of its product: %v", profile)
}
