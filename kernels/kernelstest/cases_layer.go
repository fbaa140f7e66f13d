package kernelstest

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// loose is the tolerance of composites on a type: the 16-bit types have few digits to lose in a decomposition that
// stores every step.
func loose(dtype ir.DType) float64 {
	if dtype.Size() == 2 {
		return 24
	}
	return 64
}

func normCases(s *suite) {
	attrs := ir.NormAttrs{Epsilon: 1e-3}
	for _, dtype := range floats {
		for _, shape := range []ir.Shape{{5}, {4, 3}, {1, 7}, {6, 1}, {17, 33}, {2, 3, 5}, {2, 3, 2, 4}, {2, 1, 2, 3, 3}} {
			c := shape[len(shape)-1]
			d := s.new(ir.BatchNorm, "%v%v", dtype, shape).withinWhole(loose(dtype))
			d.add(attrs, d.normal(dtype, shape...), d.positive(dtype, c), d.normal(dtype, c))
			d = s.new(ir.BatchNormGrad, "%v%v", dtype, shape).withinWhole(loose(dtype) * 4)
			x, gamma, beta := d.normal(dtype, shape...), d.positive(dtype, c), d.normal(dtype, c)
			forward := d.results(ir.BatchNorm, attrs, x, gamma, beta)
			d.add(attrs, x, gamma, forward[1], forward[2], d.normal(dtype, shape...))
			d = s.new(ir.LayerNorm, "%v%v", dtype, shape).withinWhole(loose(dtype))
			d.add(attrs, d.normal(dtype, shape...), d.positive(dtype, c), d.normal(dtype, c))
			d = s.new(ir.LayerNormGrad, "%v%v", dtype, shape).withinWhole(loose(dtype) * 4)
			x, gamma, beta = d.normal(dtype, shape...), d.positive(dtype, c), d.normal(dtype, c)
			forward = d.results(ir.LayerNorm, attrs, x, gamma, beta)
			d.add(attrs, x, gamma, forward[1], forward[2], d.normal(dtype, shape...))
		}
	}
	for _, dtype := range wide { // a mean far from 0, where E[x²]-E[x]² has no digits left
		far := func(d *draft) reference.Value {
			return value(dtype, ir.Shape{50, 4}, func(int) float64 { return 1000 + d.rng.NormFloat64() })
		}
		for _, op := range []ir.Op{ir.BatchNorm, ir.LayerNorm} {
			d := s.new(op, "%v far from zero", dtype).withinWhole(1 << 12)
			d.add(attrs, far(d), d.positive(dtype, 4), d.normal(dtype, 4))
		}
	}
	for _, dtype := range floats {
		d := s.new(ir.LayerNorm, "%v empty", dtype)
		d.add(attrs, d.normal(dtype, 0, 3), d.normal(dtype, 3), d.normal(dtype, 3))
		d = s.new(ir.LayerNormGrad, "%v empty", dtype)
		d.add(attrs, d.normal(dtype, 0, 3), d.normal(dtype, 3), d.normal(dtype, 0), d.normal(dtype, 0), d.normal(dtype, 0, 3))
	}
}

func groupNormCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range []struct {
			shape  ir.Shape
			groups int
		}{
			{ir.Shape{4, 3}, 1}, {ir.Shape{1, 7}, 7}, {ir.Shape{3, 5, 6}, 3}, {ir.Shape{2, 3, 4, 8}, 8}, {ir.Shape{2, 3, 2, 2, 10}, 2}, {ir.Shape{2, 40, 33}, 3},
			{ir.Shape{9, 17, 64}, 32}, {ir.Shape{2, 4, 0}, 2}, {ir.Shape{0, 4, 4}, 2},
		} {
			attrs := ir.GroupNormAttrs{Groups: c.groups, Epsilon: 1e-3}
			channels := c.shape[len(c.shape)-1]
			d := s.new(ir.GroupNorm, "%v%v in %d groups", dtype, c.shape, c.groups).withinWhole(loose(dtype))
			x, gamma, beta := d.normal(dtype, c.shape...), d.positive(dtype, channels), d.normal(dtype, channels)
			d.add(attrs, x, gamma, beta)
			if c.shape.Size() == 0 {
				continue
			}
			forward := d.results(ir.GroupNorm, attrs, x, gamma, beta)
			d = s.new(ir.GroupNormGrad, "%v%v in %d groups", dtype, c.shape, c.groups).withinWhole(loose(dtype) * 4)
			d.add(attrs, x, gamma, forward[1], forward[2], d.normal(dtype, c.shape...))
		}
	}
	for _, dtype := range wide {
		d := s.new(ir.GroupNorm, "%v far from zero", dtype).withinWhole(1 << 12)
		far := value(dtype, ir.Shape{3, 50, 4}, func(int) float64 { return 1000 + d.rng.NormFloat64() })
		d.add(ir.GroupNormAttrs{Groups: 2, Epsilon: 1e-3}, far, d.positive(dtype, 4), d.normal(dtype, 4))
	}
	for i, shape := range []ir.Shape{{2, 90, 91, 20}, {20, 30, 31, 36}} { // one example is cut into blocks, and many are not
		attrs := ir.GroupNormAttrs{Groups: 4, Epsilon: 1e-3}
		c := shape[3]
		d := s.new(ir.GroupNorm, "large %d", i).withinWhole(64)
		x, gamma, beta := d.normal(ir.Float32, shape...), d.positive(ir.Float32, c), d.normal(ir.Float32, c)
		d.add(attrs, x, gamma, beta)
		forward := d.results(ir.GroupNorm, attrs, x, gamma, beta)
		d = s.new(ir.GroupNormGrad, "large %d", i).withinWhole(512)
		d.add(attrs, x, gamma, forward[1], forward[2], d.normal(ir.Float32, shape...))
	}
}

func lstmCases(s *suite) {
	for _, dtype := range floats {
		for _, shape := range []ir.Shape{{1}, {3, 0}, {0, 3}, {4, 1}, {5, 7}, {2, 16}, {3, 24}, {2, 33}, {2, 3, 5}} {
			gates := shape.Clone()
			gates[len(gates)-1] *= 4
			d := s.new(ir.LstmCell, "%v%v", dtype, shape).withinWhole(loose(dtype))
			d.add(nil, d.normal(dtype, gates...), d.normal(dtype, shape...))
			d = s.new(ir.LstmCellGrad, "%v%v", dtype, shape).withinWhole(loose(dtype))
			z, carry := d.normal(dtype, gates...), d.normal(dtype, shape...)
			d.add(nil, d.results(ir.LstmCell, nil, z, carry)[2], carry, d.normal(dtype, shape...), d.normal(dtype, shape...))
		}
	}
}

func gruCases(s *suite) {
	for _, dtype := range floats {
		for _, shape := range []ir.Shape{{1}, {3, 0}, {0, 3}, {4, 1}, {5, 7}, {2, 16}, {3, 24}, {2, 33}, {2, 3, 5}} {
			gates := shape.Clone()
			gates[len(gates)-1] *= 3
			d := s.new(ir.GruCell, "%v%v", dtype, shape).withinWhole(loose(dtype))
			d.add(nil, d.normal(dtype, gates...), d.normal(dtype, gates...), d.normal(dtype, shape...))
			d = s.new(ir.GruCellGrad, "%v%v", dtype, shape).withinWhole(loose(dtype))
			x, u, h := d.normal(dtype, gates...), d.normal(dtype, gates...), d.normal(dtype, shape...)
			d.add(nil, d.results(ir.GruCell, nil, x, u, h)[1], u, h, d.normal(dtype, shape...))
		}
	}
}

func softmaxCases(s *suite) {
	for _, dtype := range floats {
		for _, shape := range []ir.Shape{{1}, {7}, {3, 0}, {0, 3}, {4, 1}, {5, 33}, {2, 3, 5}, {2, 1, 2, 3, 4}} {
			for _, op := range []ir.Op{ir.Softmax, ir.LogSoftmax} {
				d := s.new(op, "%v%v", dtype, shape).withinWhole(loose(dtype) / 4)
				d.add(nil, d.normal(dtype, shape...))
				d = s.new(op, "%v%v large", dtype, shape).withinWhole(loose(dtype) / 4)
				d.add(nil, d.domain(dtype, shape, func(x float64) float64 { return 100 * x }))
			}
			d := s.new(ir.SoftmaxGrad, "%v%v", dtype, shape).withinWhole(loose(dtype))
			d.add(nil, d.results(ir.Softmax, nil, d.normal(dtype, shape...))[0], d.normal(dtype, shape...))
			d = s.new(ir.LogSoftmaxGrad, "%v%v", dtype, shape).withinWhole(loose(dtype))
			d.add(nil, d.results(ir.LogSoftmax, nil, d.normal(dtype, shape...))[0], d.normal(dtype, shape...))
			crossEntropyCase(s, dtype, shape)
		}
		for _, op := range []ir.Op{ir.Softmax, ir.LogSoftmax} {
			d := s.new(op, "%v special", dtype).withinWhole(loose(dtype) / 4)
			x := d.normal(dtype, 6, 5)
			x.F[3], x.F[8] = math.Inf(-1), math.NaN()
			x.F[20], x.F[21], x.F[22] = math.Inf(-1), math.Inf(-1), math.Inf(-1)
			d.add(nil, x)
		}
	}
	for _, label := range integers {
		d := s.new(ir.SparseSoftmaxCrossEntropy, "labels %v", label).withinWhole(16)
		d.add(nil, d.normal(ir.Float32, 6, 5), d.below(label, 5, 6))
	}
}

