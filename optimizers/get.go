package optimizers

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// classes holds the classes of optimizers by name.
var classes = config.NewRegistry[Optimizer]("optimizers")

// Register registers a custom optimizer type under its class name, so that models that use it can be read from files.
// Call it from init. It panics if the name is taken. A type from outside this module is written to files as
// "Custom>Name", or with the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	Optimizer
}](packageName ...string) {
	classes.Register((*T)(nil), packageName...)
}

func init() {
	Register[SGD]()
	Register[Adam]()
	Register[AdamW]()
	Register[RMSprop]()
	Register[Adagrad]()
	Register[Adadelta]()
	Register[Adamax]()
	Register[Nadam]()
	Register[Ftrl]()
	Register[Lion]()
	Register[Lamb]()
	Register[Adafactor]()
	Register[Muon]()
	Register[ScheduleFreeAdamW]()
	Register[LossScaleOptimizer]()
	Register[MultiOptimizer]()

	config.RegisterType(reflect.TypeFor[Optimizer](), "optimizer")
	config.RegisterKind("optimizer", func(v any) (any, error) { return Get(v) })
	config.RegisterKind("learning_rate", resolveRate)
}

// resolveRate reads the learning rate of a configuration.
func resolveRate(v any) (any, error) {
	if o, ok := v.(config.Object); ok {
		return schedules.FromObject(o)
	}
	if _, _, err := parseRate(v, 0); err != nil {
		return nil, err
	}
	return v, nil
}

// New returns an optimizer of the given class with default configuration. Upper and lower case do not matter ("adam",
// "Adam"), as in Keras.
func New(className string) (Optimizer, error) {
	for _, name := range classes.Names() {
		if strings.EqualFold(name, className) {
			className = name
		}
	}
	if make, ok := classes.Find(className); ok {
		return make(), nil
	}
	return nil, fmt.Errorf("optimizers: unknown optimizer %q; %sknown: %s; register your own with optimizers.Register", className,
		config.Guess(className, ClassNames()), strings.Join(ClassNames(), ", "))
}

// ClassNames lists the known classes in alphabetical order.
func ClassNames() []string { return classes.Names() }

// Get returns the optimizer that v stands for: an [Optimizer], a name of Keras ("adam") or a configuration object. An
// invalid configuration is an error.
func Get(v any) (Optimizer, error) {
	var o Optimizer
	var err error
	v = config.Given(v)
	if config.IsNil(v) {
		return nil, unfit(v)
	}
	switch v := v.(type) {
	case Optimizer:
		o = v
	case string:
		o, err = New(v)
	case config.Object:
		if o, err = classes.Object(v, func(class string) (Optimizer, error) { return New(lastPart(class)) }); err == nil {
			rest, _ := config.TakeBaseKeys(v.Config, o, "name")
			err = config.Decode(rest, o)
		}
	default:
		return nil, unfit(v)
	}
	if err != nil {
		return nil, err
	}
	switch o := o.(type) {
	case based:
		err = attach(o, o.base())
	case *LossScaleOptimizer:
		_, err = o.inner()
	case *MultiOptimizer:
		err = o.prepare()
	}
	return o, err
}

func unfit(v any) error {
	return fmt.Errorf("optimizers: received %s; expected an optimizers.Optimizer or a name such as \"adam\"", config.Received(v))
}

// lastPart returns the last part of a class name. Files written with Keras's torch backend include the module.
func lastPart(class string) string { return class[strings.LastIndex(class, ".")+1:] }
