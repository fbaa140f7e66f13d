package kernelstest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// decomposed runs the float32 and bfloat16 cases of composites as the primitives of their decompositions.
func (r runner) decomposed(t *testing.T) {
	for i, c := range Selected() {
		if d := c.Inputs; !r.mine(i) || !c.Op.IsComposite() || d[0].Type.DType != ir.Float32 && d[0].Type.DType != ir.BFloat16 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			expanded, err := ir.Expand(c.Program, nil)
			require.NoError(t, err)
			c.Program = expanded
			r.check(t, c)
		})
	}
}

// RandomPrograms is the number of random programs that Run checks; with -short it checks one in ten.
const RandomPrograms = 500

func (r runner) random(t *testing.T) {
	for seed := range uint64(RandomPrograms) {
		if testing.Short() && seed%10 != 0 || !r.mine(int(seed)) {
			continue
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			p, inputs := RandomProgram(seed)
			r.check(t, Case{Name: p.Name, Program: p, Inputs: inputs, Units: 1 << 13, Whole: true})
			if !t.Failed() {
				r.inPlace(t, p, inputs)
			}
		})
	}
}

// inPlace runs a program once with buffers for all outputs, and once with outputs replacing inputs: the bits must be
// the same, and inputs that nothing replaces unchanged.
func (r runner) inPlace(t *testing.T, p *ir.Program, inputs []reference.Value) {
	t.Helper()
	e, err := kernels.Load(r.backend, p, r.device)
	require.NoError(t, err)
	defer e.Close()
	want, err := r.run(runContext(t), e, p, inputs)
	require.NoError(t, err)
	in, err := r.upload(inputs)
	defer free(in)
	require.NoError(t, err)
	out := make([]kernels.Buffer, len(p.Outputs))
	where := make([]kernels.Buffer, len(p.Outputs))
	replaced := map[int]bool{}
	for i, o := range p.Outputs {
		if o.Alias >= 0 {
			where[i] = in[o.Alias]
			replaced[o.Alias] = true
			continue
		}
		out[i], err = r.garbage(p.Type(o.Value))
		require.NoError(t, err)
		defer out[i].Free()
		where[i] = out[i]
	}
	require.NoError(t, e.Run(runContext(t), in, out))
	for i, b := range where {
		got, err := download(b)
		require.NoError(t, err)
		if !bytes.Equal(got.Bytes(), want[i].Bytes()) {
			t.Errorf("output %d %q differs between a buffer of its own and the place of the input that it replaces: %v, want %v\n%v", i, p.Outputs[i].Name, got, want[i], p)
		}
	}
	for i, b := range in {
		got, err := download(b)
		require.NoError(t, err)
		if !replaced[i] && !bytes.Equal(got.Bytes(), inputs[i].Bytes()) {
			t.Errorf("input %d was changed, but nothing replaces it\n%v", i, p)
		}
	}
}

