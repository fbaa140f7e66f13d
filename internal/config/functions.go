package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Functions are the functions of one kind (losses, metrics, activations) with the names under which files have them. F
// is their type. Several goroutines may use a set at the same time.
type Functions[F any] struct {
	call   string // how programs name them, "losses.RegisterFunc", for messages
	mu     sync.RWMutex
	byName map[string]F
	names  map[uintptr]string
}

// NewFunctions returns an empty set.
func NewFunctions[F any](call string) *Functions[F] {
	return &Functions[F]{call: call, byName: map[string]F{}, names: map[uintptr]string{}}
}

// Register gives a function a name, "Custom>name" or "package>name". It panics when the name is empty or taken, and
// when the function is nil.
func (r *Functions[F]) Register(name string, f F, packageName []string) {
	if name == "" {
		panic(r.call + " received an empty name; expected the one that files have for the function")
	}
	if reflect.ValueOf(f).IsNil() {
		panic(fmt.Sprintf("%s of %q received a nil function; expected the one that the name stands for", r.call, name))
	}
	r.Add(FullName(r.call, name, packageName), f)
}

// Add gives a function a full name; those of Keras itself have no package. It panics when the name is taken.
func (r *Functions[F]) Add(name string, f F) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.byName[name]; taken {
		panic(r.call + " called twice for " + name)
	}
	r.byName[name] = f
	if at := reflect.ValueOf(f).Pointer(); r.names[at] == "" {
		r.names[at] = name
	}
}

// Call is how programs name functions.
func (r *Functions[F]) Call() string { return r.call }

// Find returns the function of a name, which needs the package only where several have one, and its full name.
func (r *Functions[F]) Find(name string) (full string, f F, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	full, ok = FindName(r.byName, name)
	return full, r.byName[full], ok
}

// Names lists the full names in alphabetical order.
func (r *Functions[F]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Sorted(maps.Keys(r.byName))
}

// Name returns the full name of a function, "" if it has none, and the name without the package.
func (r *Functions[F]) Name(f F) (full, bare string) {
	v := reflect.ValueOf(f)
	if v.IsNil() {
		return "", ""
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	full = r.names[v.Pointer()]
	_, bare, _ = strings.Cut(full, ">")
	return full, bare
}

// Object is what files have for a function, as for its Python counterpart; name is what messages call one that has no
// name in files.
func (r *Functions[F]) Object(f F, name string) (map[string]any, error) {
	full, _ := r.Name(f)
	if full == "" {
		return nil, fmt.Errorf("%q is a Go function, which files do not hold; give it a name in them with %s", name, r.call)
	}
	return FunctionObject(full), nil
}

// FunctionObject is what files have for the function of a name.
func FunctionObject(name string) map[string]any {
	return map[string]any{"module": "builtins", "class_name": "function", "config": name, "registered_name": "function"}
}

// IsFunction reports whether files have the name of a function for a value.
func IsFunction(v any) bool {
	_, ok := v.(interface {
		ConfigObject() (map[string]any, error)
	})
	return ok
}
