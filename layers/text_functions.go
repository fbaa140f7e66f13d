package layers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
)

// standardizers and splitters are the functions of programs that [TextVectorization] takes by name.
var (
	standardizers = config.NewFunctions[func(text string) string]("layers.RegisterStandardize")
	splitters     = config.NewFunctions[func(text string) []string]("layers.RegisterSplit")
)

// RegisterStandardize gives a function for the field Standardize of [TextVectorization] a name: a string stands for it,
// and models with it can be saved and read. Files have the name "Custom>name", or the given package instead of Custom,
// as in Python with @keras.saving.register_keras_serializable(package=...). RegisterStandardize panics when the name is
// taken, and is called from init. The function must not be a closure: all closures of one function literal share the
// name.
func RegisterStandardize(name string, f func(text string) string, packageName ...string) {
	standardizers.Register(name, f, packageName)
}

// RegisterSplit gives a function for the field Split of [TextVectorization] a name, as [RegisterStandardize] does.
func RegisterSplit(name string, f func(text string) []string, packageName ...string) {
	splitters.Register(name, f, packageName)
}

// textStep is one of the two steps that may be functions: the words of Keras for it, and functions of type F.
type textStep[F any] struct {
	field     string // for messages
	words     []string
	functions *config.Functions[F]
}

var (
	standardizeStep = textStep[func(text string) string]{"Standardize", []string{"lower_and_strip_punctuation", "lower", "strip_punctuation", "none"}, standardizers}
	splitStep       = textStep[func(text string) []string]{"Split", []string{"whitespace", "character", "none"}, splitters}
)

// quoted are the words, for messages.
func (s textStep[F]) quoted() string { return `"` + strings.Join(s.words, `", "`) + `"` }

// get returns the word that v is, "" for the default, or the function that it is or names.
func (s textStep[F]) get(v any) (word string, f F, err error) {
	switch v := v.(type) {
	case nil:
		return "", f, nil
	case F:
		if config.IsNil(v) {
			return "", f, fmt.Errorf("%s is a nil function", s.field)
		}
		return "", v, nil
	case string:
		if v == "" || slices.Contains(s.words, v) {
			return v, f, nil
		}
		if _, f, ok := s.functions.Find(v); ok {
			return "", f, nil
		}
		return "", f, fmt.Errorf("unknown %s %q; use %s, a function of one text, or the name of one that is known by %s", s.field, v, s.quoted(), s.functions.Call())
	case config.Object:
		if name, ok := v.FunctionName(); ok {
			if _, f, ok := s.functions.Find(name); ok {
				return "", f, nil
			}
			return "", f, fmt.Errorf("holds the Python function %q, which is not run; make a Go function in its place known by that name with %s", name, s.functions.Call())
		}
	}
	return "", f, fmt.Errorf("%s is %s; expected %s, or a function of one text", s.field, config.Received(v), s.quoted())
}

// register tells how a configuration holds the step under a key.
func (s textStep[F]) register(key string) {
	resolve := func(v any) (any, error) {
		word, f, err := s.get(v)
		if err != nil || config.IsNil(f) {
			return word, err
		}
		return f, nil
	}
	config.RegisterKindWith(key, resolve, func(v any) (any, error) {
		word, f, err := s.get(v)
		if err != nil || config.IsNil(f) {
			return word, err
		}
		return s.functions.Object(f, s.field)
	})
}

func init() {
	standardizeStep.register("standardize")
	splitStep.register("split")
}