// aliases are programs whose outputs replace inputs in ways that a careless order of writes would spoil.
func (r runner) aliases(t *testing.T) {
	type build func(p program) []reference.Value
	var d *draft // of the program being made
	vector := func() reference.Value { return d.normal(ir.Float32, 5) }
	one := func(p program, v ir.Value) ir.Value {
		return p.op(ir.Add, nil, v, p.constant(ir.Float32, 1, 5))
	}
	for name, f := range map[string]build{
		"update": func(p program) []reference.Value {
			w, g := p.in(ir.Float32, 5), p.in(ir.Float32, 5)
			p.AddAlias("w", p.op(ir.Sub, nil, w, g), 0)
			return []reference.Value{vector(), vector()}
		},
		"old value read after the update": func(p program) []reference.Value {
			w := p.in(ir.Float32, 5)
			next := one(p, w)
			p.AddAlias("w", next, 0)
			p.AddOutput("old", p.op(ir.Neg, nil, w))
			p.AddOutput("itself", w)
			p.AddOutput("copy", next)
			return []reference.Value{vector()}
		},
		"swap": func(p program) []reference.Value {
			a, b := p.in(ir.Float32, 5), p.in(ir.Float32, 5)
			p.AddAlias("a", b, 0)
			p.AddAlias("b", a, 1)
			return []reference.Value{vector(), vector()}
		},
		"rotation with work": func(p program) []reference.Value {
			a, b, c := p.in(ir.Float32, 5), p.in(ir.Float32, 5), p.in(ir.Float32, 5)
			p.AddAlias("a", one(p, b), 0)
			p.AddAlias("b", one(p, c), 1)
			p.AddAlias("c", one(p, a), 2)
			return []reference.Value{vector(), vector(), vector()}
		},
		"unchanged": func(p program) []reference.Value {
			w := p.in(ir.Float32, 5)
			p.AddAlias("w", w, 0)
			p.AddOutput("y", one(p, w))
			return []reference.Value{vector()}
		},
		"one value to two inputs": func(p program) []reference.Value {
			a, b := p.in(ir.Float32, 5), p.in(ir.Float32, 5)
			sum := p.op(ir.Add, nil, a, b)
			p.AddAlias("a", sum, 0)
			p.AddAlias("b", sum, 1)
			return []reference.Value{vector(), vector()}
		},
		"reversed in place": func(p program) []reference.Value {
			w := p.in(ir.Float32, 5)
			p.AddAlias("w", p.op(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, w), 0)
			return []reference.Value{vector()}
		},
		"transposed in place": func(p program) []reference.Value {
			w := p.in(ir.Float32, 7, 7)
			p.AddAlias("w", p.op(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, w), 0)
			return []reference.Value{d.normal(ir.Float32, 7, 7)}
		},
		"product with itself": func(p program) []reference.Value {
			w := p.in(ir.Float32, 6, 6)
			p.AddAlias("w", p.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, w, w), 0)
			return []reference.Value{d.normal(ir.Float32, 6, 6)}
		},
		"constant": func(p program) []reference.Value {
			p.in(ir.Float32, 5)
			p.AddAlias("w", p.constant(ir.Float32, 3, 5), 0)
			return []reference.Value{vector()}
		},
		"adam": func(p program) []reference.Value {
			w, g, rate, step, m, v := p.in(ir.Float32, 33), p.in(ir.Float32, 33), p.in(ir.Float32), p.in(ir.Float32), p.in(ir.Float32, 33), p.in(ir.Float32, 33)
			r := p.ops(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "adam", Values: []float64{0.9, 0.999, 1e-7}}, w, g, rate, step, m, v)
			p.AddAlias("w", r[0], 0)
			p.AddAlias("m", r[1], 4)
			p.AddAlias("v", r[2], 5)
			p.AddAlias("step", p.op(ir.Add, nil, step, p.constant(ir.Float32, 1)), 3)
			return []reference.Value{d.normal(ir.Float32, 33), d.normal(ir.Float32, 33), d.positive(ir.Float32), value(ir.Float32, nil, func(int) float64 { return 1 }), d.normal(ir.Float32, 33), d.positive(ir.Float32, 33)}
		},
		"training step": func(p program) []reference.Value { return trainingStep(p, d) },
		"scatter into a table": func(p program) []reference.Value {
			table, where, rows := p.in(ir.Float32, 6, 2), p.in(ir.Int32, 3), p.in(ir.Float32, 3, 2)
			p.AddAlias("table", p.op(ir.Scatter, ir.ScatterAttrs{Kind: ir.Sum}, table, where, rows), 0)
			p.AddOutput("before", p.op(ir.Gather, ir.GatherAttrs{}, table, where))
			return []reference.Value{d.normal(ir.Float32, 6, 2), d.below(ir.Int32, 6, 3), d.normal(ir.Float32, 3, 2)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProgram(name)
			d = (&suite{}).new(ir.Identity, "alias %s", name)
			inputs := f(p)
			r.check(t, Case{Name: name, Program: p.Program, Inputs: inputs, Units: 32, Whole: true})
			r.inPlace(t, p.Program, inputs)
		})
	}
}

