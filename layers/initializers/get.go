package initializers

import (
	"fmt"
	"reflect"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
)

// classes holds the classes by their names in files.
var classes = config.NewRegistry[distribute.Initializer]("initializers")

var words = config.Words{
	Kind: "initializer", Expected: "or a value with an Initialize method", Nil: "expected a value such as &initializers.Zeros{}",
	Known: ", also in snake case (glorot_uniform)", Aliases: aliases,
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

// Register makes an initializer type known under its class name, so that models that use it can be read from files.
// Call it from init. It panics if the name is taken. A type from outside this module is written to files as
// "Custom>Name", or with the given package instead of Custom, as in Python with
// @keras.saving.register_keras_serializable(package=...).
func Register[T any, P interface {
	*T
	distribute.Initializer
}](packageName ...string) {
	classes.Register((*T)(nil), packageName...)
}

// Names lists the class names in alphabetical order.
func Names() []string { return classes.Names() }

// Get returns the initializer that is meant: one that is a value already, or one with default configuration by its
// class name ("GlorotUniform") or Keras's short name ("glorot_uniform", "zeros", "uniform").
func Get(initializer any) (distribute.Initializer, error) {
	v := config.Given(initializer)
	if v == nil {
		return nil, fmt.Errorf("initializers: none given; expected a name or a value, for example \"glorot_uniform\" or &initializers.Zeros{}")
	}
	return classes.Meant(v, &words)
}

func init() {
	Register[Zeros]()
	Register[Ones]()
	Register[Constant]()
	Register[Identity]()
	Register[RandomNormal]()
	Register[RandomUniform]()
	Register[TruncatedNormal]()
	Register[VarianceScaling]()
	Register[GlorotUniform]()
	Register[GlorotNormal]()
	Register[HeUniform]()
	Register[HeNormal]()
	Register[LecunUniform]()
	Register[LecunNormal]()
	Register[Orthogonal]()
	Register[STFT]()
	config.RegisterType(reflect.TypeFor[distribute.Initializer](), "initializer")
	config.RegisterKind("initializer", func(v any) (any, error) { return Get(v) })
}
