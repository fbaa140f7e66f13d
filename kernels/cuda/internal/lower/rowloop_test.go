package lower_test

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// lstm is a loop of LSTM cells, or its gradient with the sums that belong to it.
func lstm(t testing.TB, d ir.DType, batch, steps, units int) *ir.Program {
	p := ir.New("lstm")
	add := func(p *ir.Program, op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v
	}
	typ := func(shape ...int) ir.Type { return ir.Type{DType: d, Shape: shape} }
	loop := func(carry, xs []ir.Type, step func(body *ir.Program, in []ir.Value) []ir.Value, reverse bool) {
		body := ir.New("step")
		var in, outer []ir.Value
		for _, c := range carry {
			in, outer = append(in, body.AddInput("", c)), append(outer, p.AddInput("", c))
		}
		for _, x := range xs {
			in, outer = append(in, body.AddInput("", x)), append(outer, p.AddInput("", ir.Type{DType: d, Shape: append(ir.Shape{steps}, x.Shape...)}))
		}
		in, outer = append(in, body.AddInput("", typ(units, 4*units))), append(outer, p.AddInput("", typ(units, 4*units)))
		for _, v := range step(body, in) {
			body.AddOutput("", v)
		}
		for _, v := range add(p, ir.Scan, ir.ScanAttrs{Body: body, Length: steps, Carry: len(carry), Xs: len(xs), Reverse: reverse}, outer...) {
			p.AddOutput("", v)
		}
	}
	state, wide := typ(batch, units), typ(batch, 4*units)
	loop([]ir.Type{state, state}, []ir.Type{wide}, func(b *ir.Program, in []ir.Value) []ir.Value {
		z := add(b, ir.Add, nil, in[2], add(b, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, in[0], in[3])[0])[0]
		h := add(b, ir.LstmCell, nil, z, in[1])
		return []ir.Value{h[0], h[1], h[2], in[0], in[1]}
	}, false)
	loop([]ir.Type{state, state, typ(units, 4*units)}, []ir.Type{wide, state, state}, func(b *ir.Program, in []ir.Value) []ir.Value {
		dz := add(b, ir.LstmCellGrad, nil, in[3], in[5], in[0], in[1])
		dh := add(b, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, dz[0], in[6])[0]
		dw := add(b, ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, in[4], dz[0])[0]
		return []ir.Value{dh, dz[1], add(b, ir.Add, nil, in[2], dw)[0], dz[0]}
	}, true)
	return p
}

// run runs a plan's kernels on small numbers, and returns what they write.
func run(t *testing.T, text string, p *ir.Program, plan *lower.Plan, order ptxsim.Order) ([][]byte, error) {
	module, err := ptxsim.Parse(text)
	require.NoError(t, err)
	var memory ptxsim.Memory
	var inputs, outputs []uint64
	for i, in := range p.Inputs {
		a := memory.Alloc(p.Type(in.Value).Bytes())
		inputs = append(inputs, a)
		for j := 0; j < p.Type(in.Value).Bytes(); j += 4 {
			binary.LittleEndian.PutUint32(memory.At(a)[j:], math.Float32bits(float32((j/4*7+i)%11-5)/16))
		}
	}
	for _, out := range p.Outputs {
		outputs = append(outputs, memory.Alloc(p.Type(out.Value).Bytes()))
	}
	arena, constants := memory.Alloc(int(plan.ArenaBytes)+1), memory.Alloc(len(plan.Constants)+1)
	copy(memory.At(constants), plan.Constants)
	for _, s := range plan.Steps {
		require.Equal(t, lower.Launch, s.Kind)
		args := make([]uint64, len(s.Args))
		for i, a := range s.Args {
			switch a.Place.Space {
			case lower.Input:
				args[i] = inputs[a.Place.Index]
			case lower.Output:
				args[i] = outputs[a.Place.Index]
			case lower.Arena:
				args[i] = arena
			case lower.Constants:
				args[i] = constants
			}
			args[i] += uint64(a.Place.Offset)
		}
		l := ptxsim.Launch{Grid: s.Grid, Block: s.Block, Shared: s.Shared, Args: args, Memory: &memory, Order: order, Races: true}
		if err := module.Kernels[s.Kernel].Run(l); err != nil {
			return nil, err
		}
	}
	var all [][]byte
	for i, a := range outputs {
		all = append(all, memory.At(a)[:p.Type(p.Outputs[i].Value).Bytes()])
	}
	return all, nil
}

// A recurrent layer is one kernel forward, and one backward followed by a product. Each of their barriers is needed,
// with two exceptions: the one at the end of a step if the next step begins with barriers, and the one after copying
// the matrix if the first step has one before its product.
func TestRowLoopBarriers(t *testing.T) {
	p := lstm(t, ir.Float32, 2, 3, 16)
	plan, err := lower.Program(p, lower.Options{})
	require.NoError(t, err)
	want, err := run(t, plan.Text, p, plan, ptxsim.Up)
	require.NoError(t, err)
	const barrier = "\tbar.sync 0;\n"
	parts := strings.Split(plan.Text, barrier)
	removed := 0
	for i := 1; i < len(parts); i++ {
		before := parts[i-1]
		product := strings.Contains(strings.Join(parts[:i], "")[strings.LastIndex(strings.Join(parts[:i], ""), ".entry"):], "shared_memory")
		if last := strings.Contains(parts[i], "ret;"); last || product {
			continue
		}
		broken := strings.Join(parts[:i-1], barrier)
		if i > 1 {
			broken += barrier
		}
		broken += before + strings.Join(parts[i:], barrier)
		found := false
		for _, order := range ptxsim.Orders() {
			got, err := run(t, broken, p, plan, order)
			if found = err != nil || !assert.ObjectsAreEqual(want, got); found {
				break
			}
		}
		removed++
		assert.True(t, found || strings.Contains(before, "st.shared"), "barrier %d was removed and nobody noticed", i)
	}
	assert.GreaterOrEqual(t, removed, 5)
}

// The assembler accepts the kernels of recurrent loops.
func TestAssemblerOfRowLoops(t *testing.T) {
	ptxas := assembler(t)
	for i, architecture := range architectures {
		var kernels []string
		o := lower.Options{Capability: []int{75, 80, 86, 89, 90, 100, 120}[i]}
		for _, d := range []ir.DType{ir.Float32, ir.BFloat16} {
			for _, batch := range []int{64, 1000} {
				plan, err := lower.Program(lstm(t, d, batch, 100, 128), o)
				require.NoError(t, err)
				for _, e := range ptx.Split(strings.ReplaceAll(plan.Text, ptx.HeaderAmpere, ptx.Header)) {
					if _, body, _ := strings.Cut(e.Text, ".visible .entry "); !strings.Contains(body, "mma.sync") && !strings.Contains(body, "cp.async") {
						kernels = append(kernels, ".visible .entry k"+strconv.Itoa(len(kernels))+body[strings.Index(body, "("):])
					}
				}
			}
		}
		inBatches(t, ptxas, architecture, ptx.Header+ptx.Dynamic, kernels, 128)
	}
}
