package cpu_test

import (
	"testing"

	"github.com/gokeras/gokeras/kernels/ir"
)

// BenchmarkSteps times programs of one or a few steps.
func BenchmarkSteps(b *testing.B) {
	programs := map[string]func(g tape){
		"relu gradient and bias gradient 64x512": func(g tape) {
			y, dy := g.input("y", ir.Float32, 64, 512), g.input("dy", ir.Float32, 64, 512)
			d := g.reluGrad(y, dy)
			g.p.AddOutput("d", d)
			g.p.AddOutput("sum", g.sumLeading(d))
		},
		"add 1M": func(g tape) {
			x, y := g.input("x", ir.Float32, 1<<20), g.input("y", ir.Float32, 1<<20)
			g.p.AddOutput("z", g.op(ir.Add, nil, x, y))
		},
		"gelu 1M": func(g tape) {
			x := g.input("x", ir.Float32, 1<<20)
			inner := g.op(ir.Mul, nil, x, g.op(ir.Mul, nil, x, g.op(ir.Mul, nil, x, g.like(x, 0.044715))))
			t := g.op(ir.Tanh, nil, g.op(ir.Mul, nil, g.op(ir.Add, nil, x, inner), g.like(x, 0.7978845608)))
			g.p.AddOutput("y", g.op(ir.Mul, nil, g.op(ir.Mul, nil, x, g.like(x, 0.5)), g.op(ir.Add, nil, t, g.like(t, 1))))
		},
		"scale and shift rows 4096x256": func(g tape) {
			x := g.input("x", ir.Float32, 4096, 256)
			s := g.op(ir.Broadcast, ir.BroadcastAttrs{Shape: g.shape(x), Axes: []int{1}}, g.input("s", ir.Float32, 256))
			g.p.AddOutput("y", g.bias(g.op(ir.Mul, nil, x, s), g.input("b", ir.Float32, 256)))
		},
		"sum rows 4096x256": func(g tape) {
			x := g.input("x", ir.Float32, 4096, 256)
			g.p.AddOutput("y", g.op(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{1}}, x))
		},
		"sum columns 4096x256": func(g tape) { g.p.AddOutput("y", g.sumLeading(g.input("x", ir.Float32, 4096, 256))) },
		"transpose 1024x1024": func(g tape) {
			g.p.AddOutput("y", g.op(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, g.input("x", ir.Float32, 1024, 1024)))
		},
		"transpose heads 8x128x8x32": func(g tape) {
			g.p.AddOutput("y", g.op(ir.Transpose, ir.TransposeAttrs{Perm: []int{0, 2, 1, 3}}, g.input("x", ir.Float32, 8, 128, 8, 32)))
		},
		"softmax 4096x128": func(g tape) { g.p.AddOutput("y", g.op(ir.Softmax, nil, g.input("x", ir.Float32, 4096, 128))) },
		"dropout 1M": func(g tape) {
			g.p.AddOutput("y", g.op(ir.Dropout, ir.DropoutAttrs{Rate: 0.5}, g.input("x", ir.Float32, 1<<20), g.input("s", ir.Uint32, 4)))
		},
		"embedding 4096x256": func(g tape) {
			g.p.AddOutput("y", g.op(ir.Embedding, nil, g.input("t", ir.Float32, 1000, 256), g.input("i", ir.Int32, 4096)))
		},
		"batch norm 65536x32": func(g tape) {
			g.p.AddOutput("y", g.ops(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, g.input("x", ir.Float32, 65536, 32), g.input("s", ir.Float32, 32), g.input("b", ir.Float32, 32))[0])
		},
		"layer norm 4096x256": func(g tape) {
			g.p.AddOutput("y", g.ops(ir.LayerNorm, ir.NormAttrs{Epsilon: 1e-3}, g.input("x", ir.Float32, 4096, 256), g.input("s", ir.Float32, 256), g.input("b", ir.Float32, 256))[0])
		},
		"lstm 64x32x128": func(g tape) {
			x, r := g.input("x", ir.Float32, 64, 32, 512), g.input("r", ir.Float32, 128, 512)
			h, c := g.input("h", ir.Float32, 64, 128), g.input("c", ir.Float32, 64, 128)
			g.p.AddOutput("y", g.ops(ir.RnnScan, ir.RnnAttrs{Cell: "lstm", Activation: "tanh", RecurrentActivation: "sigmoid"}, x, r, h, c)[0])
		},
		"attention 8x128x8x32": func(g tape) {
			q, k, v := g.input("q", ir.Float32, 8, 128, 8, 32), g.input("k", ir.Float32, 8, 128, 8, 32), g.input("v", ir.Float32, 8, 128, 8, 32)
			a := ir.AttentionAttrs{Scale: 0.2, Causal: true}
			out := g.ops(ir.Attention, a, q, k, v)
			for i, d := range g.ops(ir.AttentionGrad, a, q, k, v, out[0], out[1], q) {
				g.p.AddOutput([]string{"dq", "dk", "dv"}[i], d)
			}
		},
		"bfloat16 add and relu 1M": func(g tape) {
			x, y := g.input("x", ir.BFloat16, 1<<20), g.input("y", ir.BFloat16, 1<<20)
			g.p.AddOutput("z", g.op(ir.Relu, nil, g.op(ir.Add, nil, x, y)))
		},
	}
	for name, write := range programs {
		b.Run(name, func(b *testing.B) {
			g := tape{ir.New(name)}
			write(g)
			s := newSession(b, g.p)
			defer s.e.Close()
			for b.Loop() {
				s.run(b)
			}
			logProfile(b, s)
		})
	}
}
