package cpu

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// halfNorms build programs of mixed precision on 16-bit numbers, and return the expected steps.
var halfNorms = map[string]func(p programBuilder, d ir.DType, shape ir.Shape) (steps []string){
	"batch normalization, sum and relu": func(p programBuilder, d ir.DType, shape ir.Shape) []string {
		n := newHalfNorm(p, d, shape)
		norm := p.add(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, n.x, n.gamma, n.beta)
		sum := p.add(ir.Add, nil, n.to(d, norm[0]), n.other)[0]
		p.AddOutput("y", p.add(ir.Relu, nil, sum)[0])
		p.AddOutput("mean", norm[1])
		p.AddOutput("variance", norm[2])
		return []string{"batch_norm+convert+add+relu"}
	},
	"gradient of batch normalization and relu": func(p programBuilder, d ir.DType, shape ir.Shape) []string {
		n := newHalfNorm(p, d, shape)
		norm := p.add(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, n.x, n.gamma, n.beta)
		y := p.add(ir.Relu, nil, n.to(d, norm[0]))[0]
		zeros := p.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 0, shape...)})[0]
		up := p.add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max}, n.other)[0] // in memory that may be taken over
		up = p.add(ir.Select, nil, p.add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, y, zeros)[0], up, zeros)[0]
		grad := p.add(ir.BatchNormGrad, ir.NormAttrs{Epsilon: 1e-3}, n.x, n.gamma, norm[1], norm[2], n.to(ir.Float32, up))
		p.AddOutput("y", y)
		p.AddOutput("dx", p.add(ir.Neg, nil, n.to(d, grad[0]))[0])
		p.AddOutput("dgamma", grad[1])
		p.AddOutput("dbeta", grad[2])
		if d == ir.Float16 { // small numbers may become 0
			return []string{"batch_norm+convert+relu", "batch_norm_grad+convert"}
		}
		return []string{"batch_norm+convert+relu", "compare+select+convert+batch_norm_grad+convert"}
	},
	"gradient of batch normalization and relu, whose operand is converted twice": func(p programBuilder, d ir.DType, shape ir.Shape) []string {
		half := p.add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max}, p.AddInput("half", ir.Type{DType: d, Shape: shape}))[0]
		gamma := p.AddInput("gamma", ir.Type{DType: ir.Float32, Shape: shape[len(shape)-1:]})
		wide := func() ir.Value { return p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, half)[0] }
		norm := p.add(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, wide(), gamma, gamma)
		y := p.add(ir.Relu, nil, p.add(ir.Convert, ir.ConvertAttrs{DType: d}, norm[0])[0])[0]
		zeros := p.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 0, shape...)})[0]
		up := p.add(ir.Select, nil, p.add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, y, zeros)[0], p.add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max}, half)[0], zeros)[0]
		grad := p.add(ir.BatchNormGrad, ir.NormAttrs{Epsilon: 1e-3}, wide(), gamma, norm[1], norm[2], p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, up)[0])
		p.AddOutput("y", y)
		p.AddOutput("dx", p.add(ir.Convert, ir.ConvertAttrs{DType: d}, grad[0])[0])
		p.AddOutput("dgamma", grad[1])
		if d == ir.Float16 { // small numbers may become 0
			return []string{"batch_norm+convert+relu", "batch_norm_grad+convert"}
		}
		return []string{"batch_norm+convert+relu", "compare+select+convert+batch_norm_grad+convert"}
	},
	"gradient of batch normalization, half of it wide": func(p programBuilder, d ir.DType, shape ir.Shape) []string {
		n := newHalfNorm(p, d, shape)
		norm := p.add(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, n.x, n.gamma, n.beta)
		grad := p.add(ir.BatchNormGrad, ir.NormAttrs{Epsilon: 1e-3}, n.x, n.gamma, norm[1], norm[2], p.add(ir.Sin, nil, norm[0])[0])
		p.AddOutput("dx", grad[0])
		p.AddOutput("dgamma", grad[1])
		return []string{"batch_norm", "batch_norm_grad"}
	},
	"layer normalization and its gradient": func(p programBuilder, d ir.DType, shape ir.Shape) []string {
		n := newHalfNorm(p, d, shape)
		norm := p.add(ir.LayerNorm, ir.NormAttrs{Epsilon: 1e-3}, n.x, n.gamma, n.beta)
		grad := p.add(ir.LayerNormGrad, ir.NormAttrs{}, n.x, n.gamma, norm[1], norm[2], n.to(ir.Float32, p.add(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max}, n.other)[0]))
		p.AddOutput("y", n.to(d, norm[0]))
		p.AddOutput("dx", p.add(ir.Neg, nil, n.to(d, grad[0]))[0])
		p.AddOutput("dgamma", grad[1])
		p.AddOutput("dbeta", grad[2])
		if shape[len(shape)-1] < 32 {
			return []string{"layer_norm", "layer_norm_grad"}
		}
		return []string{"layer_norm+convert", "layer_norm_grad+convert"}
	},
	"cross-entropy and its gradient": func(p programBuilder, d ir.DType, shape ir.Shape) []string {
		n := newHalfNorm(p, d, shape)
		rows := shape[:len(shape)-1]
		zeros := p.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0, rows...)})[0]
		second := p.add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, p.AddInput("which", ir.Type{DType: ir.Float32, Shape: rows}), zeros)[0]
		labels := p.add(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, second)[0]
		weights := p.AddInput("weights", ir.Type{DType: ir.Float32, Shape: rows})
		loss := p.add(ir.SparseSoftmaxCrossEntropy, nil, n.x, labels)
		grad := p.add(ir.SparseSoftmaxCrossEntropyGrad, nil, n.x, labels, loss[1], weights)
		p.AddOutput("loss", n.to(d, loss[0]))
		p.AddOutput("dx", n.to(d, grad[0]))
		if shape[len(shape)-1] < 32 {
			return []string{"sparse_softmax_cross_entropy", "sparse_softmax_cross_entropy_grad"}
		}
		return []string{"sparse_softmax_cross_entropy", "sparse_softmax_cross_entropy_grad+convert"}
	},
}