func crossEntropyCase(s *suite, dtype ir.DType, shape ir.Shape) {
	classes, batch := shape[len(shape)-1], shape[:len(shape)-1]
	if classes == 0 {
		return
	}
	d := s.new(ir.SparseSoftmaxCrossEntropy, "%v%v", dtype, shape).withinWhole(loose(dtype) / 4)
	d.add(nil, d.domain(dtype, shape, func(x float64) float64 { return 5 * x }), d.below(ir.Int32, classes, batch...))
	d = s.new(ir.SparseSoftmaxCrossEntropyGrad, "%v%v", dtype, shape).withinWhole(loose(dtype))
	x, labels := d.normal(dtype, shape...), d.below(ir.Int64, classes, batch...)
	forward := d.results(ir.SparseSoftmaxCrossEntropy, nil, x, labels)
	d.add(nil, x, labels, forward[1], d.normal(dtype, batch...))
}

func dropoutCases(s *suite) {
	for _, dtype := range floats {
		for _, rate := range []float64{0, 0.1, 0.5, 0.999} {
			for _, shape := range []ir.Shape{{}, {0}, {1}, {3, 5, 7}, {1021}} {
				d := s.new(ir.Dropout, "%v%v rate %v", dtype, shape, rate).within(4)
				d.add(ir.DropoutAttrs{Rate: rate, Stream: 5}, d.normal(dtype, shape...), d.extremes(ir.Uint32, 4))
			}
		}
		for _, beyond := range []float64{0, 0x1p-30} {
			// the second word of stream 0 under a state of zeros; its number is kept at this rate, and not at a greater
			// one
			rate := float64(0xe169c58d>>8)/(1<<24) + beyond
			d := s.new(ir.Dropout, "%v a drawn number plus %v", dtype, beyond).within(4)
			d.add(ir.DropoutAttrs{Rate: rate}, d.positive(dtype, 37), d.below(ir.Uint32, 1, 4))
		}
		d := s.new(ir.Dropout, "%v special", dtype).within(4) // a dropped NaN is zero
		d.add(ir.DropoutAttrs{Rate: 0.5}, d.specials(d.normal(dtype, 143)), d.extremes(ir.Uint32, 4))
	}
}

func attentionCases(s *suite) {
	for _, c := range []struct {
		name                                   string
		batch, query, key, heads, depth, width int
		causal                                 bool
		mask                                   ir.Shape
	}{
		{"plain", 2, 3, 5, 2, 4, 3, false, nil},
		{"one", 1, 1, 1, 1, 1, 1, false, nil},
		{"causal", 2, 5, 5, 2, 4, 4, true, nil},
		{"causal more keys", 1, 3, 6, 1, 2, 3, true, nil},
		{"causal more queries", 1, 6, 3, 1, 2, 3, true, nil},
		{"mask of keys", 2, 3, 5, 2, 4, 3, false, ir.Shape{2, 1, 1, 5}},
		{"mask full", 2, 3, 5, 2, 4, 3, false, ir.Shape{2, 2, 3, 5}},
		{"mask of one", 1, 2, 3, 2, 3, 2, false, ir.Shape{1, 1, 1, 1}},
		{"causal with mask", 2, 4, 4, 3, 5, 2, true, ir.Shape{1, 1, 4, 4}},
		{"wide", 1, 9, 17, 2, 33, 16, true, ir.Shape{1, 1, 1, 17}},
		{"no queries", 2, 0, 3, 1, 2, 2, false, nil},
		{"no keys", 2, 3, 0, 1, 2, 2, false, nil},
		{"empty batch", 0, 3, 3, 2, 2, 2, false, nil},
	} {
		for _, dtype := range floats {
			attrs := ir.AttentionAttrs{Scale: 1 / math.Sqrt(float64(c.depth)), Causal: c.causal, Masked: c.mask != nil}
			operands := func(d *draft) []reference.Value {
				in := []reference.Value{
					d.normal(dtype, c.batch, c.query, c.heads, c.depth), d.normal(dtype, c.batch, c.key, c.heads, c.depth), d.normal(dtype, c.batch, c.key, c.heads, c.width),
				}
				if c.mask != nil {
					mask := d.normal(ir.Bool, c.mask...)
					clear(mask.I[:min(c.key, len(mask.I))]) // the first row sees nothing
					in = append(in, mask)
				}
				return in
			}
			d := s.new(ir.Attention, "%v %s", dtype, c.name).withinWhole(loose(dtype))
			d.add(attrs, operands(d)...)
			d = s.new(ir.AttentionGrad, "%v %s", dtype, c.name).withinWhole(loose(dtype) * 2)
			in := operands(d)
			forward := d.results(ir.Attention, attrs, in...)
			grad := append([]reference.Value{in[0], in[1], in[2], forward[0], forward[1], d.normal(dtype, forward[0].Type.Shape...)}, in[3:]...)
			d.add(attrs, grad...)
		}
	}
}

func resampleCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range []struct {
			shape              ir.Shape
			axis, length, taps int
		}{
			{ir.Shape{5}, 0, 9, 2}, {ir.Shape{2, 6, 3}, 1, 4, 2}, {ir.Shape{2, 6, 3}, 1, 13, 4}, {ir.Shape{3, 5, 4, 9}, 1, 7, 2}, {ir.Shape{3, 5, 4, 9}, 2, 8, 6},
			{ir.Shape{2, 4, 33}, 1, 3, 1}, {ir.Shape{4, 3, 1}, 0, 5, 3}, {ir.Shape{2, 3, 0}, 1, 4, 2}, {ir.Shape{0, 3, 2}, 1, 4, 2}, {ir.Shape{2, 3, 2}, 1, 0, 2},
			{ir.Shape{4, 60, 70, 16}, 2, 90, 2}, {ir.Shape{4, 60, 70, 3}, 2, 90, 2},
		} {
			d := s.new(ir.Resample, "%v%v axis %d to %d from %d", dtype, c.shape, c.axis, c.length, c.taps).withinWhole(loose(dtype))
			attrs := ir.ResampleAttrs{Axis: c.axis, Taps: c.taps, Cells: make([]int, c.length*c.taps), Weights: make([]float64, c.length*c.taps)}
			for i := range attrs.Cells {
				attrs.Cells[i], attrs.Weights[i] = d.rng.IntN(c.shape[c.axis]), d.rng.NormFloat64()
			}
			d.add(attrs, d.normal(dtype, c.shape...))
		}
	}
}

func embeddingCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range []struct{ table, where ir.Shape }{
			{ir.Shape{7, 4}, ir.Shape{}}, {ir.Shape{7, 4}, ir.Shape{0}}, {ir.Shape{7, 1}, ir.Shape{9}}, {ir.Shape{7, 33}, ir.Shape{3, 5}},
			{ir.Shape{0, 3}, ir.Shape{0}}, {ir.Shape{5, 0}, ir.Shape{3}}, {ir.Shape{50, 3}, ir.Shape{2, 3, 2, 2}},
		} {
			d := s.new(ir.Embedding, "%v%v of %v", dtype, c.table, c.where)
			d.add(nil, d.normal(dtype, c.table...), d.below(ir.Int32, max(c.table[0], 1), c.where...))
			d = s.new(ir.EmbeddingGrad, "%v%v of %v", dtype, c.table, c.where).withinWhole(loose(dtype) / 2)
			dy := append(append(ir.Shape{}, c.where...), c.table[1])
			d.add(nil, d.normal(dtype, c.table...), d.below(ir.Int32, max(c.table[0], 1), c.where...), d.normal(dtype, dy...))
		}
	}
	for _, index := range integers {
		d := s.new(ir.Embedding, "indices %v", index)
		d.add(nil, d.normal(ir.Float32, 9, 3), d.below(index, 9, 5))
		d = s.new(ir.EmbeddingGrad, "indices %v", index).withinWhole(8)
		d.add(nil, d.normal(ir.Float32, 9, 3), d.below(index, 9, 5), d.normal(ir.Float32, 5, 3))
	}
}

