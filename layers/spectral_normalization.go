package layers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

// SpectralNormalization wraps a layer and divides its kernel by (an estimate of) its largest singular value σ before
// each training step, so that the layer cannot stretch its input by more than 1. The kernel is seen as a matrix W (all
// axes but the last, last axis), and a vector u is kept between steps. PowerIterations times
//
//	v = u·Wᵀ / ‖u·Wᵀ‖,   u = v·W / ‖v·W‖
//
// then σ = v·W·uᵀ and kernel = kernel / σ. Outside training the layer's kernel is used as it is.
//
// Input and output shape: those of the layer. Weights: vector_u (1, last axis of the kernel), not trained. Source:
// Miyato et al., "Spectral Normalization for Generative Adversarial Networks", ICLR 2018.
type SpectralNormalization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	Layer           Layer `keras:"layer,required"`             // one with a weight "kernel" or "embeddings"; required
	PowerIterations int   `keras:"power_iterations,default=1"` // 0 is 1

	kernel, u *distribute.Variable
}

// Build builds the layer and makes vector_u.
func (l *SpectralNormalization) Build(b *Builder, in []ir.Shape) {
	if l.Layer == nil {
		b.Fail("Layer is missing; set it to the layer whose kernel to normalise")
	}
	if l.PowerIterations < 0 {
		b.Fail("PowerIterations must be positive, received %d", l.PowerIterations)
	}
	b.BuildMember(l.Layer, in...)
	l.kernel = nil
	for _, v := range l.Layer.base().weights {
		if v.Name() == "kernel" || v.Name() == "embeddings" {
			l.kernel = v
		}
	}
	if l.kernel == nil {
		b.Fail("the layer, %s, has no weight named kernel or embeddings to normalise", describe(l.Layer))
	}
	b.base.weights = append(b.base.weights, l.kernel) // counts as the wrapper's own, too, as in Keras's files
	shape := l.kernel.Spec().Shape
	l.u = b.AddWeight("vector_u", ir.Shape{1, shape[len(shape)-1]}, WeightOptions{Initializer: &initializers.TruncatedNormal{Stddev: new(0.02)}, Frozen: true, DType: l.kernel.Spec().DType})
}

// Forward normalizes the kernel and calls the layer.
func (l *SpectralNormalization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	if c.Training {
		l.normalizeKernel(c)
	}
	y := Invoke(l.Layer, c, in...)
	if in[0].DType().IsFloat() {
		y = ops.Cast(y, in[0].DType())
	}
	return []*ops.Tensor{y}
}

func (l *SpectralNormalization) normalizeKernel(c *Context) {
	kernel, u := c.Read(l.kernel), c.Read(l.u)
	w := ops.Reshape(kernel, -1, kernel.Dim(-1))
	next := u
	var v *ops.Tensor
	for range max(l.PowerIterations, 1) {
		v = unitLength(ops.Matmul(next, ops.Transpose(w)), []int{0, 1}, 1e-7)
		next = unitLength(ops.Matmul(v, w), []int{0, 1}, 1e-7)
	}
	next, v = ops.StopGradient(next), ops.StopGradient(v)
	sigma := ops.Reshape(ops.Matmul(ops.Matmul(v, w), ops.Transpose(next)))
	// A kernel of zeros has no direction: it stays as it is.
	zero := ops.LogicalNot(ops.Any(kernel))
	sigma = ops.Where(zero, ops.OnesLike(sigma), sigma)
	c.AssignMirrored(l.u, ops.Where(zero, u, next))
	c.AssignMirrored(l.kernel, ops.Divide(kernel, sigma))
}

// MemberAttributes names the layer as Keras files do.
func (l *SpectralNormalization) MemberAttributes() []string { return []string{"layer"} }

func init() { Register[SpectralNormalization]() }
