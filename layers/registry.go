package layers

import (
	"encoding/json"
	"fmt"
	"github.com/gokeras/gokeras/keras/ops"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
)

// registry holds what makes a layer of each class.
var registry = config.NewRegistry[Layer]("layers")

// Register makes a layer type known by its class name, for models read from files. It panics when the name is taken,
// and is called from init:
//
//	func init() { layers.Register[Scale]() }
//
// A type from outside this module is written to files, and looked for, as "Custom>Scale", or with another package in
// place of Custom where one is given: Register[Scale]("my_package"). That is the name that Python code gives with
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

// modelReaders read the objects of models, which may stand inside a layer such as TimeDistributed. Package keras, which
// has the models, registers them.
var modelReaders = map[string]func(configuration, build, compile json.RawMessage) (Layer, error){}

// RegisterModel says how the object of a model of the given class is read, for models inside layers: read receives what
// it has under config, build_config and compile_config. Such a model is an [ObjectWriter]. It panics when the class is
// taken, and is called from init.
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

// imported says which package registers a class of Keras that this one does not have.
var imported = map[string]string{
	"LayerScale":       "github.com/gokeras/gokeras/keras/applications",
	"CustomScaleLayer": "github.com/gokeras/gokeras/keras/applications",
}

// lookUp finds what makes layers of a class: by its full name, by an alias, or by the name alone where one package has
// it.
func lookUp(className string) (func() Layer, bool) {
	if full, ok := classAliases[className]; ok {
		className = full
	}
	return registry.Find(className)
}

// ClassNames lists the registered classes in alphabetical order.
func ClassNames() []string { return registry.Names() }
