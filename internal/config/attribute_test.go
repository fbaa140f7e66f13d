package config

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A field with the option "attribute" is neither written nor read.
func TestAttributeOption(t *testing.T) {
	type part struct{ Units int }
	type block struct {
		Units int   `keras:"units"`
		Norm  *part `keras:"layernorm1,attribute"`
	}
	c, err := Encode(&block{Units: 3, Norm: &part{2}})
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"units": int64(3)}, c)
	assert.False(t, HasKey(&block{}, "layernorm1"))
	require.ErrorContains(t, Decode([]byte(`{"units": 3, "layernorm1": null}`), &block{}), `unknown key "layernorm1"`)
}
