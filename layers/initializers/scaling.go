package initializers

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The modes of [VarianceScaling]. The zero value is FanIn.
const (
	FanIn  = "fan_in"  // the number of inputs of a unit
	FanOut = "fan_out" // the number of outputs of a unit
	FanAvg = "fan_avg" // the mean of both
)

// The distributions of [VarianceScaling]. The zero value means TruncatedNormalDistribution; "normal" does too.
const (
	TruncatedNormalDistribution   = "truncated_normal"
	UntruncatedNormalDistribution = "untruncated_normal"
	UniformDistribution           = "uniform"
)

// truncation is the standard deviation of the standard normal distribution cut at ±2.
const truncation = 0.87962566103423978

// VarianceScaling draws values of mean 0 and variance Scale/fan:
//
//	truncated_normal    normal with σ = sqrt(Scale/fan) / 0.87962566, cut at ±2σ
//	untruncated_normal  normal with σ = sqrt(Scale/fan)
//	uniform             uniform in [-limit, limit), limit = sqrt(3·Scale/fan)
//
// The package comment defines fan.
type VarianceScaling struct {
	Scale        float64 `keras:"scale,default=1.0"`                     // above 0; 0 is 1
	Mode         string  `keras:"mode,default=fan_in"`                   // FanIn, FanOut or FanAvg
	Distribution string  `keras:"distribution,default=truncated_normal"` // see above
	Seed         *int    `keras:"seed"`                                  // nil: the seed that comes with the call
	InputAxes    []int   `keras:"input_axes,null"`
	OutputAxes   []int   `keras:"output_axes,null"`
}

// Initialize draws the values.
func (v VarianceScaling) Initialize(into kernels.Array, seed uint64) error {
	scale := v.Scale
	if scale == 0 {
		scale = 1
	}
	if !(scale > 0) {
		return fmt.Errorf("initializers.VarianceScaling: Scale must be positive, received %v", v.Scale)
	}
	in, out, err := fans(into.Type.Shape, v.InputAxes, v.OutputAxes)
	if err != nil {
		return err
	}
	switch v.Mode {
	case "", FanIn:
		scale /= max(1, in)
	case FanOut:
		scale /= max(1, out)
	case FanAvg:
		scale /= max(1, (in+out)/2)
	default:
		return fmt.Errorf("initializers.VarianceScaling: unknown Mode %q; use %q, %q or %q", v.Mode, FanIn, FanOut, FanAvg)
	}
	seed = own(v.Seed, seed)
	switch v.Distribution {
	case "", "normal", TruncatedNormalDistribution:
		return truncatedNormal(into, 0, math.Sqrt(scale)/truncation, seed)
	case UntruncatedNormalDistribution:
		return normal(into, 0, math.Sqrt(scale), seed)
	case UniformDistribution:
		limit := math.Sqrt(3 * scale)
		return uniform(into, -limit, limit, seed)
	}
	return fmt.Errorf("initializers.VarianceScaling: unknown Distribution %q; use %q, %q or %q", v.Distribution, TruncatedNormalDistribution, UntruncatedNormalDistribution, UniformDistribution)
}

// fans returns the number of inputs and outputs of a unit; see the package comment.
func fans(shape ir.Shape, inputAxes, outputAxes []int) (in, out float64, err error) {
	if inputAxes != nil && outputAxes != nil {
		if in, err = product(shape, inputAxes); err == nil {
			out, err = product(shape, outputAxes)
		}
		return in, out, err
	}
	switch n := len(shape); n {
	case 0:
		return 1, 1, nil
	case 1:
		return float64(shape[0]), float64(shape[0]), nil
	default:
		receptive := float64(shape[:n-2].Size())
		return float64(shape[n-2]) * receptive, float64(shape[n-1]) * receptive, nil
	}
}

func product(shape ir.Shape, axes []int) (float64, error) {
	p := 1.0
	for _, a := range axes {
		i := a
		if i < 0 {
			i += len(shape)
		}
		if i < 0 || i >= len(shape) {
			return 0, fmt.Errorf("initializers: axis %d of InputAxes or OutputAxes is outside shape %v", a, shape)
		}
		p *= float64(shape[i])
	}
	return p, nil
}