// badInput checks that mistakes are reported as errors and not as panics, and that a failed run corrupts nothing.
func (r runner) badInput(t *testing.T) {
	t.Run("index", r.badIndices)
	t.Run("not finite", r.notFinite)
	p := newProgram("sum")
	sum := p.op(ir.Add, nil, p.in(ir.Float32, 3), p.in(ir.Float32, 3))
	p.out(sum)
	e, err := kernels.Load(r.backend, p.Program, r.device)
	require.NoError(t, err)
	defer e.Close()
	good := make([]kernels.Buffer, 3)
	for i := range good {
		good[i], err = r.garbage(ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
		require.NoError(t, err)
	}
	defer free(good)
	short, err := r.backend.NewBuffer(r.device, ir.Type{DType: ir.Float32, Shape: ir.Shape{2}})
	require.NoError(t, err)
	defer short.Free()
	other, err := r.backend.NewBuffer(r.device, ir.Type{DType: ir.Int32, Shape: ir.Shape{3}})
	require.NoError(t, err)
	defer other.Free()
	for name, buffers := range map[string][2][]kernels.Buffer{
		"too few inputs":         {good[:1], good[2:]},
		"too many inputs":        {good, good[2:]},
		"no outputs":             {good[:2], nil},
		"too many outputs":       {good[:2], good},
		"wrong input shape":      {{good[0], short}, good[2:]},
		"wrong input type":       {{good[0], other}, good[2:]},
		"wrong output shape":     {good[:2], {short}},
		"wrong output type":      {good[:2], {other}},
		"input missing":          {{good[0], nil}, good[2:]},
		"output of no input nil": {good[:2], {nil}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Error(t, e.Run(runContext(t), buffers[0], buffers[1]))
		})
	}
	assert.NoError(t, e.Run(runContext(t), good[:2], good[2:]), "after the mistakes")
	t.Run("buffer", func(t *testing.T) {
		assert.Equal(t, "float32[3]", good[0].Type().String())
		assert.Equal(t, r.device, good[0].Device())
		assert.NoError(t, good[0].Write([]byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64}))
		if host := good[0].Bytes(); host != nil {
			assert.Equal(t, []byte{0, 0, 128, 63, 0, 0, 0, 64, 0, 0, 64, 64}, host)
		}
		assert.Error(t, good[0].Write(make([]byte, 11)))
		assert.Error(t, good[0].Write(make([]byte, 13)))
		assert.Error(t, good[0].Read(make([]byte, 11)))
		assert.NoError(t, good[0].Write(make([]byte, 12)))
		_, err := r.backend.NewBuffer(r.device, ir.Type{DType: ir.Invalid})
		assert.Error(t, err)
		_, err = r.backend.NewBuffer(r.device, ir.Type{DType: ir.Float32, Shape: ir.Shape{-1}})
		assert.Error(t, err)
	})
	t.Run("broken program", func(t *testing.T) {
		broken := newProgram("broken")
		broken.out(broken.op(ir.Neg, nil, broken.in(ir.Float32, 3)))
		broken.Nodes[0].Inputs[0] = 1 // itself
		_, err := kernels.Load(r.backend, broken.Program, r.device)
		assert.Error(t, err)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Run(ctx, good[:2], good[2:]); err != nil { // either is fine: ctx ends waiting, not work
			assert.ErrorIs(t, err, context.Canceled)
		}
	})
}

// badIndices: an index outside its axis is an error that names the layer, the index and the axis length.
func (r runner) badIndices(t *testing.T) {
	where := func(index float64) reference.Value {
		return value(ir.Int32, ir.Shape{3}, func(i int) float64 { return []float64{0, index, 1}[i] })
	}
	d := (&suite{}).new(ir.Gather, "bad index")
	for _, index := range []float64{-1, 7, 1000000} {
		for _, c := range []struct {
			op     ir.Op
			attrs  ir.Attrs
			inputs []reference.Value
		}{
			{ir.Gather, ir.GatherAttrs{Axis: 1}, []reference.Value{d.normal(ir.Float32, 2, 7), where(index)}},
			{ir.Scatter, ir.ScatterAttrs{Axis: 1, Kind: ir.Sum}, []reference.Value{d.normal(ir.Float32, 2, 7), where(index), d.normal(ir.Float32, 2, 3)}},
			{ir.Scatter, ir.ScatterAttrs{Axis: 0, Kind: ir.Set}, []reference.Value{d.normal(ir.Float32, 7, 2), where(index), d.normal(ir.Float32, 3, 2)}},
			{ir.Embedding, nil, []reference.Value{d.normal(ir.Float32, 7, 2), where(index)}},
			{ir.EmbeddingGrad, nil, []reference.Value{d.normal(ir.Float32, 7, 2), where(index), d.normal(ir.Float32, 3, 2)}},
			{ir.SparseSoftmaxCrossEntropy, nil, []reference.Value{d.normal(ir.Float32, 3, 7), where(index)}},
			{ir.SparseSoftmaxCrossEntropyGrad, nil, []reference.Value{d.normal(ir.Float32, 3, 7), where(index), d.normal(ir.Float32, 3), d.normal(ir.Float32, 3)}},
		} {
			t.Run(fmt.Sprintf("%v %v", c.op, index), func(t *testing.T) {
				s := &suite{}
				s.new(c.op, "bad").add(c.attrs, c.inputs...)
				_, err := reference.Run(s.cases[0].Program, c.inputs)
				require.Error(t, err, "the reference accepts the index")
				e, err := kernels.Load(r.backend, s.cases[0].Program, r.device)
				require.NoError(t, err)
				defer e.Close()
				_, err = r.run(runContext(t), e, s.cases[0].Program, c.inputs)
				require.Error(t, err)
				for _, word := range []string{"layer", fmt.Sprint(int(index)), "7"} {
					assert.Contains(t, err.Error(), word)
				}
			})
		}
	}
}

