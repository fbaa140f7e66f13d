package config

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnmarshalInWords: errors name the key, what stands there and what was expected.
func TestUnmarshalInWords(t *testing.T) {
	var into struct {
		Layers []struct {
			Units *int    `json:"units"`
			Rate  float64 `json:"rate"`
			Name  string  `json:"name"`
		} `json:"layers"`
		Trainable *bool          `json:"trainable"`
		Config    map[string]any `json:"config"`
	}
	for text, want := range map[string]string{
		`[1]`:                         `expected an object, received a list`,
		`"x"`:                         `expected an object, received a string`,
		`{"layers":{}}`:               `key "layers": expected a list, received an object`,
		`{"layers":[true]}`:           `key "layers": expected an object, received true or false`,
		`{"layers":[{"units":1.5}]}`:  `key "layers.units": expected a whole number, received the number 1.5`,
		`{"layers":[{"rate":"1"}]}`:   `key "layers.rate": expected a number, received a string`,
		`{"layers":[{"name":[]}]}`:    `key "layers.name": expected a string, received a list`,
		`{"trainable":3}`:             `key "trainable": expected true or false, received a number`,
		`{"config":7}`:                `key "config": expected an object, received a number`,
		`{"layers":[{"rate":1e999}]}`: `key "layers.rate": expected a number, received the number 1e999`,
	} {
		require.EqualError(t, Unmarshal([]byte(text), &into), want, text)
	}
	require.ErrorContains(t, Unmarshal([]byte(`{`), &into), "unexpected end of JSON input")
	require.NoError(t, Unmarshal([]byte(`{"layers":null}`), &into))
}

// TestReceived: values of files are not called by their Go types.
func TestReceived(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`: "an object without a class_name", `[1]`: "a list", `1.5`: "the number 1.5", `true`: "the value true",
		`{"class_name":"Dense"}`: `an object of class "Dense"`,
	} {
		v, err := parseAny([]byte(text))
		require.NoError(t, err)
		require.Equal(t, want, Received(v))
	}
	require.Equal(t, "a *config.kind", Received(&kind{}))
}
