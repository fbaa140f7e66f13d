package schedules

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Schedule gives the learning rate of each step.
type Schedule interface {
	// Rate returns the rate of a step, a scalar, inside a trace. The step is an integer scalar, and the rate is
	// computed in float32 as in Keras; or it is a float scalar, and the rate is computed in its type.
	Rate(step *ops.Tensor) *ops.Tensor
	// At returns the rate of a step, computed in float64.
	At(step int64) float64
}

// checker is implemented by schedules whose configuration can be invalid.
type checker interface{ check() error }

// Check reports an invalid configuration of a schedule.
func Check(s Schedule) error {
	if c, ok := s.(checker); ok {
		if err := c.check(); err != nil {
			return fmt.Errorf("schedules: %s: %w", config.ClassName(s), err)
		}
	}
	return nil
}

// begin checks the schedule and returns the step as a float.
func begin(s Schedule, step *ops.Tensor) *ops.Tensor {
	if err := Check(s); err != nil {
		ops.Fail(step.Graph(), err)
	}
	if step.DType().IsFloat() {
		return step
	}
	return ops.Cast(step, ir.Float32)
}

func positiveSteps(n float64) error {
	if !(n > 0) {
		return fmt.Errorf("DecaySteps must be positive, received %v", n)
	}
	return nil
}

// or returns what p points to, or the default if p is nil.
func or(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}

var classes = config.NewRegistry[Schedule]("schedules")

// Register registers a custom schedule type under its class name, so that models that use it can be read from files.
// Call it from init. It panics if the name is taken. A type from outside this module is written to files as
// "Custom>Name", or with the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	Schedule
}](packageName ...string) {
	classes.Register((*T)(nil), packageName...)
}

func init() {
	Register[ExponentialDecay]()
	Register[PiecewiseConstantDecay]()
	Register[PolynomialDecay]()
	Register[InverseTimeDecay]()
	Register[CosineDecay]()
	Register[CosineDecayRestarts]()
}

// New returns a schedule of the given class, to be filled in.
func New(className string) (Schedule, error) {
	if make, ok := classes.Find(className); ok {
		return make(), nil
	}
	return nil, fmt.Errorf("schedules: unknown class %q; known: %s; register your own with schedules.Register", className, strings.Join(ClassNames(), ", "))
}

// ClassNames lists the known classes in alphabetical order.
func ClassNames() []string { return classes.Names() }

// FromObject makes a schedule from a configuration object.
func FromObject(o config.Object) (Schedule, error) {
	s, err := classes.Object(o, New)
	if err != nil {
		return nil, err
	}
	if err := config.Decode(o.Config, s); err != nil {
		return nil, err
	}
	return s, Check(s)
}
