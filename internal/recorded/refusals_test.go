package recorded_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
)

// Values of another type than the key's may be refused, others where a line says so.
func TestRefusals(t *testing.T) {
	file := filepath.Join(t.TempDir(), "refused.txt")
	require.NoError(t, os.WriteFile(file, []byte("# Of layers.\n\n*dropout -1 # why\nFlip.mode *\nMel.* null\n"), 0o600))
	r := recorded.LoadRefusals(t, file)
	require.Len(t, r, 3)
	wrong := errors.New("must be between 0 and 1")
	for _, c := range []struct {
		name, value string
		err         error
		want        bool
	}{
		{"GRU.recurrent_dropout", "-1", wrong, true},
		{"GRU.recurrent_dropout", "0.5", wrong, false},
		{"Flip.mode", "true", wrong, true},
		{"Flip.modes", "true", wrong, false},
		{"Mel.window", "null", wrong, true},
		{"Dense.units", `"word"`, errors.New(`key "units": expected a whole number, received "word"`), true},
		{"Dense.units", "null", errors.New(`key "units": expected a whole number, received null`), false},
		{"Dense.rate", "true", errors.New(`key "rate": expected a number, received true`), false},
	} {
		require.Equal(t, c.want, r.Allow(c.name, c.value, c.err), "%s %s", c.name, c.value)
	}
}
