package keras_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
)

// TestUnknownNamesListedOnce: errors list each existing name once, not as function and as class.
func TestUnknownNamesListedOnce(t *testing.T) {
	m := classifier(t)
	for _, c := range []keras.CompileConfig{{Loss: "mean_squared_eror"}, {Loss: "mse", Metrics: []string{"mean_squared_eror"}}} {
		err := m.Compile(c)
		require.ErrorContains(t, err, `did you mean "mean_squared_error"? known: `)
		_, known, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(err.Error(), "_", "")), "known: ")
		seen := map[string]bool{"mse": false}
		for _, name := range strings.Split(strings.ReplaceAll(known, "; ", ", "), ", ") {
			if len(name) > 4 { // MSE and mse are both names
				require.False(t, seen[name], name)
				seen[name] = true
			}
		}
	}
}
