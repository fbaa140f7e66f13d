package layers

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// float8 is the state of a layer for products in eight bits. The zero value means that it has none.
type float8 struct {
	inputs, kernel, outputs float8Scale
}

// float8Scale is the scale of one operand and its largest values in the last steps. Training writes both; no optimizer
// does.
type float8Scale struct{ scale, history *distribute.Variable }

func (f *float8) enabled() bool { return f.inputs.scale != nil }

// addFloat8 creates the variables if the policy asks for the mode.
func (b *Builder) addFloat8(f *float8) {
	*f = float8{}
	how := b.policy.Quantization
	if how.Mode != "float8" {
		return
	}
	make := func(name string) float8Scale {
		s := float8Scale{
			b.AddWeight(name+"_scale", ir.Shape{}, WeightOptions{Initializer: "ones", DType: ir.Float32}),
			b.AddWeight(name+"_amax_history", ir.Shape{how.History}, WeightOptions{Initializer: "zeros", DType: ir.Float32}),
		}
		s.scale.SetTrainable(false)
		s.history.SetTrainable(false)
		return s
	}
	*f = float8{make("inputs"), make("kernel"), make("outputs_grad")}
}

// advance writes the scale for the next step and the largest value of x.
func (s float8Scale) advance(c *Context, x *ops.Tensor, format quantizers.Float8) {
	history := c.Read(s.history)
	amax := c.AllReduce(ir.Max, ops.Cast(ops.Max(ops.Abs(x)), ir.Float32))[0]
	scale := quantizers.ComputeFloat8Scale(ops.Max(history), c.Read(s.scale), format.Max, 0)
	c.AssignMirrored(s.scale, ops.StopGradient(scale))
	c.AssignMirrored(s.history, ops.StopGradient(quantizers.ComputeFloat8AmaxHistory(amax, history)))
}

// product applies multiply to both operands, rounded to E4M3. The gradient of the result is rounded to E5M2; rounding
// itself has no gradient.
func (f *float8) product(c *Context, x, w *ops.Tensor, multiply func(x, w *ops.Tensor) *ops.Tensor) *ops.Tensor {
	round := func(s float8Scale, x *ops.Tensor) *ops.Tensor {
		return ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
			y := quantizers.E4M3.QuantizeAndDequantize(xs[0], c.Read(s.scale))
			if c.Training {
				s.advance(c, xs[0], quantizers.E4M3)
			}
			return []*ops.Tensor{y}, func(dys []*ops.Tensor) []*ops.Tensor { return dys }
		}, x)[0]
	}
	y := multiply(round(f.inputs, x), round(f.kernel, w))
	return ops.CustomGradient(func(ys ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
		return []*ops.Tensor{ys[0]}, func(dys []*ops.Tensor) []*ops.Tensor {
			rounded := quantizers.E5M2.QuantizeAndDequantize(dys[0], c.Read(f.outputs.scale))
			if c.Training {
				f.outputs.advance(c, dys[0], quantizers.E5M2)
			}
			return []*ops.Tensor{rounded}
		}
	}, y)[0]
}

// bias reads the bias for such products: rounded to bfloat16 if the layer computes in float32.
func (f *float8) bias(c *Context, bias *distribute.Variable) *ops.Tensor {
	b := c.Weight(bias)
	if f.enabled() && c.ComputeDType() == ir.Float32 {
		return ops.Cast(ops.Cast(b, ir.BFloat16), ir.Float32)
	}
	return b
}

// inFiles describes the weights in files: kernel, bias, and the variables of the format, in the order of their names in
// Keras.
func (f *float8) inFiles(kernel, bias *distribute.Variable) *weightsInFiles {
	w := &weightsInFiles{variables: distribute.Variables{kernel}}
	for _, v := range []*distribute.Variable{bias, f.inputs.scale, f.inputs.history, f.kernel.scale, f.kernel.history, f.outputs.scale, f.outputs.history} {
		if v != nil {
			w.variables = append(w.variables, v)
		}
	}
	return w
}

// quantizeFloat8 is Quantize with the mode float8, which adds variables and replaces none.
func (b *Base) quantizeFloat8(how any, f *float8, kernel *distribute.Variable, dtype *string, setting *quantizers.Config, r *lora) error {
	if r.a != nil {
		return b.quantizeError("float8 does not go with LoRA, whose change is no part of the product in eight bits; save the model, which merges the change, and load it without LoraRank")
	}
	all := slices.Clone(b.weights)
	err := b.quantizeBase(how, []*distribute.Variable{kernel}, dtype, setting, func(builder *Builder) {
		b.weights = slices.Clone(all)
		builder.addFloat8(f)
	}, nil, func() []*distribute.Variable { return nil })
	if err != nil {
		*f = float8{}
	}
	return err
}

// isFloat8 reports whether how asks for the mode float8.
func isFloat8(how any) bool {
	c, err := quantizers.Resolve(how)
	return err == nil && c.Mode() == "float8"
}
