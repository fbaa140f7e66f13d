package initializers

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
)

// classes makes each initializer by class name.
var classes = map[string]func() distribute.Initializer{
	"Zeros":           func() distribute.Initializer { return new(Zeros) },
	"Ones":            func() distribute.Initializer { return new(Ones) },
	"Constant":        func() distribute.Initializer { return new(Constant) },
	"Identity":        func() distribute.Initializer { return new(Identity) },
	"RandomNormal":    func() distribute.Initializer { return new(RandomNormal) },
	"RandomUniform":   func() distribute.Initializer { return new(RandomUniform) },
	"TruncatedNormal": func() distribute.Initializer { return new(TruncatedNormal) },
	"VarianceScaling": func() distribute.Initializer { return new(VarianceScaling) },
	"GlorotUniform":   func() distribute.Initializer { return new(GlorotUniform) },
	"GlorotNormal":    func() distribute.Initializer { return new(GlorotNormal) },
	"HeUniform":       func() distribute.Initializer { return new(HeUniform) },
	"HeNormal":        func() distribute.Initializer { return new(HeNormal) },
	"LecunUniform":    func() distribute.Initializer { return new(LecunUniform) },
	"LecunNormal":     func() distribute.Initializer { return new(LecunNormal) },
	"Orthogonal":      func() distribute.Initializer { return new(Orthogonal) },
	"STFT":            func() distribute.Initializer { return new(STFT) },
}

// aliases are the other names that Keras accepts.
var aliases = map[string]string{
	"zeros": "Zeros", "zero": "Zeros", "ones": "Ones", "one": "Ones", "constant": "Constant",
	"identity": "Identity", "IdentityInitializer": "Identity",
	"random_normal": "RandomNormal", "normal": "RandomNormal", "random_uniform": "RandomUniform", "uniform": "RandomUniform",
	"truncated_normal": "TruncatedNormal", "variance_scaling": "VarianceScaling",
	"glorot_uniform": "GlorotUniform", "glorot_normal": "GlorotNormal", "he_uniform": "HeUniform", "he_normal": "HeNormal",
	"lecun_uniform": "LecunUniform", "lecun_normal": "LecunNormal",
	"orthogonal": "Orthogonal", "OrthogonalInitializer": "Orthogonal",
	"stft": "STFT", "STFTInitializer": "STFT",
}

// Register makes an initializer type known by its class name, for models read from files. It panics when the name is taken, and
// is called from init.
func Register(className string, create func() distribute.Initializer) {
	if _, taken := classes[className]; taken {
		panic("initializers: Register called twice for " + className)
	}
	classes[className] = create
}

// Names lists the class names in alphabetical order.
func Names() []string {
	names := make([]string, 0, len(classes))
	for name := range classes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Get returns the initializer that is meant: one that is a value already, or one with default configuration by its class name
// ("GlorotUniform") or Keras's short name ("glorot_uniform", "zeros", "uniform").
func Get(initializer any) (distribute.Initializer, error) {
	switch v := initializer.(type) {
	case nil:
		return nil, fmt.Errorf("initializers: none given; expected a name or a value, for example \"glorot_uniform\" or &initializers.Zeros{}")
	case distribute.Initializer:
		if r := reflect.ValueOf(v); r.Kind() == reflect.Pointer && r.IsNil() {
			return nil, fmt.Errorf("initializers: received a nil %T; expected a value such as &initializers.Zeros{}", v)
		}
		return v, nil
	case string:
		return byName(v)
	case config.Object:
		i, err := byName(v.ClassName)
		if err != nil {
			return nil, err
		}
		return i, config.Decode(v.Config, i)
	}
	return nil, fmt.Errorf("initializers: received a %T; expected a name (string) or a value with an Initialize method", initializer)
}

func byName(name string) (distribute.Initializer, error) {
	class := name
	if full, ok := aliases[name]; ok {
		class = full
	}
	create, ok := classes[class]
	if !ok {
		return nil, fmt.Errorf("initializers: unknown initializer %q; %sknown: %s, also in snake case (glorot_uniform)", name, config.Guess(name, Names()),
			strings.Join(Names(), ", "))
	}
	return create(), nil
}

func init() {
	config.RegisterKind("initializer", func(v any) (any, error) { return Get(v) })
}
