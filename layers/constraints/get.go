package constraints

import (
	"reflect"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
)

// classes holds the classes by their names in files.
var classes = config.NewRegistry[Constraint]("constraints")

var words = config.Words{
	Kind: "constraint", Expected: "a value with an Apply method, or a function", Nil: "leave the field out for no constraint",
	Known:   " (also in snake case), or pass a value such as &constraints.MaxNorm{}",
	Aliases: map[string]string{"max_norm": "MaxNorm", "min_max_norm": "MinMaxNorm", "non_neg": "NonNeg", "unit_norm": "UnitNorm"},
}

// Func is a function used as a constraint. It has no name, so a model that holds one cannot be saved with its
// configuration.
type Func func(w *ops.Tensor) *ops.Tensor

// Apply calls the function.
func (f Func) Apply(w *ops.Tensor) *ops.Tensor { return f(w) }

// Register makes a constraint type known under its class name, so that models that use it can be read from files. Call
// it from init. It panics if the name is taken. A type from outside this module is written to files as "Custom>Name",
// or with the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	Constraint
}](packageName ...string) {
	classes.Register((*T)(nil), packageName...)
}

// Names lists the class names in alphabetical order.
func Names() []string { return classes.Names() }

// Get returns the constraint that is meant: a value, a function, or one with default configuration by its name
// ("MaxNorm", "max_norm"). nil gives nil: no constraint.
func Get(constraint any) (Constraint, error) {
	switch v := config.Given(constraint).(type) {
	case nil:
		return nil, nil
	case func(*ops.Tensor) *ops.Tensor:
		return Func(v), nil
	default:
		return classes.Meant(v, &words)
	}
}

func init() {
	Register[MaxNorm]()
	Register[MinMaxNorm]()
	Register[NonNeg]()
	Register[UnitNorm]()
	config.RegisterType(reflect.TypeFor[Constraint](), "constraint")
	config.RegisterKind("constraint", func(v any) (any, error) {
		r, err := Get(v)
		if r == nil {
			return nil, err
		}
		return r, err
	})
}
