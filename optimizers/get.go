package optimizers

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// classes makes each class of optimizer with default configuration.
var classes = map[string]func() Optimizer{}

// Register makes an optimizer type known by its class name: to [Get], and for models read from files. It panics when the name
// is taken, and is called from init.
func Register[T any, P interface {
	*T
	Optimizer
}]() {
	name := reflect.TypeFor[T]().Name()
	if _, taken := classes[name]; taken {
		panic("optimizers: Register called twice for " + name)
	}
	classes[name] = func() Optimizer { return P(new(T)) }
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

// New returns an optimizer of the given class with default configuration. Upper and lower case do not matter ("adam", "Adam"),
// as in Keras.
func New(className string) (Optimizer, error) {
	for name, make := range classes {
		if strings.EqualFold(name, className) {
			return make(), nil
		}
	}
	return nil, fmt.Errorf("optimizers: unknown optimizer %q; %sknown: %s; register your own with optimizers.Register", className,
		config.Guess(className, ClassNames()), strings.Join(ClassNames(), ", "))
}

// ClassNames lists the known classes in alphabetical order.
func ClassNames() []string {
	names := make([]string, 0, len(classes))
	for name := range classes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Get returns the optimizer that v stands for: an [Optimizer], a name of Keras ("adam") or a configuration object. It reports
// an optimizer that is configured wrongly.
func Get(v any) (Optimizer, error) {
	var o Optimizer
	var err error
	switch v := v.(type) {
	case Optimizer:
		o = v
	case string:
		o, err = New(v)
	case config.Object:
		if o, err = New(lastPart(v.ClassName)); err == nil {
			err = config.Decode(v.Config, o)
		}
	default:
		return nil, fmt.Errorf("optimizers: cannot make an optimizer of %T (%v); expected an optimizers.Optimizer or a name such as \"adam\"", v, v)
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

// lastPart of a class name: files written with Keras's torch backend spell out the module.
func lastPart(class string) string { return class[strings.LastIndex(class, ".")+1:] }
