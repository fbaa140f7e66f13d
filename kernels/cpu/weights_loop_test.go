package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// newLoopPredictor is newPredictor for one row that is repeatedly multiplied by the weights, in a given type.
func newLoopPredictor(t *testing.T, d ir.DType) *predictor {
	const units, steps = 70, 4
	add := func(p *ir.Program, op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	float := func(d ir.DType, shape ...int) ir.Type { return ir.Type{DType: d, Shape: shape} }
	body := ir.New("step")
	h, u := body.AddInput("h", float(d, 1, units)), body.AddInput("u", float(d, units, units))
	body.AddOutput("h", add(body, ir.Tanh, nil, add(body, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, h, u)))
	p := ir.New("loop")
	x, w := p.AddInput("x", float(ir.Float32, 1, units)), p.AddInput("w", float(ir.Float32, units, units))
	in := []ir.Value{x, w}
	if d != ir.Float32 {
		for i, v := range in {
			in[i] = add(p, ir.Convert, ir.ConvertAttrs{DType: d}, v)
		}
	}
	p.AddOutput("y", add(p, ir.Scan, ir.ScanAttrs{Body: body, Length: steps, Carry: 1}, in...))
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, false)
	require.NoError(t, err)
	f := &predictor{t, e, newBuffer(here, p.Type(x)), newBuffer(here, float(d, 1, units))}
	require.NoError(t, f.x.Write(float32s(units)))
	return f
}

// TestKeptWeightsOfLoops: a loop that multiplies one row by the same weights in each step reads the panels that the
// weights' buffer keeps, until the weights change.
func TestKeptWeightsOfLoops(t *testing.T) {
	defer WithoutExcess()()
	for i, d := range []ir.DType{ir.BFloat16, ir.Float16, ir.Float32} {
		t.Run(d.String(), func(t *testing.T) {
			f, w := newLoopPredictor(t, d), newBuffer(here, ir.Type{DType: ir.Float32, Shape: ir.Shape{70, 70}})
			for _, contents := range [][]byte{make([]byte, 4*70*70), float32s(70 * 70)} {
				require.NoError(t, w.Write(contents))
				fresh := newBuffer(here, w.typ)
				require.NoError(t, fresh.Write(w.data))
				fresh.exposed.Store(true) // nothing is kept with it
				want := f.run(fresh)
				for run := range 3 {
					require.Equal(t, want, f.run(w), "run %d", run)
				}
				in := w
				if d != ir.Float32 {
					in = w.halves.each[i].in
				}
				require.Equal(t, in.version.Load(), in.panels.holds.Load(), "kept in panels")
				require.Zero(t, fresh.panels.holds.Load())
			}
		})
	}
}

// TestKeptWeightsOfBlocks: a loop that runs in blocks of rows reads the panels that the buffers of its matrices keep,
// until these change.
func TestKeptWeightsOfBlocks(t *testing.T) {
	p := stackedLoops(t, stackedSizes{3, 8, 70, 70, 1})
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, false)
	require.NoError(t, err)
	defer e.Close()
	y := newBuffer(here, p.Type(p.Outputs[0].Value))
	var in []kernels.Buffer
	for _, v := range p.Inputs {
		b := newBuffer(here, p.Type(v.Value))
		require.NoError(t, b.Write(float32s(b.typ.Shape.Size())))
		in = append(in, b)
	}
	const u = 3
	run := func() string {
		require.NoError(t, e.Run(t.Context(), in, []kernels.Buffer{y}))
		return string(y.data)
	}
	kept := in[u].(*buffer)
	for _, scale := range []byte{0, 1} {
		contents := float32s(70 * 70)
		for i := range contents {
			contents[i] *= scale
		}
		require.NoError(t, kept.Write(contents))
		fresh := newBuffer(here, kept.typ)
		require.NoError(t, fresh.Write(contents))
		fresh.exposed.Store(true) // nothing is kept with it
		in[u] = fresh
		want := run()
		in[u] = kept
		for i := range 3 {
			require.Equal(t, want, run(), "run %d", i)
		}
		require.Equal(t, kept.version.Load(), kept.panels.holds.Load(), "kept in panels")
		require.Zero(t, fresh.panels.holds.Load())
	}
}
