package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// DefaultPackage is the package of what is registered without one, as in Keras.
const DefaultPackage = "Custom"

// registered are the names, "package>Name", of types that were registered from outside of this module, or with a
// package.
var registered sync.Map // of reflect.Type to string

// RegisteredName returns the name in files of the type of v where it was registered from outside of this module,
// "package>Name"; else "".
func RegisteredName(v any) string {
	t := reflect.TypeOf(v)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name, _ := registered.Load(t)
	s, _ := name.(string)
	return s
}

// FullName is the name of what is registered with at most one package: "package>Name". It panics with the name of the
// function that registers.
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

// Registry holds the types of one kind (layers, losses, ...), by their names in files: the class name alone for those
// of this module's packages, "package>Name" for others. T is the interface that they implement.
type Registry[T any] struct {
	classes classes
}

// classes is what a Registry does for any kind: a copy for each, and a function for each type that makes one, would
// weigh 410 kB in every program.
type classes struct {
	room   string // the package of the kind, for messages
	mu     sync.RWMutex
	byName map[string]reflect.Type
}

// NewRegistry makes an empty registry for the kind of a package.
func NewRegistry[T any](room string) *Registry[T] {
	return &Registry[T]{classes{room: room, byName: map[string]reflect.Type{}}}
}

// Register makes the type known to which pointer points, which may be nil; values of the kind are such pointers. It
// panics when the name is taken.
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

// Find returns what makes a class: by its name in files, or by the class name alone where one package has it.
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

// FindName finds a key of all: name itself, or the one "package>name" where there is only one.
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
