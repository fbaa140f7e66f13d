package layers

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
)

// checkClipping reports invalid limits.
func (l *BatchNormalization) checkClipping(b *Builder) {
	for key := range l.RenormClipping {
		if !slices.Contains([]string{"rmin", "rmax", "dmax"}, key) {
			b.Fail("RenormClipping has the unknown limit %q; known: rmin, rmax, dmax", key)
		}
	}
	low, hasLow := l.RenormClipping["rmin"]
	high, hasHigh := l.RenormClipping["rmax"]
	if hasLow && hasHigh && high < low || l.RenormClipping["dmax"] < 0 {
		b.Fail("RenormClipping %v needs rmax of at least rmin, and dmax of at least 0", l.RenormClipping)
	}
}

// renormalize replaces scale and offset by r·gamma and d·gamma + beta, where r and d convert the batch's statistics to
// the moving ones and are treated as constants.
func (l *BatchNormalization) renormalize(c *Context, mean, variance, gamma, beta *ops.Tensor, epsilon float64) (scale, offset *ops.Tensor) {
	dtype := mean.DType()
	slow := ops.MaximumScalar(ops.Cast(c.Read(l.renormStddev), dtype), math.Sqrt(epsilon))
	r := ops.Divide(ops.Sqrt(ops.AddScalar(variance, epsilon)), slow)
	d := ops.Divide(ops.Subtract(mean, ops.Cast(c.Read(l.renormMean), dtype)), slow)
	if low, ok := l.RenormClipping["rmin"]; ok {
		r = ops.MaximumScalar(r, low)
	}
	if high, ok := l.RenormClipping["rmax"]; ok {
		r = ops.MinimumScalar(r, high)
	}
	if limit, ok := l.RenormClipping["dmax"]; ok {
		d = ops.Clip(d, -limit, limit)
	}
	scale, offset = ops.StopGradient(r), ops.StopGradient(d)
	if gamma != nil {
		scale, offset = ops.Multiply(scale, gamma), ops.Multiply(offset, gamma)
	}
	if beta != nil {
		offset = ops.Add(offset, beta)
	}
	return scale, offset
}

// rootInitializer initializes a standard deviation with the square root of the variance's initial value.
type rootInitializer struct{ variance distribute.Initializer }

// Initialize writes the roots.
func (r rootInitializer) Initialize(into kernels.Array, seed uint64) error {
	if err := r.variance.Initialize(into, seed); err != nil {
		return err
	}
	values := into.Float64s()
	for i, v := range values {
		values[i] = math.Sqrt(v)
	}
	return into.SetFloat64s(0, values)
}
