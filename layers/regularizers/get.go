package regularizers

import (
	"reflect"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
)

// classes holds the classes by their names in files.
var classes = config.NewRegistry[Regularizer]("regularizers")

var words = config.Words{
	Kind: "regularizer", Expected: "a value with a Penalty method, or a function", Nil: "leave the field out for no penalty",
	Known:   " (also in lower case), or pass a value such as &regularizers.L2{L2: new(1e-4)}",
	Aliases: map[string]string{"l1": "L1", "l2": "L2", "l1l2": "L1L2", "orthogonal_regularizer": "OrthogonalRegularizer"},
}

// Func is a function used as a regularizer. It has no name, so a model that holds one cannot be saved with its
// configuration.
type Func func(w *ops.Tensor) *ops.Tensor

// Penalty calls the function.
func (f Func) Penalty(w *ops.Tensor) *ops.Tensor { return f(w) }

// Register makes a regularizer type known under its class name, so that models that use it can be read from files. Call
// it from init. It panics if the name is taken. A type from outside this module is written to files as "Custom>Name",
// or with the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	Regularizer
}](packageName ...string) {
	classes.Register((*T)(nil), packageName...)
}

// Names lists the class names in alphabetical order.
func Names() []string { return classes.Names() }

// Get returns the regularizer that is meant: a value, a function, or one with default configuration by its name ("L2",
// "l2"). nil gives nil: no penalty.
func Get(regularizer any) (Regularizer, error) {
	switch v := config.Given(regularizer).(type) {
	case nil:
		return nil, nil
	case func(*ops.Tensor) *ops.Tensor:
		return Func(v), nil
	default:
		return classes.Meant(v, &words)
	}
}

func init() {
	Register[L1]()
	Register[L2]()
	Register[L1L2]()
	Register[OrthogonalRegularizer]()
	config.RegisterType(reflect.TypeFor[Regularizer](), "regularizer")
	config.RegisterKind("regularizer", func(v any) (any, error) {
		r, err := Get(v)
		if r == nil {
			return nil, err
		}
		return r, err
	})
}
