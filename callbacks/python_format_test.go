package callbacks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
)

type formatFile struct {
	Templates [][]*string
	Values    map[string]json.RawMessage
	Cases     []formatCase
}

type formatCase struct {
	value any
	spec  string
	want  *string
}

func (c *formatCase) UnmarshalJSON(text []byte) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(text, &parts); err != nil {
		return err
	}
	var err error
	if c.value, err = pythonValue(parts[0]); err != nil {
		return err
	}
	if err := json.Unmarshal(parts[1], &c.spec); err != nil {
		return err
	}
	return json.Unmarshal(parts[2], &c.want)
}

// pythonValue is an int, a float or a list of floats, as the file writes them.
func pythonValue(text json.RawMessage) (any, error) {
	if strings.HasPrefix(string(text), "[") {
		var v []float64
		return v, json.Unmarshal(text, &v)
	}
	var i int
	if !strings.ContainsAny(string(text), ".en") && json.Unmarshal(text, &i) == nil {
		return i, nil
	}
	var x number
	err := json.Unmarshal(text, &x)
	return float64(x), err
}

func TestFormatIsPythons(t *testing.T) {
	var file formatFile
	load(t, "format.json.gz", &file)
	require.Greater(t, len(file.Cases), 2000)
	for _, c := range file.Cases {
		got, err := callbacks.FormatValue(c.value, c.spec)
		if c.want == nil {
			assert.Error(t, err, "%v with %q gives %q; Python fails", c.value, c.spec, got)
			continue
		}
		if assert.NoError(t, err, "%v with %q; Python gives %q", c.value, c.spec, *c.want) {
			assert.Equal(t, *c.want, got, "%v with %q", c.value, c.spec)
		}
	}
}

func TestTemplateIsPythons(t *testing.T) {
	var file formatFile
	load(t, "format.json.gz", &file)
	require.Greater(t, len(file.Templates), 20)
	value := func(name string) (any, bool) {
		text, ok := file.Values[name]
		if !ok {
			return nil, false
		}
		v, err := pythonValue(text)
		require.NoError(t, err)
		return v, true
	}
	for _, row := range file.Templates {
		got, err := callbacks.FormatTemplate(*row[0], value)
		if row[1] == nil {
			assert.Error(t, err, "%q gives %q; Python fails", *row[0], got)
			continue
		}
		if assert.NoError(t, err, *row[0]) {
			assert.Equal(t, *row[1], got, *row[0])
		}
	}
}
