package harvest

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Each class and function with inputs one of whose axes has length 0: an answer or an error in words, never a panic.
// What is right is tested in package keras.
func TestInputsWithoutElements(t *testing.T) {
	file, err := os.ReadFile("testdata/cases.tar.gz")
	require.NoError(t, err)
	seen, answers := map[string]int{}, 0
	for c, err := range Packed(file) {
		require.NoError(t, err)
		if seen[c.Label]++; c.Command != "predict" || seen[c.Label] > 2 {
			continue
		}
		for axis := 1; axis < 4; axis++ {
			document, changed := withoutElements(t, c, axis)
			if !changed {
				continue
			}
			err := computeEmpty(t, c, document)
			if err == nil {
				answers++
				continue
			}
			require.NotRegexp(t, regexp.MustCompile(`runtime error|panic|goroutine`), err.Error(), "%s, axis %d", c.Name, axis)
		}
	}
	require.Greater(t, answers, 500)
}

// withoutElements returns the configuration of the case's model with an axis of length 0 in its inputs.
func withoutElements(t *testing.T, c *Case, axis int) (document []byte, changed bool) {
	archive, err := zip.NewReader(bytes.NewReader(c.Files["model.keras"]), int64(len(c.Files["model.keras"])))
	require.NoError(t, err)
	f, err := archive.Open("config.json")
	require.NoError(t, err)
	text, err := io.ReadAll(f)
	require.NoError(t, err)
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return nil, false // Python's Infinity, which this package for JSON does not read
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			delete(v, "build_config") // of other shapes
			if config, ok := v["config"].(map[string]any); ok && v["class_name"] == "InputLayer" {
				if shape, ok := config["batch_shape"].([]any); ok && len(shape) > axis {
					shape[axis], changed = 0, true
				}
			}
			for _, e := range v {
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(tree)
	document, err = json.Marshal(tree)
	require.NoError(t, err)
	return document, changed
}

// computeEmpty makes the model, predicts, and trains for a step if there is something to train.
func computeEmpty(t *testing.T, c *Case, document []byte) error {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("%s: %v", c.Name, r)
		}
	}()
	m, err := keras.ModelFromJSON(document)
	if err != nil {
		return err
	}
	var x, y data.Tensors
	for _, in := range m.Inputs() {
		x.Names, x.Arrays = append(x.Names, in.Name()), append(x.Arrays, zeros(in.DType(), in.Shape()))
	}
	ctx := context.Background()
	if _, err := m.PredictAll(ctx, data.Arrays(x, nil), keras.BatchSize(c.BatchSize)); err != nil {
		return err
	}
	if c.Kind != "layer" || m.CountParams() == 0 {
		return nil
	}
	if err := m.Compile(keras.CompileConfig{Loss: "mse"}); err != nil {
		return err
	}
	for i, out := range m.Outputs() {
		y.Names, y.Arrays = append(y.Names, m.OutputNames()[i]), append(y.Arrays, zeros(ir.Float32, out.Shape()))
	}
	_, err = m.TrainOnBatch(ctx, data.Arrays(x, y))
	return err
}

// zeros returns an array of zeros with 2 for each open axis.
func zeros(dtype ir.DType, shape ir.Shape) data.Array {
	switch dtype {
	case ir.Int32, ir.Int64, ir.Bool, ir.Uint8, ir.Int8, ir.Int16, ir.Float64:
	default:
		dtype = ir.Float32
	}
	s := slices.Clone([]int(shape))
	for i, d := range s {
		if d < 0 {
			s[i] = 2
		}
	}
	return kernels.NewArray(ir.Type{DType: dtype, Shape: s})
}
