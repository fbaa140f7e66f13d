package layers

import (
	"encoding/json"
	"fmt"
	"github.com/gokeras/gokeras/keras/ops"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
)

// registry holds a function for each class that makes its layers.
var registry = config.NewRegistry[Layer]("layers")

// Register registers a custom layer type under its class name, so that models that use it can be read from files. It
// panics if the name is taken. Call it from init:
//
//	func init() { layers.Register[Scale]() }
//
// A type from outside this module is written to files, and looked for, as "Custom>Scale", or with another package
// instead of Custom if one is given: Register[Scale]("my_package"). Python code gives the same name with
// @keras.saving.register_keras_serializable(package="my_package").
func Register[T any, P interface {
	*T
	Layer
}](packageName ...string) {
	registry.Register((*T)(nil), packageName...)
}

// RegisteredName returns the name of a layer type from outside of this module in files, "package>Name"; "" for others.
func RegisteredName(l Layer) string {
	if l == nil {
		ops.Fail(nil, errNilLayer)
	}
	return config.RegisteredName(l)
}

// modelReaders read the objects of models, which may be inside a layer such as TimeDistributed. Package keras, which
// has the models, registers them.
var modelReaders = map[string]func(configuration, build, compile json.RawMessage) (Layer, error){}

// RegisterModel registers a function that reads models of the given class inside layers. read receives the object's
// config, build_config and compile_config. Such a model is an [ObjectWriter]. Call RegisterModel from init. It panics
// if the class is taken.
func RegisterModel(className string, read func(configuration, build, compile json.RawMessage) (Layer, error)) {
	if _, taken := modelReaders[className]; taken {
		panic("layers: RegisterModel called twice for " + className)
	}
	modelReaders[className] = read
}

// ObjectWriter is implemented by layers that describe themselves in Keras files, as models do.
type ObjectWriter interface {
	LayerObject() (map[string]any, error)
}

// New returns a layer of the given class with default configuration. The class may be a registered name,
// "package>Name".
func New(className string) (Layer, error) {
	make, ok := lookUp(className)
	if from := imported[className]; !ok && from != "" {
		return nil, fmt.Errorf("layers: class %q is not known to this program; import _ %q for it", className, from)
	}
	if !ok {
		return nil, fmt.Errorf("layers: unknown class %q; %sknown: %s; register your own with layers.Register", className,
			config.Guess(className, ClassNames()), strings.Join(ClassNames(), ", "))
	}
	return make(), nil
}

// imported says which package registers a class of Keras that this package does not have.
var imported = map[string]string{
	"LayerScale":       "github.com/gokeras/gokeras/keras/applications",
	"CustomScaleLayer": "github.com/gokeras/gokeras/keras/applications",
}

// lookUp finds what makes layers of a class: by its full name, by an alias, or by the name alone if only one package
// has it.
func lookUp(className string) (func() Layer, bool) {
	if full, ok := classAliases[className]; ok {
		className = full
	}
	return registry.Find(className)
}

// ClassNames lists the registered classes in alphabetical order.
func ClassNames() []string { return registry.Names() }
