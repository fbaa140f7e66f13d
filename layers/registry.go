package layers

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

var registry = map[string]func() Layer{}

// Register makes a layer type known by its class name, for models read from files. It panics when the name is taken, and is
// called from init:
//
//	func init() { layers.Register[Scale]() }
func Register[T any, P interface {
	*T
	Layer
}]() {
	name := reflect.TypeFor[T]().Name()
	if _, taken := registry[name]; taken {
		panic("layers: Register called twice for " + name)
	}
	registry[name] = func() Layer { return P(new(T)) }
}

// New returns a layer of the given class with default configuration.
func New(className string) (Layer, error) {
	if full, ok := classAliases[className]; ok {
		className = full
	}
	make, ok := registry[className]
	if !ok {
		return nil, fmt.Errorf("layers: unknown class %q; known: %s; register your own with layers.Register", className, strings.Join(ClassNames(), ", "))
	}
	return make(), nil
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
