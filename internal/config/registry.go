package config

import (
	"fmt"
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

// Registry holds what makes the values of one kind (layers, losses, ...), by their names in files: the class name alone
// for those of this module's packages, "package>Name" for others.
type Registry[T any] struct {
	room string // the package of the kind, for messages
	mu   sync.RWMutex
	make map[string]func() T
}

// NewRegistry makes an empty registry for the kind of a package.
func NewRegistry[T any](room string) *Registry[T] {
	return &Registry[T]{room: room, make: map[string]func() T{}}
}

// Register makes a type known. It panics when the name is taken.
func (r *Registry[T]) Register(t reflect.Type, create func() T, packageName ...string) {
	name := t.Name()
	if named, ok := any(create()).(interface{ ConfigClassName() string }); ok {
		name = named.ConfigClassName()
	}
	outside := Module(reflect.New(t).Interface()) == "" || len(packageName) > 0
	if outside {
		name = FullName(r.room+": Register", name, packageName)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.make[name]; taken {
		panic(r.room + ": Register called twice for " + name)
	}
	r.make[name] = create
	if outside {
		registered.Store(t, name)
	}
}

// Find returns what makes a class: by its name in files, or by the class name alone where one package has it.
func (r *Registry[T]) Find(name string) (create func() T, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	full, ok := FindName(r.make, name)
	return r.make[full], ok
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
		of, class, _ := strings.Cut(o.RegisteredName, ">")
		return none, fmt.Errorf("%s: unknown class %q: the file was written with a type of its author's; write its Go type %s with the same configuration and register it in an init function: %s.Register[%s](%q)",
			r.room, o.RegisteredName, class, r.room, class, of)
	}
	return create(), nil
}

// Names lists the names that files use, in alphabetical order.
func (r *Registry[T]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, len(r.make))
	for name := range r.make {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
