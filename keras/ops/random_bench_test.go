package ops_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// BenchmarkRandom draws 2^20 numbers of each distribution, and 2^18 of those that require loops.
func BenchmarkRandom(b *testing.B) {
	const n = 1 << 20
	full := func(g *ops.Graph, v float64) *ops.Tensor { return ops.Full(g, ir.Float32, v, n/4) }
	for _, c := range []struct {
		name string
		f    func(g *ops.Graph) *ops.Tensor
	}{
		{"uniform", func(g *ops.Graph) *ops.Tensor { return ops.RandomUniform(g, ir.Float32, 0, 1, 1, n) }},
		{"normal", func(g *ops.Graph) *ops.Tensor { return ops.RandomNormal(g, ir.Float32, 0, 1, 1, n) }},
		{"randint", func(g *ops.Graph) *ops.Tensor { return ops.RandomInt(g, ir.Int32, 0, 100, 1, n) }},
		{"dropout", func(g *ops.Graph) *ops.Tensor { return ops.Dropout(g.Input("x", ir.Float32, 1024, 1024), 0.3, 1) }},
		{"truncated", func(g *ops.Graph) *ops.Tensor { return ops.TruncatedNormal(g, ir.Float32, 0, 1, 1, n) }},
		{"categorical", func(g *ops.Graph) *ops.Tensor { return ops.Categorical(g.Input("x", ir.Float32, 1024, 1024), 4, 1) }},
		{"gamma", func(g *ops.Graph) *ops.Tensor { return ops.RandomGamma(full(g, 2.5), 1, n/4) }},
		{"beta", func(g *ops.Graph) *ops.Tensor { return ops.RandomBeta(full(g, 2), full(g, 3), 1, n/4) }},
		{"binomial", func(g *ops.Graph) *ops.Tensor { return ops.RandomBinomial(full(g, 20), full(g, 0.3), 1, n/4) }},
		{"shuffle", func(g *ops.Graph) *ops.Tensor { return ops.Shuffle(g.Input("x", ir.Float32, n/4), 0, 1) }},
		{"uniform of float64", func(g *ops.Graph) *ops.Tensor { return ops.RandomUniform(g, ir.Float64, 0, 1, 1, n) }},
		{"normal of float64", func(g *ops.Graph) *ops.Tensor { return ops.RandomNormal(g, ir.Float64, 0, 1, 1, n) }},
		{"normal of bfloat16", func(g *ops.Graph) *ops.Tensor { return ops.RandomNormal(g, ir.BFloat16, 0, 1, 1, n) }},
		{"dropout of float16", func(g *ops.Graph) *ops.Tensor { return ops.Dropout(g.Input("x", ir.Float16, 1024, 1024), 0.3, 1) }},
		{"dropout of float64", func(g *ops.Graph) *ops.Tensor { return ops.Dropout(g.Input("x", ir.Float64, 1024, 1024), 0.3, 1) }},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkRandom(b, c.f) })
	}
}

func benchmarkRandom(b *testing.B, f func(g *ops.Graph) *ops.Tensor) {
	g := ops.NewGraph("random")
	g.SetRandom(func() *ops.Tensor { return g.Input("state", ir.Uint32, 4) })
	p := g.Program()
	p.AddOutput("y", f(g).Value())
	device := kernels.Device{Kind: cpu.Kind}
	e, err := kernels.Load(cpu.Backend{}, p, device)
	require.NoError(b, err)
	defer e.Close()
	buffer := func(v ir.Value) kernels.Buffer {
		x, err := cpu.Backend{}.NewBuffer(device, p.Type(v))
		require.NoError(b, err)
		return x
	}
	var in []kernels.Buffer
	for _, input := range p.Inputs {
		in = append(in, buffer(input.Value))
	}
	out := []kernels.Buffer{buffer(p.Outputs[0].Value)}
	defer func() {
		for _, x := range slices.Concat(in, out) {
			x.Free()
		}
	}()
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, e.Run(b.Context(), in, out))
	}
}
