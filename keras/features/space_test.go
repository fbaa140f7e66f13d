package features_test

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/features"
	"github.com/gokeras/gokeras/layers"
)

// spaceCase is a feature space of real Keras; see testdata/spaces.py.
type spaceCase struct {
	Name     string
	Features map[string]struct {
		Kind, Mode    string
		Scale, Offset float64
		Bins          int
	}
	Crosses     [][]string
	Dict        bool
	Train, Test map[string][]any
	Results     map[string]spaceResult
}

type spaceResult struct {
	Shape []int
	DType string
	Data  []float64
}

// spaceCases reads the cases, and puts their files into a folder.
func spaceCases(t *testing.T) (cases []spaceCase, folder string) {
	z, err := zip.OpenReader("testdata/spaces.zip")
	require.NoError(t, err)
	defer z.Close()
	folder = t.TempDir()
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, r.Close())
		if f.Name == "cases.json" {
			require.NoError(t, json.Unmarshal(content, &cases))
		} else {
			require.NoError(t, os.WriteFile(filepath.Join(folder, f.Name), content, 0o644))
		}
	}
	require.NotEmpty(t, cases)
	return cases, folder
}

// table converts columns of JSON to those of Go.
func table(columns map[string][]any, words func(name string) bool, whole func(name string) bool) map[string]any {
	out := map[string]any{}
	for name, values := range columns {
		switch {
		case words(name):
			column := make([]string, len(values))
			for i, v := range values {
				column[i] = v.(string)
			}
			out[name] = column
		case whole(name):
			column := make([]int32, len(values))
			for i, v := range values {
				column[i] = int32(v.(float64))
			}
			out[name] = column
		default:
			column := make([]float32, len(values))
			for i, v := range values {
				column[i] = float32(v.(float64))
			}
			out[name] = column
		}
	}
	return out
}

func (c *spaceCase) table(columns map[string][]any) map[string]any {
	kind := func(name string) string { return c.Features[name].Kind }
	return table(columns, func(name string) bool { return kind(name)[:3] == "str" || kind(name)[:3] == "tex" }, func(name string) bool { return kind(name)[:3] == "int" })
}

func (c *spaceCase) make(t *testing.T) *features.Space {
	all := map[string]features.Feature{}
	for name, f := range c.Features {
		switch f.Kind {
		case "float":
			all[name] = features.Float()
		case "float_normalized":
			all[name] = features.FloatNormalized()
		case "float_rescaled":
			all[name] = features.FloatRescaled(f.Scale, f.Offset)
		case "float_discretized":
			all[name] = features.FloatDiscretized(f.Bins).As(f.Mode)
		case "integer_categorical":
			all[name] = features.IntegerCategorical().As(f.Mode)
		case "string_categorical":
			all[name] = features.StringCategorical().As(f.Mode)
		case "integer_hashed":
			all[name] = features.IntegerHashed(f.Bins).As(f.Mode)
		case "string_hashed":
			all[name] = features.StringHashed(f.Bins).As(f.Mode)
		case "text_int":
			all[name] = features.Feature{DType: "string", Preprocessor: &layers.TextVectorization{OutputSequenceLength: 4}, OutputMode: features.IntMode}
		case "text_multi_hot", "text_count", "text_tf_idf":
			all[name] = features.Feature{DType: "string", Preprocessor: &layers.TextVectorization{OutputMode: layers.OutputMode(f.Kind[len("text_"):])}, OutputMode: features.FloatMode}
		default:
			t.Fatalf("unknown kind %q", f.Kind)
		}
	}
	options := []features.Option{features.Crosses(7, c.Crosses...)}
	if c.Dict {
		options = append(options, features.AsDict())
	}
	s, err := features.New(all, options...)
	require.NoError(t, err)
	return s
}

