package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuess(t *testing.T) {
	known := []string{"Adadelta", "Adam", "AdamW", "Adamax", "RMSprop", "SGD"}
	functions := []string{"MAE", "MSE", "mae", "mse", "categorical_crossentropy", "sparse_categorical_crossentropy"}
	for name, want := range map[string]string{
		"adamm":                           "Adam",
		"rms_prop":                        "RMSprop",
		"adamw":                           "AdamW",
		"sdg":                             "SGD",
		"msee":                            "mse",
		"Mes":                             "MSE",
		"sparse_categorical_cross_entopy": "sparse_categorical_crossentropy",
		"CategoricalCrosentropy":          "categorical_crossentropy",
		"momentum":                        "",
		"":                                "",
		"é":                               "",
	} {
		expected := ""
		if want != "" {
			expected = `did you mean "` + want + `"? `
		}
		require.Equal(t, expected, Guess(name, known, functions), name)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"relu", "rleu", 1}, {"abcd", "acbd", 1}, {"adam", "adam", 0}} {
		require.Equal(t, c.want, distance(c.a, c.b), "%s %s", c.a, c.b)
		require.Equal(t, c.want, distance(c.b, c.a), "%s %s", c.b, c.a)
	}
}
