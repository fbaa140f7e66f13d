package partition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/partition"
)

// TestMisuse: what other backends refuse is refused here too: sessions after Close, buffers after Free, and an output
// that is an input which it does not replace, or another output.
func TestMisuse(t *testing.T) {
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 2}}
	p := ir.New("twice")
	x, w := p.AddInput("x", typ), p.AddInput("w", typ)
	p.AddOutput("y", must(p.Add("", ir.Add, nil, x, w))[0])
	p.AddOutput("z", must(p.Add("", ir.Mul, nil, x, w))[0])
	b, err := partition.For(cpu.Backend{})
	require.NoError(t, err)
	d, err := b.NewMesh(kernels.MeshOptions{Devices: []kernels.Device{{Kind: cpu.Kind}, {Kind: cpu.Kind, Index: 1}}, Shape: []int{2}, Layouts: func(*ir.Program) ([][]int, error) {
		return [][]int{{0, -1}, {-1, 0}}, nil
	}})
	require.NoError(t, err)
	l, err := kernels.Load(b, p, d)
	require.NoError(t, err)
	buffer := func() kernels.Buffer {
		b, err := b.NewBuffer(d, typ)
		require.NoError(t, err)
		require.NoError(t, b.Write(make([]byte, typ.Bytes())))
		return b
	}
	in, out := []kernels.Buffer{buffer(), buffer()}, []kernels.Buffer{buffer(), buffer()}
	run := func(inputs, outputs []kernels.Buffer) error { return l.Run(t.Context(), inputs, outputs) }
	require.NoError(t, run(in, out))
	for _, i := range []int{0, 1} {
		require.ErrorContains(t, run(in, []kernels.Buffer{out[0], in[i]}), `output 1 "z" and input`)
	}
	require.ErrorContains(t, run(in, []kernels.Buffer{out[0], out[0]}), `outputs 0 "y" and 1 "z" are the same buffer`)
	require.ErrorContains(t, run([]kernels.Buffer{in[0], in[0]}, out), "whose layouts differ")
	require.NoError(t, run(in, out))

	freed := buffer()
	freed.Free()
	freed.Free()
	memory := make([]byte, typ.Bytes())
	for _, err := range []error{
		run([]kernels.Buffer{freed, in[1]}, out), run(in, []kernels.Buffer{freed, out[1]}), freed.Read(memory), freed.Write(memory),
		freed.CopyFrom(in[0]).Wait(t.Context()), in[0].CopyFrom(freed).Wait(t.Context()), in[0].(kernels.Exchanger).Exchange(freed),
	} {
		require.ErrorContains(t, err, "after Free")
	}
	in[0].Free() // its parts have run
	require.ErrorContains(t, run(in, out), "after Free")
	in[0] = buffer()
	l.Close()
	require.ErrorContains(t, run(in, out), "the session is closed")
	l.Close()
}

// Compile leaves the layouts alone that the mesh's function gave it: the function may give the same ones again.
func TestLayoutsAreKept(t *testing.T) {
	p := ir.New("kept")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 2}})
	p.AddOutput("y", must(p.Add("", ir.Neg, nil, x))[0])
	b, err := partition.For(cpu.Backend{})
	require.NoError(t, err)
	own := [][]int{nil}
	d, err := b.NewMesh(kernels.MeshOptions{Devices: []kernels.Device{{Kind: cpu.Kind}, {Kind: cpu.Kind, Index: 1}}, Shape: []int{2}, Layouts: func(*ir.Program) ([][]int, error) { return own, nil }})
	require.NoError(t, err)
	e, err := b.Compile(p, kernels.CompileOptions{Device: d})
	require.NoError(t, err)
	e.Close()
	require.Equal(t, [][]int{nil}, own)
}
