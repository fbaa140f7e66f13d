package layertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// scale is y = x · gain, with a selectable defect.
type scale struct {
	layers.Base

	Defect string `keras:"defect"`
	Size   int    // not in the configuration

	gain *distribute.Variable
}

func (l *scale) Build(b *layers.Builder, in []ir.Shape) {
	dtype := ir.Invalid
	if l.Defect == "half weights" {
		dtype = ir.BFloat16
	}
	l.gain = b.AddWeight("gain", in[0][len(in[0])-1:], layers.WeightOptions{Initializer: "ones", DType: dtype})
	if l.Defect == "another weight" {
		b.AddWeight("more", ir.Shape{}, layers.WeightOptions{})
	}
}

func (l *scale) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	x, gain := in[0], c.Weight(l.gain)
	y := ops.Multiply(x, gain)
	switch l.Defect {
	case "wrong gradient":
		y = ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
			return []*ops.Tensor{ops.Multiply(xs[0], xs[1])}, func(dys []*ops.Tensor) []*ops.Tensor {
				return []*ops.Tensor{ops.Multiply(dys[0], xs[1]), ops.MultiplyScalar(ops.Sum(ops.Multiply(dys[0], xs[0]), 0), 1.01)}
			}
		}, x, gain)[0]
	case "nan":
		y = ops.DivideScalar(ops.Multiply(y, ops.Scalar(y, 0)), 0)
	case "mean of batch":
		y = ops.Add(y, ops.KeepDims(ops.Mean(x, 0), x, 0))
		c.Assign(l.gain, ops.Mean(x, 0))
	case "wrong shape":
		y = ops.Concatenate(1, y, y)
	case "batch in shape":
		y = ops.Reshape(y, 1, -1)
	case "full precision":
		y = ops.Cast(y, ir.Float32)
	case "state outside the configuration":
		y = ops.MultiplyScalar(y, float64(l.Size))
	}
	return []*ops.Tensor{y}
}

func (l *scale) SupportsMasking() bool { return l.Defect == "mask" }

func init() { layers.Register[scale]() }

// recorder records whether a check fails.
type recorder struct{ failures []string }

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}
func (r *recorder) FailNow() { panic(r) }

// failing returns the names of the checks that fail for a case.
func failing(c Case) string {
	var names []string
	for _, check := range checks {
		r := &recorder{}
		func() {
			defer func() {
				if p := recover(); p != nil && p != any(r) {
					panic(p)
				}
			}()
			check.check(c, r)
		}()
		if len(r.failures) > 0 {
			names = append(names, check.name)
		}
	}
	return strings.Join(names, " ")
}

// TestDefectsAreFound: each defect fails the checks meant for it, and a correct layer fails none.
func TestDefectsAreFound(t *testing.T) {
	for defect, want := range map[string]string{
		"":                                "",
		"another weight":                  "weights",
		"wrong gradient":                  "gradients",
		"nan":                             "config values backend mixed_precision gradients",
		"mean of batch":                   "empty_batch",
		"wrong shape":                     "shape",
		"batch in shape":                  "shape empty_batch",
		"full precision":                  "mixed_precision gradients",
		"half weights":                    "mixed_precision gradients",
		"state outside the configuration": "config",
		"mask":                            "mask",
	} {
		c := Case{
			New:    func() layers.Layer { return &scale{Defect: defect, Size: 3} },
			Inputs: []opstest.Array{opstest.Normal(1, 2, 3)}, Output: []int{2, 3}, Weights: 1, Trainable: 1,
			Masks: []opstest.Array{opstest.Bools([]int{2}, 1, 0)},
		}
		assert.Equal(t, want, failing(c), defect)
	}
}

// TestRun passes for a correct layer.
func TestRun(t *testing.T) {
	Run(t, Case{
		New:    func() layers.Layer { return &scale{} },
		Inputs: []opstest.Array{opstest.Normal(1, 2, 3)}, Output: []int{2, 3}, Weights: 1, Trainable: 1,
	})
}
