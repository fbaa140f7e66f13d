//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Kernels that share a launch do not depend on each other: in no random program do threads touch the same memory in an
// order that nothing decides.
func TestNoRaces(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Races: true})
	b := on(t, f)
	d := kernels.Device{Kind: Kind}
	for seed := range uint64(kernelstest.RandomPrograms) {
		if brief() && seed%10 != 0 {
			continue
		}
		p, inputs := kernelstest.RandomProgram(seed)
		e, err := kernels.Load(b, p, d)
		require.NoError(t, err)
		all := make([]kernels.Buffer, 0, len(inputs)+len(p.Outputs))
		buffer := func(typ ir.Type, data []byte) {
			x, err := b.NewBuffer(d, typ)
			require.NoError(t, err)
			if data != nil {
				require.NoError(t, x.Write(data))
			}
			all = append(all, x)
		}
		for _, in := range inputs {
			buffer(in.Type, in.Bytes())
		}
		for _, out := range p.Outputs {
			if out.Alias >= 0 {
				all = append(all, nil)
				continue
			}
			buffer(p.Type(out.Value), nil)
		}
		require.NoError(t, e.Run(t.Context(), all[:len(inputs)], all[len(inputs):]), "%v", p)
		require.NoError(t, f.Fault(), "%v", p)
		e.Close()
		for _, x := range all {
			if x != nil {
				x.Free()
			}
		}
	}
}

// A reduction that overwrites a variable does not join an earlier one before the last reader of the old value.
func TestReductionsWaitForReaders(t *testing.T) {
	p := ir.New("p")
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return out[0]
	}
	x, w := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{6, 4}}), p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{4}})
	sum := ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}
	p.AddOutput("sum", add(ir.Reduce, sum, x))
	p.AddOutput("sorted", add(ir.Sort, ir.SortAttrs{}, w))
	p.AddAlias("w", add(ir.Sub, nil, w, add(ir.Reduce, sum, add(ir.Neg, nil, x))), 1)
	inputs := make([]reference.Value, 2)
	for i, in := range p.Inputs {
		typ := p.Type(in.Value)
		elements := make([]float64, typ.Shape.Size())
		for j := range elements {
			elements[j] = float64(j * 7 % 5)
		}
		var err error
		inputs[i], err = reference.New(typ.DType, typ.Shape, elements...)
		require.NoError(t, err)
	}
	want, err := reference.Run(p, inputs)
	require.NoError(t, err)
	b, d := on(t, fakedriver.New(fakedriver.Options{})), kernels.Device{Kind: Kind}
	e, err := kernels.Load(b, p, d)
	require.NoError(t, err)
	defer e.Close()
	var in, out []kernels.Buffer
	for _, v := range inputs {
		buffer, err := b.NewBuffer(d, v.Type)
		require.NoError(t, err)
		defer buffer.Free()
		require.NoError(t, buffer.Write(v.Bytes()))
		in = append(in, buffer)
	}
	for i := range 2 {
		buffer, err := b.NewBuffer(d, want[i].Type)
		require.NoError(t, err)
		defer buffer.Free()
		out = append(out, buffer)
	}
	require.NoError(t, e.Run(t.Context(), in, append(out, nil)))
	for i, buffer := range append(out, in[1]) {
		data := make([]byte, len(want[i].Bytes()))
		require.NoError(t, buffer.Read(data))
		require.Equal(t, want[i].Bytes(), data, "output %d", i)
	}
}
