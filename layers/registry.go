package layers

import (
	"encoding/json"
	"fmt"
	"github.com/gokeras/gokeras/keras/ops"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
)

// registry holds what makes a layer of each registered name: the bare class name for those of this module's packages,
// "package>Name" for others.
var registry = map[string]func() Layer{}

// registeredNames are the names of layer types from elsewhere.
var registeredNames = map[reflect.Type]string{}

// defaultPackage is the package of a layer that is registered without one, as in Keras.
const defaultPackage = "Custom"

// Register makes a layer type known by its class name, for models read from files. It panics when the name is taken, and is
// called from init:
//
//	func init() { layers.Register[Scale]() }
//
// A type from outside of this module is written to files, and looked for, as "Custom>Scale", or with another package in place of
// Custom where one is given: Register[Scale]("my_package"). That is the name that Python code gives with
// @keras.saving.register_keras_serializable(package="my_package").
func Register[T any, P interface {
	*T
	Layer
}](packageName ...string) {
	t := reflect.TypeFor[T]()
	name := t.Name()
	if len(packageName) > 1 {
		panic(fmt.Sprintf("layers: Register of %s takes at most one package, received %q", name, packageName))
	}
	if config.Module(new(T)) == "" || len(packageName) > 0 {
		name = defaultPackage + ">" + name
		if len(packageName) > 0 {
			name = packageName[0] + ">" + t.Name()
		}
		registeredNames[t] = name
	}
	if _, taken := registry[name]; taken {
		panic("layers: Register called twice for " + name)
	}
	registry[name] = func() Layer { return P(new(T)) }
}

// RegisteredName returns the name of a layer type from outside of this module in files, "package>Name"; "" for others.
func RegisteredName(l Layer) string {
	if l == nil {
		ops.Fail(nil, errNilLayer)
	}
	t := reflect.TypeOf(l)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return registeredNames[t]
}

// modelReaders read the objects of models, which may stand inside a layer such as TimeDistributed. Package keras, which has the models,
// registers them.
var modelReaders = map[string]func(configuration json.RawMessage) (Layer, error){}

// RegisterModel says how the configuration of a model of the given class is read, for models inside layers. Such a model is an
// [ObjectWriter]. It panics when the class is taken, and is called from init.
func RegisterModel(className string, read func(configuration json.RawMessage) (Layer, error)) {
	if _, taken := modelReaders[className]; taken {
		panic("layers: RegisterModel called twice for " + className)
	}
	modelReaders[className] = read
}

// ObjectWriter is implemented by layers that describe themselves in Keras files, as models do.
type ObjectWriter interface {
	LayerObject() (map[string]any, error)
}

// New returns a layer of the given class with default configuration. The class may be a registered name, "package>Name".
func New(className string) (Layer, error) {
	make, ok := lookUp(className)
	if !ok {
		return nil, fmt.Errorf("layers: unknown class %q; %sknown: %s; register your own with layers.Register", className,
			config.Guess(className, ClassNames()), strings.Join(ClassNames(), ", "))
	}
	return make(), nil
}

// lookUp finds what makes layers of a class: by its full name, by an alias, or by the name alone where one package has it.
func lookUp(className string) (func() Layer, bool) {
	if full, ok := classAliases[className]; ok {
		className = full
	}
	if make, ok := registry[className]; ok || strings.Contains(className, ">") {
		return make, ok
	}
	var found []string
	for name := range registry {
		if _, class, _ := strings.Cut(name, ">"); class == className {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		return nil, false
	}
	return registry[found[0]], true
}

// newRegistered makes the layer of an object in a file: by its registered name, or else by its class.
func newRegistered(o config.Object) (Layer, error) {
	if strings.Contains(o.RegisteredName, ">") {
		make, ok := lookUp(o.RegisteredName)
		if !ok {
			of, class, _ := strings.Cut(o.RegisteredName, ">")
			return nil, fmt.Errorf("layers: unknown class %q: it is a custom layer that the file was written with; write its Go type %s with the same configuration and register it in an init function: layers.Register[%s](%q)", o.RegisteredName, class, class, of)
		}
		return make(), nil
	}
	return New(o.ClassName)
}

// ClassNames lists the registered classes in alphabetical order.
func ClassNames() []string {
	names := make([]string, 0, len(registry))
	for name := range registry {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
