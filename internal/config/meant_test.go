package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/layers/constraints"
	"github.com/gokeras/gokeras/layers/initializers"
	"github.com/gokeras/gokeras/layers/regularizers"
)

// TestMeant: what stands for a value of a kind, and what the messages say about what does not.
func TestMeant(t *testing.T) {
	get := map[string]func(v any) (any, error){
		"constraints":  func(v any) (any, error) { return constraints.Get(v) },
		"regularizers": func(v any) (any, error) { return regularizers.Get(v) },
		"initializers": func(v any) (any, error) { return initializers.Get(v) },
	}
	for _, c := range []struct {
		kind  string
		given any
		want  any
	}{
		{"constraints", "max_norm", &constraints.MaxNorm{}},
		{"constraints", "MaxNorm", &constraints.MaxNorm{}},
		{"constraints", config.Object{ClassName: "NonNeg", Config: []byte("{}")}, &constraints.NonNeg{}},
		{"regularizers", "l2", &regularizers.L2{}},
		{"initializers", "zeros", &initializers.Zeros{}},
	} {
		got, err := get[c.kind](c.given)
		require.NoError(t, err, c)
		require.Equal(t, c.want, got, c)
	}
	for _, c := range []struct {
		kind  string
		given any
		want  string
	}{
		{"constraints", "max_nrom", `constraints: unknown constraint "max_nrom"; did you mean "MaxNorm"? known: MaxNorm, MinMaxNorm, NonNeg, UnitNorm (also in snake case), or pass a value such as &constraints.MaxNorm{}`},
		{"constraints", (*constraints.NonNeg)(nil), "constraints: received a nil *constraints.NonNeg; leave the field out for no constraint"},
		{"constraints", 3, "constraints: received the number 3; expected a name (string), a value with an Apply method, or a function"},
		{"constraints", config.Object{ClassName: "MaxNorn", Config: []byte("{}")}, `unknown constraint "MaxNorn"; did you mean "MaxNorm"?`},
		{"constraints", config.Object{ClassName: "NonNeg", Config: []byte(`{"axis":1}`)}, `unknown key "axis"`},
		{"regularizers", "l3", `regularizers: unknown regularizer "l3"; did you mean "L1"? known: L1, L1L2, L2, OrthogonalRegularizer (also in lower case)`},
		{"initializers", "glorot_unifrom", `initializers: unknown initializer "glorot_unifrom"; did you mean "GlorotUniform"? known: `},
		{"initializers", (*initializers.Zeros)(nil), "initializers: received a nil *initializers.Zeros; expected a value such as &initializers.Zeros{}"},
		{"initializers", 3, "initializers: received the number 3; expected a name (string), or a value with an Initialize method"},
	} {
		_, err := get[c.kind](c.given)
		require.ErrorContains(t, err, c.want)
	}
}