// halfNorm holds the operands of such a program: two with 16 bits, one of them also in float32, and those of channels.
type halfNorm struct {
	programBuilder
	x, other, gamma, beta ir.Value
}

func newHalfNorm(p programBuilder, d ir.DType, shape ir.Shape) halfNorm {
	channels := ir.Type{DType: ir.Float32, Shape: shape[len(shape)-1:]}
	n := halfNorm{programBuilder: p}
	n.x = n.to(ir.Float32, p.AddInput("x", ir.Type{DType: d, Shape: shape}))
	n.other = p.AddInput("other", ir.Type{DType: d, Shape: shape})
	n.gamma, n.beta = p.AddInput("gamma", channels), p.AddInput("beta", channels)
	return n
}

func (n halfNorm) to(d ir.DType, v ir.Value) ir.Value {
	return n.add(ir.Convert, ir.ConvertAttrs{DType: d}, v)[0]
}

// TestNormsOfHalves: normalizations and losses of mixed precision read and write 16 bits, without steps that convert.
// The results are those of float64, rounded at each conversion, for rows of several pieces and for few rows.
func TestNormsOfHalves(t *testing.T) {
	defer WithoutExcess()()
	for name, build := range halfNorms {
		for i, shape := range []ir.Shape{{5, 3, 1100, 6}, {700, 48}, {4, 45, 16}, {70, 256}, {37, 100}, {70, 600}, {3, 1030}, {2, 3}} {
			for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
				t.Run(fmt.Sprint(name, d, shape), func(t *testing.T) {
					p := programBuilder{ir.New(""), t}
					want := build(p, d, shape)
					require.NoError(t, p.Verify())
					e, err := Backend{}.load(p.Program, kernels.CompileOptions{Device: testDevice}, false)
					require.NoError(t, err)
					defer e.Close()
					var steps []string
					for _, s := range e.schedule.steps {
						if strings.Contains(s.name, "norm") || strings.Contains(s.name, "entropy") {
							steps = append(steps, s.name)
						}
					}
					assert.Equal(t, want, steps)
					inputs := normalValues(t, rand.New(rand.NewPCG(5, uint64(i))), p.Program)
					got := runOnce(t, p.Program, inputs, false)
					expected, err := reference.Interpreter{Round: true}.Run(p.Program, inputs)
					require.NoError(t, err)
					for j := range got {
						units := 2.0
						if got[j].Type.DType == ir.Float32 {
							units = 64
						}
						require.NoError(t, kernelstest.Compare(got[j], expected[j], units, true), "%s", p.Outputs[j].Name)
					}
				})
			}
		}
	}
}