func (c *spaceCase) check(t *testing.T, got data.Tensors, want map[string]spaceResult) {
	t.Helper()
	require.Len(t, got.Arrays, len(want))
	for name, w := range want {
		array := got.Single()
		if c.Dict {
			array = got.Get(name)
		}
		require.False(t, array.IsZero(), "%s among %v", name, got.Names)
		require.Equal(t, w.Shape, []int(array.Shape()), name)
		require.InDeltaSlice(t, w.Data, floats(t, array), 2e-6, name)
	}
}

func floats(t *testing.T, d data.Array) []float64 {
	t.Helper()
	var out []float64
	switch values := d.Elements().(type) {
	case []float32:
		for _, v := range values {
			out = append(out, float64(v))
		}
	case []int32:
		for _, v := range values {
			out = append(out, float64(v))
		}
	case []int64:
		for _, v := range values {
			out = append(out, float64(v))
		}
	default:
		t.Fatalf("results of %T", values)
	}
	return out
}

// TestSpacesLikeKeras builds Keras's spaces, adapts them to the same tables, and encodes others; opens the files that
// Keras wrote; and writes files that it can open itself.
func TestSpacesLikeKeras(t *testing.T) {
	ctx := context.Background()
	cases, folder := spaceCases(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			made := c.make(t)
			require.NoError(t, made.Adapt(ctx, data.Arrays(c.table(c.Train), nil)))
			got, err := made.Encode(ctx, c.table(c.Test))
			require.NoError(t, err)
			c.check(t, got, c.Results)

			opened, err := features.Load(filepath.Join(folder, c.Name+".keras"))
			require.NoError(t, err)
			got, err = opened.Encode(ctx, c.table(c.Test))
			require.NoError(t, err)
			c.check(t, got, c.Results)

			for i, s := range []*features.Space{made, opened} {
				path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.keras", i))
				require.NoError(t, s.Save(path))
				again, err := features.Load(path)
				require.NoError(t, err)
				got, err = again.Encode(ctx, c.table(c.Test))
				require.NoError(t, err)
				c.check(t, got, c.Results)
			}
		})
	}
}

// TestKerasOpensSpaces lets real Keras open what Save wrote. GOKERAS_PYTHON names the Python.
func TestKerasOpensSpaces(t *testing.T) {
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs Keras with TensorFlow: set GOKERAS_PYTHON to a Python that has them")
	}
	ctx := context.Background()
	cases, _ := spaceCases(t)
	for _, c := range append(cases[:3], cases[len(cases)-1]) {
		s := c.make(t)
		require.NoError(t, s.Adapt(ctx, data.Arrays(c.table(c.Train), nil)))
		folder := t.TempDir()
		path, columns := filepath.Join(folder, "space.keras"), filepath.Join(folder, "table.json")
		require.NoError(t, s.Save(path))
		text, err := json.Marshal(c.Test)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(columns, text, 0o644))
		out, err := exec.Command(python, "testdata/spaces.py", "check", path, columns).Output()
		if failed, ok := err.(*exec.ExitError); ok {
			t.Fatalf("%v: %s", err, failed.Stderr)
		}
		require.NoError(t, err)
		var results map[string]spaceResult
		require.NoError(t, json.Unmarshal(out, &results))
		require.Equal(t, len(c.Results), len(results))
		for name, want := range c.Results {
			require.InDeltaSlice(t, want.Data, results[name].Data, 2e-6, name)
		}
	}
}