// GlorotUniform draws uniformly from [-limit, limit), limit = sqrt(6 / (fan_in + fan_out)). Source: Glorot, Bengio,
// "Understanding the difficulty of training deep feedforward neural networks", AISTATS 2010, equation 16.
type GlorotUniform struct {
	Seed       *int  `keras:"seed"` // nil: the seed that comes with the call
	InputAxes  []int `keras:"input_axes,null"`
	OutputAxes []int `keras:"output_axes,null"`
}

// Initialize draws the values.
func (g GlorotUniform) Initialize(into kernels.Array, seed uint64) error {
	return VarianceScaling{1, FanAvg, UniformDistribution, g.Seed, g.InputAxes, g.OutputAxes}.Initialize(into, seed)
}

// GlorotNormal draws from the truncated normal distribution with standard deviation sqrt(2 / (fan_in + fan_out)).
// Source: as for [GlorotUniform].
type GlorotNormal struct {
	Seed       *int  `keras:"seed"` // nil: the seed that comes with the call
	InputAxes  []int `keras:"input_axes,null"`
	OutputAxes []int `keras:"output_axes,null"`
}

// Initialize draws the values.
func (g GlorotNormal) Initialize(into kernels.Array, seed uint64) error {
	return VarianceScaling{1, FanAvg, TruncatedNormalDistribution, g.Seed, g.InputAxes, g.OutputAxes}.Initialize(into, seed)
}

// HeUniform draws uniformly from [-limit, limit), limit = sqrt(6 / fan_in). Source: He et al., "Delving Deep into
// Rectifiers", ICCV 2015.
type HeUniform struct {
	Seed       *int  `keras:"seed"` // nil: the seed that comes with the call
	InputAxes  []int `keras:"input_axes,null"`
	OutputAxes []int `keras:"output_axes,null"`
}

// Initialize draws the values.
func (h HeUniform) Initialize(into kernels.Array, seed uint64) error {
	return VarianceScaling{2, FanIn, UniformDistribution, h.Seed, h.InputAxes, h.OutputAxes}.Initialize(into, seed)
}

// HeNormal draws from the truncated normal distribution with standard deviation sqrt(2 / fan_in). Source: He et al.,
// "Delving Deep into Rectifiers", ICCV 2015, equation 10.
type HeNormal struct {
	Seed       *int  `keras:"seed"` // nil: the seed that comes with the call
	InputAxes  []int `keras:"input_axes,null"`
	OutputAxes []int `keras:"output_axes,null"`
}

// Initialize draws the values.
func (h HeNormal) Initialize(into kernels.Array, seed uint64) error {
	return VarianceScaling{2, FanIn, TruncatedNormalDistribution, h.Seed, h.InputAxes, h.OutputAxes}.Initialize(into, seed)
}

// LecunUniform draws uniformly from [-limit, limit), limit = sqrt(3 / fan_in). Source: LeCun et al., "Efficient
// BackProp", 1998, section 4.6.
type LecunUniform struct {
	Seed       *int  `keras:"seed"` // nil: the seed that comes with the call
	InputAxes  []int `keras:"input_axes,null"`
	OutputAxes []int `keras:"output_axes,null"`
}

// Initialize draws the values.
func (l LecunUniform) Initialize(into kernels.Array, seed uint64) error {
	return VarianceScaling{1, FanIn, UniformDistribution, l.Seed, l.InputAxes, l.OutputAxes}.Initialize(into, seed)
}

// LecunNormal draws from the truncated normal distribution with standard deviation sqrt(1 / fan_in). Source: as for
// [LecunUniform].
type LecunNormal struct {
	Seed       *int  `keras:"seed"` // nil: the seed that comes with the call
	InputAxes  []int `keras:"input_axes,null"`
	OutputAxes []int `keras:"output_axes,null"`
}

// Initialize draws the values.
func (l LecunNormal) Initialize(into kernels.Array, seed uint64) error {
	return VarianceScaling{1, FanIn, TruncatedNormalDistribution, l.Seed, l.InputAxes, l.OutputAxes}.Initialize(into, seed)
}
