package data_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// TestImageResizingIsThatOfKeras: the ways of resizing, for images that become smaller and larger. TensorFlow takes the
// weights of bicubic from a table of 1024 entries.
func TestImageResizingIsThatOfKeras(t *testing.T) {
	want, err := data.LoadNPZ("testdata/resizing.npz")
	require.NoError(t, err)
	for _, name := range want.Names {
		options := []data.ImageOption{data.ImagesInOrder(), data.ImageBatchSize(100), data.ClassNames("cats", "dogs")}
		tolerance := 2e-3
		switch name {
		case "crop", "crop_nearest":
			options = append(options, data.CropToAspectRatio())
		case "pad", "pad_bicubic":
			options = append(options, data.PadToAspectRatio())
		default:
			options = append(options, data.ImageInterpolation(data.Interpolation(name)))
		}
		switch name {
		case "bicubic", "pad_bicubic":
			tolerance = 0.25
		}
		switch name {
		case "crop_nearest":
			options = append(options, data.ImageInterpolation(data.Nearest))
		case "pad_bicubic":
			options = append(options, data.ImageInterpolation(data.Bicubic))
		}
		ds, err := data.ImageDatasetFromDirectory("testdata/images", 6, 4, options...)
		require.NoError(t, err)
		x := batchesOf(t, ds, 0)[0].X.Single()
		require.Equal(t, shapeOf(want.Get(name)), shapeOf(x))
		expected, ok := want.Get(name).Elements().([]float32)
		if !ok { // Keras keeps bytes where it takes whole pixels
			for _, v := range want.Get(name).Elements().([]uint8) {
				expected = append(expected, float32(v))
			}
		}
		requireNear(t, expected, x.Elements().([]float32), tolerance, name)
	}
}

// kerasTexts is testdata/texts.json.
type kerasTexts struct {
	Cases map[string]struct {
		ClassNames []string `json:"class_names"`
		X          [][]string
		Y          []json.RawMessage
	}
}

func TestTextDatasetIsThatOfKeras(t *testing.T) {
	noLeak(t)
	var keras kerasTexts
	readJSON(t, "testdata/texts.json", &keras)
	for name, options := range map[string][]data.TextOption{
		"int":         nil,
		"categorical": {data.Labels(data.LabelCategorical)},
		"none":        {data.Labels(data.LabelNone)},
		"binary":      {data.Labels(data.LabelBinary), data.ClassNames("good", "bad")},
		"max_length":  {data.MaxLength(6)},
		"training":    {data.ValidationSplit(0.4, data.Training), data.ImageSeed(11)},
		"validation":  {data.ValidationSplit(0.4, data.Validation), data.ImageSeed(11)},
	} {
		t.Run(name, func(t *testing.T) {
			want := keras.Cases[name]
			shuffled := name == "training" || name == "validation"
			if !shuffled {
				options = append(options, data.ImagesInOrder())
			}
			ds, err := data.TextDatasetFromDirectory("testdata/texts", append(options, data.ImageBatchSize(3))...)
			require.NoError(t, err)
			assert.Equal(t, want.ClassNames, append([]string{}, ds.ClassNames...))
			var got, expected []string
			for i, b := range batchesOf(t, ds, 0) {
				values, shape, err := data.Strings(b.X.Single())
				require.NoError(t, err)
				require.Len(t, shape, 1)
				got = append(got, values...)
				if shuffled {
					continue
				}
				assert.Equal(t, want.X[i], []string(jsonText(t, values)))
				y := "null"
				if b.Y.Len() > 0 {
					y = nested(b.Y.Single().Elements(), b.Y.Single().Shape())
				}
				assert.JSONEq(t, string(want.Y[i]), y)
			}
			if shuffled { // the order of a pass is not that of Keras, the choice of the files is
				for _, x := range want.X {
					expected = append(expected, x...)
				}
				slices.Sort(got)
				slices.Sort(expected)
				assert.Equal(t, expected, got)
			}
		})
	}
}

// jsonText passes strings through JSON, as the expected ones were: what is no UTF-8 is replaced.
func jsonText(t *testing.T, values []string) (out []string) {
	t.Helper()
	text, err := json.Marshal(values)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &out))
	return out
}

// nested prints an array as JSON.
func nested(values any, shape []int) string {
	var flat []float64
	switch v := values.(type) {
	case int32:
		flat = []float64{float64(v)}
	case []int32:
		for _, x := range v {
			flat = append(flat, float64(x))
		}
	case []float32:
		for _, x := range v {
			flat = append(flat, float64(x))
		}
	}
	var show func(at []float64, shape []int) string
	show = func(at []float64, shape []int) string {
		if len(shape) == 0 {
			return fmt.Sprint(at[0])
		}
		size, out := len(at)/shape[0], "["
		for i := range shape[0] {
			if i > 0 {
				out += ","
			}
			out += show(at[i*size:(i+1)*size], shape[1:])
		}
		return out + "]"
	}
	return show(flat, shape)
}

func TestTextDatasetRejects(t *testing.T) {
	for want, options := range map[string][]data.TextOption{
		"MaxLength -1":        {data.MaxLength(-1)},
		"expected a fraction": {data.ValidationSplit(2, data.Training)},
	} {
		_, err := data.TextDatasetFromDirectory("testdata/texts", options...)
		assert.ErrorContains(t, err, want)
	}
	_, err := data.TextDatasetFromDirectory(t.TempDir())
	assert.ErrorContains(t, err, "no files .txt below")
	for want, options := range map[string][]data.ImageOption{
		"both given":            {data.CropToAspectRatio(), data.PadToAspectRatio()},
		`interpolation "cubic"`: {data.ImageInterpolation("cubic")},
	} {
		_, err := data.ImageDatasetFromDirectory("testdata/images", 4, 4, options...)
		assert.ErrorContains(t, err, want)
	}
}

func ExampleTextDatasetFromDirectory() {
	dir, err := os.MkdirTemp("", "reviews")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	for path, text := range map[string]string{"bad/1.txt": "Dull.", "good/2.txt": "Fine!"} {
		file := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			panic(err)
		}
	}
	ds, err := data.TextDatasetFromDirectory(dir, data.ImagesInOrder())
	if err != nil {
		panic(err)
	}
	for b, err := range ds.Batches(context.Background(), 0) {
		texts, _, _ := data.Strings(b.X.Single())
		fmt.Println(ds.ClassNames, texts, b.Y.Single().Elements(), err)
	}
	// Output: [bad good] [Dull. Fine!] [0 1] <nil>
}
