package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// DefaultPackage is the package of names that are registered without one, as in Keras.
const DefaultPackage = "Custom"

// registered holds the names, "package>Name", of types that were registered from outside this module or with a package.
var registered sync.Map // of reflect.Type to string

// RegisteredName returns the name in files, "package>Name", of the type of v if it was registered from outside this
// module, and "" otherwise.
func RegisteredName(v any) string {
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _ := registered.Load(t)
	s, _ := name.(string)
	return s
}

// FullName returns the name for registering with at most one package: "package>Name". With more packages it panics,
// naming the function that registers.
func FullName(function, name string, packageName []string) string {
	switch {
	case len(packageName) == 0 || len(packageName) == 1 && packageName[0] == "":
		return DefaultPackage + ">" + name
	case len(packageName) > 1:
		panic(fmt.Sprintf("%s of %s takes at most one package, received %q", function, name, packageName))
	case strings.Contains(packageName[0], ">"):
		panic(fmt.Sprintf("%s of %s received the package %q; expected a name without \">\"", function, name, packageName[0]))
	}
	return packageName[0] + ">" + name
}

// Registry holds the types of one kind (layers, losses, ...), by their names in files: the class name alone for types
// of this module's packages, "package>Name" for others. T is the interface that they implement.
type Registry[T any] struct {
	classes classes
}

// classes is the part of a Registry that does not depend on the kind. A copy for each kind, and a function for each
// type that makes a value, would add 410 kB to every program.
type classes struct {
	room   string // the package of the kind, for messages
	mu     sync.RWMutex
	byName map[string]reflect.Type
}

// NewRegistry makes an empty registry for the kind of a package.
func NewRegistry[T any](room string) *Registry[T] {
	return &Registry[T]{classes{room: room, byName: map[string]reflect.Type{}}}
}

// Register registers the type that pointer, which may be nil, points to. Values of the kind are such pointers. It
// panics if the name is taken.
func (r *Registry[T]) Register(pointer any, packageName ...string) {
	r.classes.register(reflect.TypeOf(pointer).Elem(), packageName)
}

func (r *classes) register(t reflect.Type, packageName []string) {
	name, value := t.Name(), reflect.New(t).Interface()
	if named, ok := value.(interface{ ConfigClassName() string }); ok {
		name = named.ConfigClassName()
	}
	outside := Module(value) == "" || len(packageName) > 0
	if outside {
		name = FullName(r.room+": Register", name, packageName)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.byName[name]; taken {
		panic(r.room + ": Register called twice for " + name)
	}
	r.byName[name] = t
	if outside {
		registered.Store(t, name)
	}
}

// Find returns the function that makes values of a class, by its name in files, or by the class name alone if only one
// package has it.
func (r *Registry[T]) Find(name string) (create func() T, ok bool) {
	t, ok := r.classes.find(name)
	return func() T { return reflect.New(t).Interface().(T) }, ok
}

func (r *classes) find(name string) (reflect.Type, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	full, ok := FindName(r.byName, name)
	return r.byName[full], ok
}

// FindName finds a key of all: name itself, or "package>name" if there is only one such key.
func FindName[V any](all map[string]V, name string) (full string, ok bool) {
	if _, ok := all[name]; ok || strings.Contains(name, ">") {
		return name, ok
	}
	found := 0
	for f := range all {
		if _, class, has := strings.Cut(f, ">"); has && class == name {
			full = f
			found++
		}
	}
	return full, found == 1
}

// Object returns a new value for an object in a file: by its registered name, or else by its class.
func (r *Registry[T]) Object(o Object, byClass func(class string) (T, error)) (T, error) {
	if !strings.Contains(o.RegisteredName, ">") {
		return byClass(o.ClassName)
	}
	create, ok := r.Find(o.RegisteredName)
	if !ok {
		var none T
		return none, r.classes.unknown(o.RegisteredName)
	}
	return create(), nil
}

func (r *classes) unknown(name string) error {
	of, class, _ := strings.Cut(name, ">")
	return fmt.Errorf("%s: unknown class %q: the file was written with a type of its author's; write its Go type %s with the same configuration and register it in an init function: %s.Register[%s](%q)",
		r.room, name, class, r.room, class, of)
}

// Names lists the names that files use, in alphabetical order.
func (r *Registry[T]) Names() []string { return r.classes.names() }

func (r *classes) names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.byName))
}