// notFinite: if a checked number is not finite, the error names the layer, the checked value and the position of the
// first such number, and the run changes no variable; in a loop it is the position within the step.
func (r runner) notFinite(t *testing.T) {
	shape := ir.Shape{40, 50}
	look := func(p program, x ir.Value) ir.Value {
		return p.op(ir.CheckFinite, ir.CheckFiniteAttrs{What: "the result"}, x)
	}
	steps := func(p program, x ir.Value, body program) ir.Value {
		return p.op(ir.Scan, ir.ScanAttrs{Body: body.Program, Length: 40, Xs: 1}, x)
	}
	for _, c := range []struct {
		name    string
		look    func(p program, x ir.Value, dtype ir.DType) ir.Value
		shape   ir.Shape
		element []int
	}{
		{"", func(p program, x ir.Value, _ ir.DType) ir.Value { return look(p, x) }, shape, []int{39, 4}}, // the first of two
		{"in a loop", func(p program, x ir.Value, dtype ir.DType) ir.Value {
			body := newProgram("body")
			body.out(look(body, body.in(dtype, 50)))
			return steps(p, x, body)
		}, ir.Shape{50}, []int{4}},
		{"in a branch in a loop", func(p program, x ir.Value, dtype ir.DType) ir.Value {
			body, then, otherwise := newProgram("body"), newProgram("then"), newProgram("otherwise")
			then.out(look(then, then.in(dtype, 50)))
			otherwise.out(otherwise.in(dtype, 50))
			body.out(body.op(ir.Cond, ir.CondAttrs{Then: then.Program, Else: otherwise.Program}, body.constant(ir.Bool, 1), body.in(dtype, 50)))
			return steps(p, x, body)
		}, ir.Shape{50}, []int{4}},
	} {
		for _, dtype := range floats {
			for _, special := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				t.Run(fmt.Sprint(dtype, special, c.name), func(t *testing.T) {
					p := newProgram("look")
					count, x := p.in(ir.Float32), p.in(dtype, shape...)
					p.AddAlias("count", p.op(ir.Add, nil, count, p.constant(ir.Float32, 1)), 0)
					p.out(c.look(p, x, dtype))
					r.findsNotFinite(t, p, dtype, special, ir.NotFiniteError{Scope: "layer", What: "the result", Shape: c.shape, Element: c.element})
				})
			}
		}
	}
}

// findsNotFinite runs a program on a count and on numbers of which two are special.
func (r runner) findsNotFinite(t *testing.T, p program, dtype ir.DType, special float64, want ir.NotFiniteError) {
	if r.refuses(t, p.Program) {
		return
	}
	inputs := []reference.Value{value(ir.Float32, nil, func(int) float64 { return 7 }), value(dtype, ir.Shape{40, 50}, func(i int) float64 {
		if i == 39*50+4 || i == 39*50+8 {
			return special
		}
		return float64(i % 64)
	})}
	for _, where := range []string{"reference", "backend"} {
		var err error
		if where == "reference" {
			_, err = reference.Run(p.Program, inputs)
		} else {
			err = r.keepsVariable(t, p.Program, inputs)
		}
		var found *ir.NotFiniteError
		require.ErrorAs(t, err, &found, where)
		require.Equal(t, want, *found, where)
	}
}

// keepsVariable runs a program that fails, and checks that its first input, a variable, is unchanged.
func (r runner) keepsVariable(t *testing.T, p *ir.Program, inputs []reference.Value) error {
	e, err := kernels.Load(r.backend, p, r.device)
	require.NoError(t, err)
	defer e.Close()
	in, err := r.upload(inputs)
	require.NoError(t, err)
	row, err := r.garbage(inputs[1].Type)
	require.NoError(t, err)
	defer func() { free(append(in, row)) }()
	failed := e.Run(runContext(t), in, []kernels.Buffer{nil, row})
	kept := kernels.NewArray(inputs[0].Type)
	require.NoError(t, in[0].Read(kept.Data))
	require.Equal(t, inputs[0].Bytes(), kept.Data)
	return failed
}