// A stream is encoded batch by batch, and a model may begin with the space.
func TestStreamAndModel(t *testing.T) {
	ctx := context.Background()
	columns := map[string]any{"n": []float32{1, 2, 3, 4}, "s": []string{"a", "b", "a", "c"}, "i": []int32{5, 5, 7, 9}}
	s, err := features.New(map[string]features.Feature{
		"n": features.FloatNormalized(), "s": features.StringCategorical(), "i": features.IntegerCategorical(),
	}, features.Crosses(4, []string{"i", "s"}))
	require.NoError(t, err)
	require.NoError(t, s.Adapt(ctx, data.Arrays(columns, nil)))
	want, err := s.Encode(ctx, columns)
	require.NoError(t, err)
	require.Equal(t, []int{4, 4 + 1 + 4 + 4}, want.Single().Shape())

	stream := data.Arrays(columns, []float32{0, 1, 0, 1}).Elements().Batch(3, false)
	n := 0
	for b, err := range s.Map(stream).Batches(ctx, 0) {
		require.NoError(t, err)
		require.Equal(t, 2, len(b.X.Single().Shape()))
		for i := range b.Size() {
			for j := range want.Single().Shape()[1] {
				require.Equal(t, want.Single().At(n+i, j), b.X.Single().At(i, j))
			}
		}
		require.Equal(t, b.Size(), b.Y.Single().Shape()[0])
		n += b.Size()
	}
	require.Equal(t, 4, n)

	inputs, encoded, err := s.Encoded()
	require.NoError(t, err)
	m, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(layers.Apply(&layers.Rescaling{Scale: []float64{2}}, encoded[0])))
	require.NoError(t, err)
	doubled, err := m.Predict(ctx, data.Arrays(columns, nil))
	require.NoError(t, err)
	for i, v := range floats(t, doubled) {
		require.InDelta(t, 2*floats(t, want.Single())[i], v, 1e-6)
	}
	path := filepath.Join(t.TempDir(), "whole.keras")
	require.NoError(t, m.Save(path))
	whole, err := keras.LoadModel(path)
	require.NoError(t, err)
	again, err := whole.Predict(ctx, data.Arrays(columns, nil))
	require.NoError(t, err)
	require.Equal(t, floats(t, doubled), floats(t, again))
}

func TestSpaceErrors(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		features map[string]features.Feature
		option   features.Option
		want     string
	}{
		{nil, features.AsDict(), "there are no features"},
		{map[string]features.Feature{"a": {DType: "float32", OutputMode: "both"}}, features.AsDict(), `the output mode "both"`},
		{map[string]features.Feature{"a": {DType: "float33", OutputMode: "int"}}, features.AsDict(), "float33"},
		{map[string]features.Feature{"a": features.Float()}, features.Crosses(3, []string{"a", "b"}), `the feature "b"`},
		{map[string]features.Feature{"a": features.Float()}, features.Crosses(3, []string{"a"}), "at least two features"},
	} {
		_, err := features.New(c.features, c.option)
		require.ErrorContains(t, err, c.want)
	}
	for _, text := range []layers.Layer{&layers.StringLookup{}, &layers.TextVectorization{}} {
		s, err := features.New(map[string]features.Feature{"a": {DType: "string", Preprocessor: text, OutputMode: features.IntMode}}, features.AsDict())
		require.NoError(t, err)
		_, err = s.Encode(ctx, map[string]any{"a": []string{"x"}})
		require.ErrorContains(t, err, "call Adapt")
	}
	s, err := features.New(map[string]features.Feature{"a": features.FloatDiscretized(4)})
	require.NoError(t, err)
	_, err = s.Encode(ctx, map[string]any{"a": []float32{1}})
	require.ErrorContains(t, err, "call Adapt")
	s, err = features.New(map[string]features.Feature{"a": features.StringCategorical()})
	require.NoError(t, err)
	require.ErrorContains(t, s.Adapt(ctx, data.Arrays(map[string]any{"b": []string{"x"}}, nil)), `no column "a"`)
	s, err = features.New(map[string]features.Feature{"a": features.StringHashed(3).As(features.IntMode)})
	require.NoError(t, err)
	_, err = s.Encode(ctx, map[string]any{"a": []string{"x"}})
	require.ErrorContains(t, err, "whole numbers, which cannot be joined")
	_, err = features.Load("testdata/spaces.zip")
	require.Error(t, err)
}
