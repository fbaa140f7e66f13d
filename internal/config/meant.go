package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Words holds the words for a kind in messages, and the other names of its classes.
type Words struct {
	Kind     string            // "constraint"
	Aliases  map[string]string // from the names that Keras accepts besides those of classes to these
	Known    string            // what follows the list of names: "(also in snake case)"
	Expected string            // besides a name
	Nil      string            // what to do instead of passing a nil pointer
}

// Meant returns the value that v stands for: v itself if it is of the kind, a value with default configuration given by
// its name, or the value of an object in a file.
func (r *Registry[T]) Meant(given any, w *Words) (T, error) {
	var none T
	switch v := given.(type) {
	case T:
		if p := reflect.ValueOf(v); p.Kind() == reflect.Pointer && p.IsNil() {
			return none, fmt.Errorf("%s: received a nil %T; %s", r.classes.room, v, w.Nil)
		}
		return v, nil
	case string:
		return r.named(v, w)
	case Object:
		value, err := r.Object(v, func(class string) (T, error) { return r.named(class, w) })
		if err != nil {
			return none, err
		}
		return value, Decode(v.Config, value)
	}
	return none, fmt.Errorf("%s: received %s; expected a name (string), %s", r.classes.room, Received(given), w.Expected)
}

func (r *Registry[T]) named(name string, w *Words) (T, error) {
	class := name
	if full, ok := w.Aliases[name]; ok {
		class = full
	}
	create, ok := r.Find(class)
	if !ok {
		var none T
		return none, r.classes.unknownName(name, w)
	}
	return create(), nil
}

func (r *classes) unknownName(name string, w *Words) error {
	names := r.names()
	return fmt.Errorf("%s: unknown %s %q; %sknown: %s%s", r.room, w.Kind, name, Guess(name, names), strings.Join(names, ", "), w.Known)
}