func rnnCases(s *suite) {
	// Inputs of half size keep cells with unbounded activations in the range where errors do not grow.
	variant := func(dtype ir.DType, batch, steps, units int, attrs ir.RnnAttrs) {
		gates, states, bias, err := ir.RnnCell(attrs.Cell)
		if err != nil {
			panic("kernelstest: " + err.Error())
		}
		d := s.new(ir.RnnScan, "%v [%d %d %d] %v", dtype, batch, steps, units, attrs).withinWhole(loose(dtype) * 4)
		half := func(shape ...int) reference.Value {
			return d.domain(dtype, shape, func(x float64) float64 { return x / 2 })
		}
		in := []reference.Value{half(batch, steps, gates*units), half(units, gates*units)}
		if bias {
			in = append(in, half(gates*units))
		}
		for range states {
			in = append(in, half(batch, units))
		}
		if attrs.Masked {
			in = append(in, d.normal(ir.Bool, batch, steps))
		}
		d.add(attrs, in...)
	}
	for _, cell := range []string{"simple", "lstm", "gru", "gru_reset_before"} {
		plain := ir.RnnAttrs{Cell: cell, Activation: "tanh", RecurrentActivation: "sigmoid"}
		for _, dtype := range floats {
			for _, reverse := range []bool{false, true} {
				a := plain
				a.Reverse = reverse
				variant(dtype, 2, 4, 3, a)
				a.Masked = true
				variant(dtype, 3, 5, 2, a)
				a.ZeroOutputForMask = true
				variant(dtype, 3, 5, 2, a)
			}
		}
		for _, size := range [][3]int{{1, 1, 1}, {0, 3, 2}, {2, 0, 3}, {5, 3, 17}} {
			variant(ir.Float32, size[0], size[1], size[2], plain)
		}
		for _, name := range activationNames {
			a := plain
			a.Activation, a.RecurrentActivation = name, "hard_sigmoid"
			variant(ir.Float32, 2, 2, 3, a)
			if name != "hard_sigmoid" {
				a.Activation, a.RecurrentActivation = "tanh", name
				variant(ir.Float32, 2, 2, 3, a)
			}
		}
	}
}

var activationNames = []string{
	"linear", "relu", "sigmoid", "tanh", "softsign", "hard_sigmoid", "softplus", "elu", "selu", "gelu", "silu", "exponential",
}

func optimizerCases(s *suite) {
	for _, dtype := range floats {
		for _, rule := range []struct {
			name   string
			slots  int
			values []float64
		}{{"sgd", 0, nil}, {"momentum", 1, []float64{0.9}}, {"nesterov", 1, []float64{0.8}}, {"adam", 2, []float64{0.9, 0.999, 1e-7}}, {"adam", 2, []float64{0, 0, 1e-3}}} {
			for _, shape := range []ir.Shape{{}, {0}, {1}, {33}, {5, 7}, {2, 3, 2, 2}} {
				for _, step := range []float64{1, 2, 100} {
					d := s.new(ir.OptimizerUpdate, "%v%v %s%v step %v", dtype, shape, rule.name, rule.values, step).withinWhole(32)
					in := []reference.Value{
						d.normal(dtype, shape...), d.normal(dtype, shape...),
						value(dtype, nil, func(int) float64 { return 0.01 }), value(dtype, nil, func(int) float64 { return step }),
					}
					for i := range rule.slots {
						if i == 0 {
							in = append(in, d.normal(dtype, shape...))
						} else {
							in = append(in, d.positive(dtype, shape...)) // the second slot is an average of squares
						}
					}
					a := ir.OptimizerAttrs{Rule: rule.name, Values: rule.values}
					d.add(a, in...)
					if step > 1 {
						gate := value(ir.Bool, nil, func(int) float64 { return float64(int(step) % 3 & 1) })
						in = append(in, gate, value(dtype, nil, func(int) float64 { return 3 }))
						s.new(ir.OptimizerUpdate, "%v%v %s%v step %v with a gate", dtype, shape, rule.name, rule.values, step).withinWhole(32).add(a, in...)
					}
					if step > 1 && dtype == ir.Float32 {
						d := s.new(ir.OptimizerUpdate, "%v%v %s%v step %v of 16 bits", dtype, shape, rule.name, rule.values, step).withinWhole(32)
						d.add(a, append([]reference.Value{in[0], d.normal(ir.Float16, shape...)}, in[2:]...)...)
					}
				}
			}
		}
	}
}
