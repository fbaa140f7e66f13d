package vec

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

func BenchmarkVec(b *testing.B) {
	const n = 1 << 14
	x, y, z, w := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
	h, sums, products := make([]uint16, n), make([]float64, 64), make([]float64, 64)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range x {
		x[i], y[i], z[i], w[i] = rng.Float32()-0.5, rng.Float32()-0.5, rng.Float32(), rng.Float32()
	}
	adam := &AdamArgs[float32]{W: w, M: y, V: z, G: x, Alpha: 1e-3, OneMinusBeta1: 0.1, OneMinusBeta2: 0.001, Epsilon: 1e-7, GradientScale: 1}
	for _, path := range isa.Paths() {
		for _, c := range []struct {
			name string
			run  func()
		}{
			{"Add", func() { Add(w, x, y) }},
			{"Mul", func() { Mul(w, x, y) }},
			{"Axpy", func() { Axpy(w, 1e-9, x) }},
			{"Relu", func() { Relu(w, x) }},
			{"ReluGrad", func() { ReluGrad(w, x, y) }},
			{"Exp", func() { Exp(w, x) }},
			{"Log", func() { Log(w, z) }},
			{"Tanh", func() { Tanh(w, x) }},
			{"Sigmoid", func() { Sigmoid(w, x) }},
			{"Rsqrt", func() { Rsqrt(w, z) }},
			{"Sum", func() { Sum(x) }},
			{"Dot", func() { Dot(x, y) }},
			{"MaxOf", func() { MaxOf(x) }},
			{"SumRows", func() { SumRows(w[:64], x, n/64, 64, 64) }},
			{"AffineRows64", func() { AffineRows(w, x, nil, y[:64], z[:64], true) }},
			{"AffineRowsAdd64", func() { AffineRows(w, x, y, y[:64], z[:64], true) }},
			{"AffineRows96", func() { AffineRows(w, x, nil, y[:96], z[:96], true) }},
			{"CombineRows64", func() { CombineRows(w, x, y, z[:64], z[64:128], z[:64], nil, nil) }},
			{"CombineRowsMasked64", func() { CombineRows(w, x, y, z[:64], z[64:128], z[:64], z[:64], y[:64]) }},
			{"Moments16", func() { Moments(sums[:16], products[:16], x, n/16, 16) }},
			{"Moments64", func() { Moments(sums[:64], products[:64], x, n/64, 64) }},
			{"SumProducts16", func() { SumProducts(sums[:16], products[:16], x, y, n/16, 16, z[:64], nil, nil) }},
			{"SumProductsMasked16", func() { SumProducts(sums[:16], products[:16], x, y, n/16, 16, z[:64], z[:64], y[:64]) }},
			{"Erf", func() { Erf(w, x) }},
			{"Gelu", func() { Gelu(w, x) }},
			{"GeluGrad", func() { GeluGrad(w, y, x) }},
			{"Softmax128", func() {
				for i := 0; i < n; i += 128 {
					Softmax(w[i:i+128], x[i:i+128])
				}
			}},
			{"Adam", func() { Adam(adam) }},
			{"Momentum", func() { Momentum(w, y, x, 1e-9, 0.9, 0, false) }},
			{"Float32ToBF16", func() { Float32ToBF16(h, x) }},
			{"Float32ToF16", func() { Float32ToF16(h, x) }},
			{"MaxPool2x2", func() { MaxPool2x2(w[:n/4], x, 1, 16, 32, 32) }},
			{"MaxPool2x2Backward", func() { MaxPool2x2Backward(w, y[:n/4], x, z[:n/4], 1, 16, 32, 32, true) }},
		} {
			b.Run(fmt.Sprintf("%s/%s", path, c.name), func(b *testing.B) {
				defer isa.Override(path)()
				b.ReportAllocs()
				for b.Loop() {
					c.run()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/element")
			})
		}
	}
}
