package config_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/config"
)

func TestPrefixed(t *testing.T) {
	cause := errors.New("layers: no layers: here")
	for _, c := range []struct{ prefix, inner, want string }{
		{"layers: ", "%w", "layers: no layers: here"},
		{"layers: ", "config of Dense: %w", "layers: config of Dense: no layers: here"},
		{"layers: x: ", "keras: layers: y: %w", "layers: x: keras: y: no layers: here"},
		{"keras: Save: ", "keras: NewModel: %w", "keras: Save: NewModel: layers: no layers: here"},
	} {
		err := config.Prefixed(c.prefix, fmt.Errorf(c.inner, cause))
		require.EqualError(t, err, c.want)
		require.ErrorIs(t, err, cause)
	}
	require.NoError(t, config.Prefixed("layers: ", nil))
}
