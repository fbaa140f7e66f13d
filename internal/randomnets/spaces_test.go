package randomnets

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras/features"
	"github.com/gokeras/gokeras/layers"
)

// space is a feature space that randomspaces.py wrote down, and what Keras makes of the rows of a table.
type space struct {
	Number, Seed int
	Mode, Error  string
	Types        map[string]string
	Train, Test  map[string][]any
	Features     map[string]struct {
		Mode, Type   string
		Preprocessor json.RawMessage
	}
	Crosses []struct {
		Features []string
		Bins     int
		Mode     string
	}
	Results map[string]typed
}

// TestFreshSpaces draws feature spaces.
func TestFreshSpaces(t *testing.T) {
	compareSpaces(t, draw(t, pythonOf(t), "randomspaces.py", "RANDOM_SPACES", "30"))
}

// TestRecordedSpaces compares with feature spaces that were drawn and recorded before.
func TestRecordedSpaces(t *testing.T) {
	compareSpaces(t, recorded.Folder(t, "testdata/spaces.tar.gz"))
}

func compareSpaces(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "spaces.json"))
	require.NoError(t, err)
	var all []space
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all)
	for _, c := range all {
		if err := c.compare(folder); err != nil {
			t.Errorf("space of seed %d: %v", c.Seed, err)
		}
	}
	t.Logf("%d spaces", len(all))
}

func (c *space) compare(folder string) error {
	made, err := c.made()
	if err == nil {
		err = made.Adapt(context.Background(), data.Arrays(c.table(c.Train), nil))
	}
	if err == nil {
		err = c.encodes(made)
	}
	if c.Error != "" {
		if err == nil {
			return fmt.Errorf("Keras refuses (%s)", c.Error)
		}
		return nil
	}
	if err != nil {
		return err
	}
	read, err := features.Load(filepath.Join(folder, fmt.Sprintf("%d.keras", c.Number)))
	if err != nil {
		return err
	}
	if err := c.encodes(read); err != nil {
		return fmt.Errorf("from Keras's file: %w", err)
	}
	path := filepath.Join(folder, "ours.keras")
	if err := made.Save(path); err != nil {
		return err
	}
	again, err := features.Load(path)
	if err != nil {
		return err
	}
	if err := c.encodes(again); err != nil {
		return fmt.Errorf("from a file: %w", err)
	}
	return nil
}

// made returns the space before it learns.
func (c *space) made() (*features.Space, error) {
	all := map[string]features.Feature{}
	for name, f := range c.Features {
		made := features.Feature{DType: f.Type, OutputMode: f.Mode}
		if len(f.Preprocessor) > 0 && string(f.Preprocessor) != "null" {
			l, err := layers.FromObject(f.Preprocessor)
			if err != nil {
				return nil, err
			}
			made.Preprocessor = l
		}
		all[name] = made
	}
	var options []features.Option
	if c.Mode == "dict" {
		options = append(options, features.AsDict())
	}
	for _, x := range c.Crosses {
		options = append(options, features.WithCross(features.Cross{Features: x.Features, Bins: x.Bins, OutputMode: x.Mode}))
	}
	return features.New(all, options...)
}

func (c *space) table(columns map[string][]any) map[string]any {
	out := map[string]any{}
	for name, values := range columns {
		switch c.Types[name] {
		case "string":
			out[name] = converted(values, func(v any) string { return v.(string) })
		case "int32":
			out[name] = converted(values, func(v any) int32 { return int32(v.(float64)) })
		default:
			out[name] = converted(values, func(v any) float32 { return float32(v.(float64)) })
		}
	}
	return out
}

func converted[T any](values []any, f func(any) T) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}

// encodes compares what the space makes of the test rows.
func (c *space) encodes(s *features.Space) error {
	got, err := s.Encode(context.Background(), c.table(c.Test))
	if err != nil {
		return err
	}
	if got.Len() != len(c.Results) {
		return fmt.Errorf("%d results, Keras has %d", got.Len(), len(c.Results))
	}
	for name, want := range c.Results {
		var a data.Array
		if c.Mode == "dict" {
			a = got.Get(name)
		} else {
			a = got.Single()
		}
		if a.Type.DType.String() != want.DType || !slices.Equal(a.Shape(), want.Shape) {
			return fmt.Errorf("%q is %v, Keras's %s%v", name, a.Type, want.DType, want.Shape)
		}
		if text := want.differs(a.Float64s()); text != "" {
			return fmt.Errorf("%q %s", name, text)
		}
	}
	return nil
}
